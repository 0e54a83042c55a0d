"""Changes of a vLLM launch line: what they set and remove, what they make effective, and the line to paste."""

from __future__ import annotations

import json
import shlex

import pytest

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import ORIGINAL, apply_change
from specdoctor.core.server import Rewrite, ServerView, SpecSetting
from specdoctor.engines.vllm import engine
from specdoctor.engines.vllm_args import read_launch
from specdoctor.engines.vllm_effect import predict

BASE = "vllm serve /m --port 8101 --max-num-seqs 8"
CONFIG = {"method": "eagle3", "model": "/d", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1}
SPEC = f"{BASE} --speculative-config {shlex.quote(json.dumps(CONFIG))} --enforce-eager"


def view(line: str, **fields: object) -> ServerView:
    argv = tuple(shlex.split(line))
    asked = read_launch(argv).values
    return ServerView.model_validate(
        {"engine": "vllm", "state": "running", "version": "0.32.0", "argv": argv, "asked": asked,
         "spec": predict(asked), "draft_path": asked.get("speculative_config.model"), **fields}
    )  # fmt: skip


def chain(steps: int, method: str = "EAGLE3") -> SpecSetting:
    return SpecSetting(algorithm=method, draft_steps=steps, topk=1, draft_tokens=steps + 1)


def test_another_length_keeps_the_rest_of_the_configuration() -> None:
    found = view(SPEC)
    change = engine.change_spec(found, chain(5), label="5 steps")
    (text,) = change.set_flags["--speculative-config"]
    assert json.loads(text) == {**CONFIG, "num_speculative_tokens": 5}
    assert engine.effective_spec(found, change) == chain(5)
    line = apply_change(found.argv, change)
    assert read_launch(line).values["enforce_eager"] == "True"
    assert line.index("--speculative-config") == found.argv.index("--speculative-config")


@pytest.mark.parametrize(
    "flags",
    ["--spec-method eagle3 --spec-model /d --spec-tokens 3",
     "--speculative-config.method eagle3 --speculative-config.model /d --speculative-config.num_speculative_tokens=3",
     "-sc '{\"method\":\"eagle3\",\"model\":\"/d\",\"num_speculative_tokens\":3}'"],
)  # fmt: skip
def test_other_spellings_give_way_to_one(flags: str) -> None:
    found = view(f"{BASE} {flags} --enforce-eager")
    change = engine.change_spec(found, chain(2), label="2 steps")
    line = apply_change(found.argv, change)
    assert engine.effective_spec(found, change) == chain(2)
    assert json.loads(read_launch(line).values["speculative_config"]) == {
        "method": "eagle3", "model": "/d", "num_speculative_tokens": 2
    }  # fmt: skip
    assert not any(word.startswith(("--spec-", "-sc", "--speculative-config.")) for word in line)
    off = engine.change_spec(found, SpecSetting(), label="off")
    assert shlex.join(apply_change(found.argv, off)) == f"{BASE} --enforce-eager"
    assert engine.effective_spec(found, off) == SpecSetting()


def test_speculation_on_needs_a_draft() -> None:
    found = view(BASE)
    with pytest.raises(EngineError, match="needs a draft model"):
        engine.change_spec(found, chain(3), label="on")
    change = engine.change_spec(found.model_copy(update={"draft_path": "/d"}), chain(3), label="on")
    assert engine.effective_spec(found, change) == chain(3)
    ngram = engine.change_spec(found, chain(4, "NGRAM"), label="ngram")
    assert json.loads(ngram.set_flags["--speculative-config"][0]) == {"method": "ngram", "num_speculative_tokens": 4}
    with pytest.raises(EngineError, match="at least one draft token"):
        engine.change_spec(found, SpecSetting(algorithm="NGRAM"), label="none")


def test_off_keeps_the_scheduling_that_the_method_had_turned_off() -> None:
    rewrite = Rewrite(
        key="async_scheduling", asked=None, effective="False", kind="defaulted", cause="CFG-1", rule="async-off"
    )
    ngram = shlex.quote('{"method":"ngram","num_speculative_tokens":4}')
    found = view(f"{BASE} --speculative-config {ngram}", effective={"async_scheduling": False}, rewrites=(rewrite,))
    change = engine.change_spec(found, SpecSetting(), label="off")
    assert shlex.join(apply_change(found.argv, change)) == f"{BASE} --no-async-scheduling"


def test_speculation_from_a_file_cannot_be_undone_on_the_line() -> None:
    found = view(f"{BASE} --config /c.yaml").model_copy(update={"asked": {"speculative_config.method": "ngram"}})
    with pytest.raises(EngineError, match="--config"):
        engine.change_spec(found, SpecSetting(), label="off")


def test_flags_are_removed_under_every_spelling() -> None:
    found = view(f"{BASE} --no-enable-prefix-caching -tp 2 --enforce_eager")
    change = engine.change_flags(
        label="x",
        set_flags={"--tensor-parallel-size": ("4",)},
        remove_flags=("--enforce-eager", "--enable-prefix-caching"),
    )
    assert shlex.join(apply_change(found.argv, change)) == f"{BASE} --tensor-parallel-size 4"


def test_the_line_to_paste_is_quoted_and_holds_no_secret() -> None:
    found = view(f"{SPEC} --api-key abc123def456ghi789")
    line = engine.paste_line(found, ORIGINAL)
    assert "abc123def456ghi789" not in line
    assert "$VLLM_API_KEY" in line
    words = shlex.split(line)
    assert json.loads(words[words.index("--speculative-config") + 1]) == CONFIG


def test_without_a_command_line_the_usual_one_is_made() -> None:
    found = view(f"{SPEC} --no-async-scheduling").model_copy(update={"argv": ()})
    line = engine.paste_line(found, engine.change_spec(found, chain(4), label="4"))
    again = read_launch(shlex.split(line)).values
    assert predict(again) == chain(4)
    assert (again["model"], again["max_num_seqs"], again["async_scheduling"], again["enforce_eager"]) == (
        "/m", "8", "False", "True"
    )  # fmt: skip
