"""A vLLM server from files alone."""

from __future__ import annotations

import json

import pytest

from specdoctor.engines.sglang import engine as sglang
from specdoctor.engines.vllm import engine
from specdoctor.engines.vllm_config import parse_server_info
from specdoctor.engines.vllm_view import Settings
from tests.engines.vllm_data import excerpt

FILES = {
    "server.log": excerpt("eagle3.log.txt"),
    "launch.txt": excerpt("eagle3.launch.txt"),
    "metrics_before.txt": excerpt("eagle3.metrics-before.prom"),
    "metrics_after.txt": excerpt("eagle3.metrics.prom"),
    "server_info.json": excerpt("eagle3.server-info.json"),
}


@pytest.mark.parametrize("left_out", ["", "server.log", "launch.txt", "server_info.json"])
def test_any_of_the_files_shows_the_speculation_in_force(left_out: str) -> None:
    view = engine.view_from_files({name: text for name, text in FILES.items() if name != left_out})
    assert view is not None
    assert view.engine == "vllm"
    assert view.spec is not None
    assert (view.spec.algorithm, view.spec.draft_steps, view.spec.topk, view.spec.draft_tokens) == ("EAGLE3", 3, 1, 4)
    assert view.draft_path == "/models/tiny-eagle3"
    assert view.model_path == "/models/tiny-target-wide"
    assert view.served_model == "tiny-target-wide"
    assert view.lifetime_accept_length == pytest.approx(1 + 715 / 346)
    assert view.lifetime_counts is not None
    assert view.lifetime_counts.by_position == (267, 243, 205)
    assert view.version == (None if left_out == "server.log" else "0.32.0")
    assert [r.key for r in view.rewrites if r.cause is not None] == []


def test_the_scheduling_that_ngram_turns_off_is_a_rewrite() -> None:
    view = engine.view_from_files({"server.log": excerpt("ngram.log.txt"), "launch.txt": excerpt("ngram.launch.txt")})
    assert view is not None
    (rewrite,) = (r for r in view.rewrites if r.cause is not None)
    assert (rewrite.key, rewrite.kind, rewrite.effective, rewrite.cause) == (
        "async_scheduling", "defaulted", "False", "CFG-1"
    )  # fmt: skip
    assert rewrite.logged is not None
    assert view.draft_path is None
    assert view.effective["model_runner"] == "v1"


def test_a_baseline_has_no_speculation_and_the_log_alone_says_what_was_asked() -> None:
    view = engine.view_from_files({"server.log": excerpt("baseline.log.txt")})
    assert view is not None
    assert view.spec is not None
    assert not view.spec.on
    assert view.asked["max_num_seqs"] == "8"
    assert view.asked_source is not None
    assert view.asked_source.line == 9
    assert view.rewrites == ()


def test_a_method_decided_by_the_path_is_told_before_any_log() -> None:
    config = '{"method":"draft_model","model":"/d/my-eagle-draft","num_speculative_tokens":3}'
    line = f"vllm serve /m --speculative-config '{config}'"
    view = engine.view_from_files({"launch.sh": f"#!/bin/sh\n{line}\n"})
    assert view is not None
    (rewrite,) = view.rewrites
    assert (rewrite.asked, rewrite.effective, rewrite.rule, rewrite.cause) == (
        "draft_model", "eagle", "method-by-path", "CFG-1"
    )  # fmt: skip
    assert rewrite.sources[0].line == 2
    assert rewrite.sources[0].quote in line


def test_containers_pods_and_several_lines_are_read() -> None:
    docker = (
        "docker run --gpus all -e VLLM_USE_V2_MODEL_RUNNER=0 -p 8000:8000 \\\n  vllm/vllm-openai:v0.25.1 \\\n"
        '  --model /m \\\n  --speculative-config \'{\n    "method": "mtp",\n    "num_speculative_tokens": 2\n  }\'\n'
    )
    view = engine.view_from_files({"run.sh": docker})
    assert view is not None
    assert (view.version, view.model_path) == ("0.25.1", "/m")
    assert view.spec is not None
    assert (view.spec.algorithm, view.spec.draft_steps) == ("MTP", 2)
    assert view.env == {"VLLM_USE_V2_MODEL_RUNNER": "0"}
    assert view.effective["model_runner"] == "v1"
    assert view.version_doubts == ("the version is the image tag's, not the server's word",)
    pod = (
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: server\n    image: vllm/vllm-openai:v0.11.0\n"
        '    args: ["--model", "/m", "--speculative-config",\n'
        '      "{\\"method\\": \\"ngram\\", \\"num_speculative_tokens\\": 4}"]\n'
    )
    view = engine.view_from_files({"pod.yaml": pod})
    assert view is not None
    assert view.spec is not None
    assert (view.spec.algorithm, view.spec.draft_steps, view.version) == ("NGRAM", 4, "0.11.0")


def test_a_dropped_limit_by_batch_size_is_named_for_the_versions_that_ignore_it() -> None:
    config = json.dumps({"method": "ngram", "num_speculative_tokens": 3, "disable_by_batch_size": 8})
    for version, rules in (("0.12.0", ["batch-limit-ignored"]), ("0.9.1", [])):
        view = engine.view_from_files(
            {"launch.sh": f"vllm serve /m --speculative-config '{config}'\n", "notes.txt": f"vllm {version}\n"}
        )
        assert view is not None
        assert [r.rule for r in view.rewrites] == rules


def test_files_of_another_engine_are_not_taken() -> None:
    assert engine.view_from_files({"launch.sh": "python3 -m sglang.launch_server --model-path /m\n"}) is None
    assert sglang.view_from_files(dict(FILES)) is None


def test_every_value_of_the_document_can_be_opened() -> None:
    document = json.loads(FILES["server_info.json"])
    info = parse_server_info(FILES["server_info.json"])
    assert info is not None
    cite = Settings.of_info(info, "server_info.json").cite
    for key in ("speculative_config.num_speculative_tokens", "max_num_seqs", "kv_cache_dtype", "max_model_len",
                "compilation_config.cudagraph_mode", "async_scheduling"):  # fmt: skip
        source = cite(key)
        assert source is not None
        value = document
        for part in (source.key or "").split("."):
            value = value[part]
        assert source.quote == str(value)
    assert info.values["compilation_config.cudagraph_mode"] == "NONE"
