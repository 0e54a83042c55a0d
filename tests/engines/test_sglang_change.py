"""Changes of a launch line: what they set and remove, what they make effective, and the line to paste."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import ORIGINAL, LaunchChange, apply_change
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.sglang import engine
from specdoctor.engines.sglang_args import read_launch

BASE = "python3 -m sglang.launch_server --model-path /m --port 31000"
SPEC = (
    f"{BASE} --speculative-algorithm EAGLE3 --speculative-draft-model /d --speculative-num-steps=1 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 16 --enable-metrics"
)


def view(line: str, *, version: str = "0.5.17", **effective: object) -> ServerView:
    argv = tuple(shlex.split(line))
    asked = read_launch(argv).values
    spec = SpecSetting(algorithm="EAGLE3", draft_steps=1, topk=1, draft_tokens=2) if "EAGLE3" in line else SpecSetting()
    return ServerView.model_validate(
        {"engine": "sglang", "state": "running", "version": version, "argv": argv, "asked": asked, "spec": spec,
         "effective": effective, "draft_path": asked.get("speculative_draft_model_path")}
    )  # fmt: skip


def chain(steps: int) -> SpecSetting:
    return SpecSetting(algorithm="EAGLE3", draft_steps=steps, topk=1, draft_tokens=steps + 1)


def test_a_chain_sets_all_three_lengths_and_becomes_effective() -> None:
    found = view(SPEC)
    change = engine.change_spec(found, chain(3), label="3 steps")
    assert change.set_flags == {
        "--speculative-num-steps": ("3",),
        "--speculative-eagle-topk": ("1",),
        "--speculative-num-draft-tokens": ("4",),
    }
    assert engine.effective_spec(found, change) == chain(3)
    line = apply_change(found.argv, change)
    assert read_launch(line).values["speculative_draft_model_path"] == "/d"
    assert read_launch(line).values["enable_metrics"] == "True"


def test_speculation_off_removes_every_spelling_and_keeps_the_limit() -> None:
    found = view(f"{SPEC} --speculative-adaptive", max_running_requests=48)
    change = engine.change_spec(found, SpecSetting(), label="off")
    assert change.set_flags == {"--max-running-requests": ("48",)}
    assert "--speculative-draft-model" in change.remove_flags
    assert "--speculative-adaptive" in change.switches
    line = apply_change(found.argv, change)
    assert shlex.join(line) == f"{BASE} --enable-metrics --max-running-requests 48"
    assert engine.effective_spec(found, change) == SpecSetting()


def test_a_limit_that_was_asked_for_stays_as_it_is() -> None:
    found = view(f"{SPEC} --max-running-requests 64", max_running_requests=64)
    assert engine.change_spec(found, SpecSetting(), label="off").set_flags == {}


def test_speculation_on_needs_an_algorithm_a_draft_and_the_old_limit() -> None:
    found = view(BASE, max_running_requests=2048)
    with pytest.raises(EngineError, match="needs a draft model"):
        engine.change_spec(found, chain(3), label="on")
    change = engine.change_spec(found.model_copy(update={"draft_path": "/d"}), chain(3), label="on")
    assert change.set_flags["--speculative-algorithm"] == ("EAGLE3",)
    assert change.set_flags["--speculative-draft-model-path"] == ("/d",)
    assert change.set_flags["--max-running-requests"] == ("2048",)


def test_other_families_set_what_their_rules_read() -> None:
    found = view(BASE)
    ngram = SpecSetting(algorithm="NGRAM", draft_steps=0, topk=10, draft_tokens=8)
    change = engine.change_spec(found, ngram, label="n-gram")
    assert change.set_flags == {"--speculative-algorithm": ("NGRAM",), "--speculative-num-draft-tokens": ("8",)}
    assert engine.effective_spec(found, change) == ngram


def test_an_alias_of_the_algorithm_is_left_alone() -> None:
    found = view(SPEC.replace("EAGLE3", "NEXTN")).model_copy(
        update={"spec": SpecSetting(algorithm="EAGLE", draft_steps=1, topk=1, draft_tokens=2)}
    )
    change = engine.change_spec(found, chain(2).model_copy(update={"algorithm": "EAGLE"}), label="2")
    assert "--speculative-algorithm" not in change.set_flags


def test_fixed_lengths_end_adaptive_speculation() -> None:
    found = view(f"{SPEC} --speculative-adaptive")
    change = engine.change_spec(found, chain(3), label="3")
    assert "--speculative-adaptive" in change.remove_flags
    assert engine.effective_spec(found, change) == chain(3)
    assert engine.effective_spec(found, ORIGINAL) is None


def test_what_a_config_file_sets_cannot_be_removed_by_flags() -> None:
    found = view(f"{BASE} --config a.yaml").model_copy(update={"asked": {"speculative_algorithm": "EAGLE3"}})
    with pytest.raises(EngineError) as raised:
        engine.change_spec(found, SpecSetting(), label="off")
    assert "file" in raised.value.next_step


def test_the_original_is_predicted_too() -> None:
    assert engine.effective_spec(view(SPEC), ORIGINAL) == chain(1)
    assert engine.effective_spec(view(SPEC, version="0.4.3"), ORIGINAL) != chain(1)


def test_flags_lose_their_other_spellings_and_switches_are_known() -> None:
    change = engine.change_flags(
        label="x", set_flags={"--tp-size": ("4",), "--enable-mixed-chunk": ()}, remove_flags=("--disable-cuda-graph",)
    )
    assert {"--tp", "--tensor-parallel-size", "--disable-cuda-graph"} == set(change.remove_flags)
    assert {"--disable-cuda-graph", "--enable-mixed-chunk"} == set(change.switches)
    argv = ("sglang", "serve", "--tp", "2", "--disable-cuda-graph", "--model-path", "/m")
    assert apply_change(argv, change) == (
        "sglang",
        "serve",
        "--model-path",
        "/m",
        "--enable-mixed-chunk",
        "--tp-size",
        "4",
    )


def test_the_pasted_line_quotes_hides_secrets_and_names_the_environment() -> None:
    found = view(f"{BASE} --served-model-name 'a b' --api-key *** --admin-api-key=*** --x http://u:***@h")
    line = engine.paste_line(found, LaunchChange(label="e", set_env={"SGLANG_LOG_MS": "1"}, remove_env=("NCCL_DEBUG",)))
    assert line.startswith("env -u NCCL_DEBUG SGLANG_LOG_MS=1 python3 -m sglang.launch_server")
    assert "--served-model-name 'a b'" in line
    assert '--api-key "$SGLANG_API_KEY"' in line
    assert '--admin-api-key="$SGLANG_ADMIN_API_KEY"' in line
    assert "***" not in line


def test_a_secret_that_was_not_masked_is_not_pasted() -> None:
    assert "sesame" not in engine.paste_line(view(f"{BASE} --api-key sesame"), ORIGINAL)


def test_without_a_command_line_the_usual_one_is_made() -> None:
    found = view(SPEC).model_copy(update={"argv": ()})
    change = engine.change_spec(found, SpecSetting(), label="off")
    assert engine.paste_line(found, change) == (
        "python3 -m sglang.launch_server --model-path /m --port 31000 --enable-metrics"
    )


@given(st.integers(min_value=1, max_value=15), st.sampled_from(["0.4.6", "0.5.4", "0.5.17", "0.5.23"]))
def test_every_chain_is_effective_as_asked(steps: int, version: str) -> None:
    found = view(SPEC, version=version)
    assert engine.effective_spec(found, engine.change_spec(found, chain(steps), label="k")) == chain(steps)


@given(st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_a_pasted_line_is_the_same_words_again(words: list[str]) -> None:
    clean = [w for w in words if not w.startswith("-") and "***" not in w and "\x00" not in w and "://" not in w]
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", *clean)
    found = view(BASE).model_copy(update={"argv": argv})
    assert tuple(shlex.split(engine.paste_line(found, ORIGINAL))) == argv
