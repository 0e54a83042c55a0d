"""What the engine makes of a launch line, by version; and how differences are named."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from specdoctor.core.server import Rewrite, Source, SpecSetting
from specdoctor.engines.argument_values import same_value
from specdoctor.engines.sglang_effect import predict
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_rewrites import Comparison, InForce, rewrites
from specdoctor.engines.sglang_rules import RULES, RULES_BY_ID
from specdoctor.engines.versions import parse_range, range_of

A, S, K, N = (
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
)


def chosen(asked: dict[str, str], *, version: str | None, architecture: str | None = None) -> SpecSetting | None:
    versions = parse_range(version) if version is None or version[0] in "<>" else range_of(version)
    return predict(asked, architecture=architecture, versions=versions)


def triple(setting: SpecSetting | None) -> tuple[int, int, int] | None:
    return None if setting is None else (setting.draft_steps, setting.topk, setting.draft_tokens)


@pytest.mark.parametrize("version", ["0.4.6", "0.5.4", "0.5.17", "0.5.23", "0.5.9.post1.dev3+gabc", ">=0.5.3,<0.5.9"])
def test_a_chain_verifies_steps_and_one_whatever_was_asked(version: str) -> None:
    assert triple(chosen({A: "EAGLE3", S: "1", K: "1", N: "16"}, version=version)) == (1, 1, 2)


def test_the_first_version_did_not_force_it_and_an_unknown_one_may() -> None:
    asked = {A: "EAGLE", S: "3", K: "1", N: "9"}
    assert triple(chosen(asked, version="0.4.3")) == (3, 1, 9)
    assert chosen(asked, version=None) is None
    assert triple(chosen({**asked, N: "4"}, version=None)) == (3, 1, 4)


@pytest.mark.parametrize(
    ("version", "architecture", "expected"),
    [
        ("0.5.7", "Qwen3ForCausalLM", (5, 4, 8)),
        ("0.5.8", "Qwen3ForCausalLM", (3, 1, 4)),
        (">=0.5.4,<0.5.9", "Qwen3ForCausalLM", None),
        ("0.5.23", "LlamaForCausalLM", (5, 4, 8)),
        ("0.4.6", "DeepseekV3ForCausalLM", (5, 4, 8)),
        ("0.4.9", "DeepseekV3ForCausalLM", (3, 1, 4)),
        ("0.5.6", "GptOssForCausalLM", None),
        ("0.5.17", None, None),
    ],
)
def test_left_out_lengths_are_chosen_by_target_and_version(
    version: str, architecture: str | None, expected: tuple[int, int, int] | None
) -> None:
    assert triple(chosen({A: "EAGLE3"}, version=version, architecture=architecture)) == expected


@pytest.mark.parametrize(
    ("asked", "version", "expected"),
    [
        ({A: "NEXTN", S: "3", K: "1", N: "4"}, "0.5.17", ("EAGLE", 3, 1, 4)),
        ({A: "eagle3", S: "6", K: "10", N: "32"}, "0.5.17", ("EAGLE3", 6, 10, 32)),
        ({A: "NGRAM", N: "8", K: "4"}, "0.5.17", ("NGRAM", 0, 10, 8)),
        ({A: "NGRAM"}, "0.5.17", ("NGRAM", 1, 10, 12)),
        ({A: "STANDALONE"}, "0.5.17", ("STANDALONE", 3, 1, 4)),
        ({A: "DFLASH", N: "16", S: "4"}, "0.5.17", ("DFLASH", 1, 1, 16)),
    ],
)
def test_each_algorithm_has_its_rules(asked: dict[str, str], version: str, expected: tuple[str, int, int, int]) -> None:
    found = chosen(asked, version=version)
    assert found is not None
    assert (found.algorithm, *(triple(found) or ())) == expected


@pytest.mark.parametrize(
    "asked",
    [{A: "EAGLE3", S: "3"}, {A: "EAGLE3", K: "1"}, {A: "EAGLE3", N: "4"}, {A: "DFLASH"}],
)
def test_what_the_engine_refuses_or_reads_elsewhere_is_not_predicted(asked: dict[str, str]) -> None:
    assert chosen(asked, version="0.5.17") is None


def test_no_algorithm_is_no_speculation() -> None:
    assert chosen({S: "3"}, version=None) == SpecSetting()


def compared(
    asked: dict[str, str],
    effective: dict[str, JsonValue],
    *,
    version: str = "0.5.17",
    log: str = "",
    architecture: str | None = None,
) -> dict[str, Rewrite]:
    case = Comparison(
        asked=asked,
        asked_source=lambda key: Source(where="launch.sh", line=1, key=key),
        force=InForce(effective, lambda key: Source(where="server_info.json", key=key)),
        versions=range_of(version),
        architecture=architecture,
        log=read_log(log, where="server.log"),
    )
    return {rewrite.key: rewrite for rewrite in rewrites(case)}


CHAIN = {A: "EAGLE3", S: "1", K: "1", N: "16", "speculative_draft_model_path": "/d"}
IN_FORCE: dict[str, JsonValue] = {A: "EAGLE3", S: 1, K: 1, N: 2, "speculative_draft_model_path": "/d"}


def test_forced_draft_tokens_are_named_with_the_engines_own_line() -> None:
    line = "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"
    found = compared(CHAIN, IN_FORCE, log=f"[2026-11-29 18:46:54] {line}\n")
    assert list(found) == [N]
    rewrite = found[N]
    assert (rewrite.asked, rewrite.effective, rewrite.kind) == ("16", "2", "rewritten")
    assert (rewrite.cause, rewrite.rule, rewrite.logged) == ("CFG-3", "chain-tokens", line)
    assert [(s.where, s.line) for s in rewrite.sources] == [
        ("launch.sh", 1), ("server_info.json", None), ("server.log", 1),
    ]  # fmt: skip


def test_the_limit_of_48_is_a_default_and_harmless_fill_ins_have_no_cause() -> None:
    found = compared(
        {**CHAIN, N: "2"},
        {**IN_FORCE, "max_running_requests": 48, "speculative_draft_model_revision": "main",
         "speculative_attention_mode": "prefill", "speculative_accept_threshold_single": 1.0,
         "speculative_adaptive": False, "speculative_token_map": None, "chunked_prefill_size": 8192},
    )  # fmt: skip
    assert {(r.key, r.kind, r.cause, r.rule) for r in found.values()} == {
        ("max_running_requests", "defaulted", "CFG-1", "limit-48"),
        ("speculative_draft_model_revision", "defaulted", None, "draft-revision"),
    }


def test_a_model_familys_own_limit_is_known_by_its_line() -> None:
    found = compared(
        {**CHAIN, N: "2"},
        {**IN_FORCE, "max_running_requests": 256},
        version="0.5.18",
        log="[2026-08-19 08:12:44] Setting max_running_requests to 256 for DeepseekV4ForCausalLM.\n",
    )
    assert found["max_running_requests"].rule == "limit-256"


def test_the_share_of_each_rank_is_named_beside_the_limit() -> None:
    found = compared(
        {A: "EAGLE", S: "3", K: "1", N: "4", "dp_size": "8", "enable_dp_attention": "True"},
        {A: "EAGLE", S: 3, K: 1, N: 4, "dp_size": 8, "enable_dp_attention": True, "max_running_requests": 48,
         "effective_max_running_requests_per_dp": 6},
    )  # fmt: skip
    assert found["effective_max_running_requests_per_dp"].rule == "limit-share"


@pytest.mark.parametrize(
    ("asked", "effective", "version", "key", "rule", "cause", "kind"),
    [
        ({A: "NEXTN", S: "3", K: "1", N: "4"}, {A: "EAGLE", S: 3, K: 1, N: 4}, "0.5.17", A, "alias-nextn", None,
         "rewritten"),
        ({A: "NGRAM", N: "8"}, {A: "NGRAM", S: 0, K: 10, N: 8}, "0.5.17", S, "ngram-steps", None, "defaulted"),
        ({A: "NGRAM", N: "8", K: "4"}, {A: "NGRAM", S: 0, K: 10, N: 8}, "0.5.17", K, "ngram-topk", "CFG-1",
         "rewritten"),
        ({A: "EAGLE3"}, {A: "EAGLE3", S: 3, K: 1, N: 4}, "0.5.17", S, "auto-steps", "CFG-1", "defaulted"),
        ({A: "EAGLE3", S: "3", K: "1", N: "4"}, {A: "EAGLE3", S: 3, K: 1, N: 4, "disable_overlap_schedule": True},
         "0.5.9", "disable_overlap_schedule", "overlap-v2-off", "CFG-1", "defaulted"),
        ({A: "EAGLE3", S: "3", K: "1", N: "4", "enable_mixed_chunk": "True"},
         {A: "EAGLE3", S: 3, K: 1, N: 4, "enable_mixed_chunk": False}, "0.5.17", "enable_mixed_chunk", "mixed-eagle",
         "CFG-1", "rewritten"),
        ({A: "EAGLE3", S: "3", K: "1", N: "4", "quantization": "fp8"},
         {A: "EAGLE3", S: 3, K: 1, N: 4, "quantization": "fp8", "speculative_draft_model_quantization": "fp8"},
         "0.5.17", "speculative_draft_model_quantization", "draft-quantization", "CFG-1", "defaulted"),
        ({A: "EAGLE3", S: "3", K: "1", N: "4"}, {A: "EAGLE3", S: 4, K: 1, N: 4}, "0.5.17", S, "unknown", "CFG-1",
         "rewritten"),
        ({"page_size": "16"}, {"page_size": 32, A: None}, "0.5.17", "page_size", "unknown", None, "rewritten"),
    ],
)  # fmt: skip
def test_every_difference_has_a_rule_or_says_unknown(
    asked: dict[str, str],
    effective: dict[str, JsonValue],
    version: str,
    key: str,
    rule: str,
    cause: str | None,
    kind: str,
) -> None:
    rewrite = compared(asked, effective, version=version, architecture="Qwen3ForCausalLM")[key]
    assert (rewrite.rule, rewrite.cause, rewrite.kind) == (rule, cause, kind)


def test_an_ignored_token_map_is_dropped_although_its_value_stays() -> None:
    asked = {A: "EAGLE3", S: "3", K: "1", N: "4", "speculative_token_map": "/hot.pt"}
    rewrite = compared(asked, {A: "EAGLE3", S: 3, K: 1, N: 4, "speculative_token_map": "/hot.pt"})[
        "speculative_token_map"
    ]
    assert (rewrite.kind, rewrite.asked, rewrite.effective) == ("dropped", "/hot.pt", None)


def test_a_line_alone_tells_of_an_argument_that_nothing_shows() -> None:
    found = compared(
        {A: "EAGLE3", S: "3", K: "1", N: "4"},
        {A: "EAGLE3", S: 3, K: 1, N: 4},
        version="0.5.2",
        log="[2025-09-16 14:05:02] Overlap scheduler is disabled because of using eagle speculative decoding.\n",
    )
    assert (found["disable_overlap_schedule"].effective, found["disable_overlap_schedule"].rule) == (
        "True", "overlap-eagle",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "effective"),
    [
        ({"cuda_graph_max_bs": "32"}, {"cuda_graph_max_bs_decode": 32}),
        ({"disable_cuda_graph": "True"}, {"disable_cuda_graph": False}),
        ({"attention_backend": "auto"}, {"attention_backend": "fa3"}),
        ({"api_key": "***"}, {"api_key": "other"}),
        ({"not_an_argument": "1"}, {}),
        ({"cuda_graph_bs_decode": "1 2 4"}, {"cuda_graph_bs_decode": [1, 2, 4]}),
    ],
)
def test_what_is_no_rewrite_is_not_listed(asked: dict[str, str], effective: dict[str, JsonValue]) -> None:
    assert compared({**asked, A: "EAGLE3", S: "3", K: "1", N: "4"}, {**effective, A: "EAGLE3", S: 3, K: 1, N: 4}) == {}


@pytest.mark.parametrize(
    ("asked", "value", "same"),
    [
        ("0.50", 0.5, True), ("1", 1, True), ("True", True, True), ("True", False, False), ("None", None, True),
        ("1 2", [1, 2], True), ("1 2 3", [1, 2], False), ("/m/", "/m", True), ("x", 3, False), ("FA3", "fa3", True),
    ],
)  # fmt: skip
def test_typed_and_stored_values_are_compared_by_meaning(asked: str, value: JsonValue, *, same: bool) -> None:
    assert same_value(asked, value) is same


def test_rules_are_well_formed() -> None:
    assert len(RULES_BY_ID) == len(RULES)
    for rule in RULES:
        assert rule.note
        assert not rule.versions.is_empty
        assert rule.binds or rule.cause is None
