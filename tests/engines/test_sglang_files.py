"""A server from a folder of files: told apart by what they hold, with citations that open."""

from __future__ import annotations

import json

import pytest

from specdoctor.core.server import ServerView, Source
from specdoctor.engines.sglang import engine
from tests.engines.sglang_data import excerpt

LOG = excerpt("adjusted.log.txt")
LAUNCH = excerpt("adjusted.launch.txt")
INFO = excerpt("adjusted.server-info.json")
PLAIN = "Decode batch, #running-req: 1, #token: 9, token usage: 0.00, cuda graph: True, "
PLAIN += "gen throughput (token/s): 50.00, #queue-req: 0\n"


def read(**texts: str) -> ServerView:
    view = engine.view_from_files({name.replace("__", "."): text for name, text in texts.items()})
    assert view is not None
    return view


def opens(source: Source, texts: dict[str, str]) -> bool:
    text = texts[source.where]
    if source.line is not None:
        return source.quote in text.split("\n")[source.line - 1]
    value = json.loads(text)
    for part in (source.key or "").split("."):
        value = value[int(part) if part.isdigit() and isinstance(value, list) else part]
    return source.quote == str(value)


def test_log_launch_line_and_document_make_one_view() -> None:
    texts = {"server.log": LOG, "cmd.txt": LAUNCH, "server_info.json": INFO}
    view = engine.view_from_files(texts)
    assert view is not None
    assert (view.version, view.version_range, view.state) == ("0.5.17", ">=0.5.17,<0.5.19", "down")
    assert view.version_source is not None
    assert view.version_source.where == "server_info.json"
    assert view.asked_spec is not None
    assert view.spec is not None
    assert (view.asked_spec.draft_tokens, view.spec.draft_tokens) == (16, 2)
    rewrite = next(r for r in view.rewrites if r.key == "speculative_num_draft_tokens")
    assert [s.where for s in rewrite.sources] == ["cmd.txt", "server_info.json", "server.log"]
    assert all(opens(source, texts) for r in view.rewrites for source in r.sources)


def test_names_do_not_matter() -> None:
    view = read(a=LOG, b=LAUNCH, c=INFO)
    assert view.version == "0.5.17"
    assert view.log_path == "a"


def test_a_log_alone_gives_a_range_and_never_a_version() -> None:
    view = read(server__log=LOG)
    assert (view.version, view.version_range) == (None, ">=0.5.17,<0.5.19")
    assert view.spec is not None
    assert view.spec.draft_tokens == 2
    assert view.asked_spec is None
    assert view.rewrites == ()


def test_a_launch_line_alone_is_enough_for_what_it_will_make_effective() -> None:
    view = read(launch__sh="python3 -m sglang.launch_server --model-path /m --speculative-algorithm EAGLE3 "
                "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n")  # fmt: skip
    assert view.spec == view.asked_spec
    assert view.effective_source is None


def test_limits_stand_in_for_arguments_that_the_log_does_not_show() -> None:
    log = "[2026-06-25 16:20:19 TP0] max_total_num_tokens=2204416, chunked_prefill_size=8192, "
    log += "max_prefill_tokens=16384, max_running_requests=48, context_len=131072, available_gpu_mem=12.90 GB\n"
    launch = "sglang serve --model-path /m --speculative-algorithm EAGLE3 --speculative-draft-model-path /d "
    launch += "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    view = read(server__log=log + PLAIN, launch__sh=launch)
    assert view.effective["max_running_requests"] == 48
    assert [r.rule for r in view.rewrites] == ["limit-48"]
    ranks = read(server__log=log + PLAIN, launch__sh=launch + " --dp-size 8 --enable-dp-attention")
    assert "max_running_requests" not in ranks.effective
    assert ranks.effective["effective_max_running_requests_per_dp"] == 48


def test_the_launch_line_and_document_of_now_are_taken_not_those_of_before() -> None:
    launch = "# before\nsglang serve --model-path /models/target --port 31120\n# now\n" + LAUNCH
    before = json.dumps({**json.loads(INFO), "speculative_algorithm": None, "version": "0.5.17"})
    view = read(server__log=LOG, launch__sh=launch, server_info_before__json=before, server_info__json=INFO)
    assert view.asked["speculative_num_draft_tokens"] == "16"
    assert view.effective["speculative_algorithm"] == "EAGLE3"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("8x H200, sglang 0.5.17, driver 580", "0.5.17"),
        ("sglang==0.5.18\ntorch==2.11.0", "0.5.18"),
        ("we saw it in SGLang 0.5.12 too", None),
        ("sglang 0.5.17 is slow, sglang 0.5.18 as well", None),
        ("nothing about it", None),
    ],
)
def test_a_written_version_counts_if_it_is_one_and_fits_the_log(text: str, version: str | None) -> None:
    view = read(server__log=LOG, notes__txt=text)
    assert view.version == version
    if version is not None:
        assert view.version_source is not None
        assert view.version_source.quote in text
        assert view.version_doubts


def test_an_image_tag_names_a_version() -> None:
    view = read(run__sh=f"docker run --gpus all lmsysorg/sglang:v0.5.9 {LAUNCH}")
    assert view.version == "0.5.9"
    assert view.version_source is not None
    assert view.version_source.quote == "lmsysorg/sglang:v0.5.9"


def test_a_newer_document_keeps_the_launch_command() -> None:
    document = json.dumps({**json.loads(INFO), "version": "0.5.20", "launch_command": LAUNCH})
    view = read(info__json=document)
    assert view.asked_spec is not None
    assert view.asked_spec.draft_tokens == 16
    rewrite = next(r for r in view.rewrites if r.key == "speculative_num_draft_tokens")
    assert rewrite.sources[0].key == "launch_command"


def test_configs_of_target_and_draft_are_told_apart() -> None:
    view = read(
        server__log=LOG,
        config__json='{"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 4096}',
        target_config__json='{"architectures": ["LlamaForCausalLM"]}',
        other_drafter_config__json='{"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 1}',
    )
    assert view.target_config == {"architectures": ["LlamaForCausalLM"]}
    assert view.draft_config is not None
    assert view.draft_config["draft_vocab_size"] == 4096


@pytest.mark.parametrize(
    "texts",
    [
        {"serve.sh": "vllm serve m --speculative-config '{}'", "server.log": "INFO 06-01 vllm engine ready\n"},
        {"notes.txt": "nothing here"},
        {"config.json": '{"architectures": ["LlamaForCausalLM"]}'},
        {},
    ],
)
def test_files_of_others_are_not_claimed(texts: dict[str, str]) -> None:
    assert engine.view_from_files(texts) is None


@pytest.mark.parametrize(
    ("log", "state"),
    [
        (PLAIN, "running"),
        ("[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/m')\n", "starting"),
        (PLAIN + "[2026-01-01 00:00:00] SIGTERM received. signum=None\n", "down"),
    ],
)
def test_the_state_is_what_the_log_ends_with(log: str, state: str) -> None:
    assert read(server__log=log).state == state
