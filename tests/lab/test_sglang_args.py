"""Arguments: what each version makes of a command line."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.lab.engine_core import Occupancy
from specdoctor.lab.sglang_defaults import graph_batch_sizes
from specdoctor.lab.sglang_flags import arguments
from tests.lab.engine_bench import COMMAND, PLAIN, SPECULATION, TREE_FLAGS, bench_world, refused, started

DRAFT = "--speculative-algorithm EAGLE3 --speculative-draft-model-path /models/eagle3".split()
CHAIN = "--speculative-num-steps 1 --speculative-eagle-topk 1 --speculative-num-draft-tokens 16".split()
CAP = "Max running requests is reset to 48 for speculative decoding."
ADJUSTED = "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"


def effective(version: str, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    return started(bench_world(version), [*PLAIN, *words], env).args


def notices(version: str, *words: str, env: dict[str, str] | None = None) -> tuple[str, ...]:
    return started(bench_world(version), [*PLAIN, *words], env).notices


@pytest.mark.parametrize("version", ["0.5.4", "0.5.9", "0.5.12", "0.5.17", "0.5.20", "0.5.23"])
def test_topk_one_decides_the_draft_tokens(version: str) -> None:
    assert effective(version, *DRAFT, *CHAIN)["speculative_num_draft_tokens"] == 2
    assert ADJUSTED in notices(version, *DRAFT, *CHAIN)


def test_a_fitting_number_is_not_mentioned() -> None:
    assert ADJUSTED not in started(bench_world(), [*COMMAND, *SPECULATION]).notices


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.5.3", ()),
        ("0.5.4", (CAP,)),
        ("0.5.5", (f"{CAP} You can override this by explicitly setting --max-running-requests.",)),
        ("0.5.17", (f"{CAP} You can override this by explicitly setting --max-running-requests.",)),
    ],
)
def test_requests_are_capped_at_48(version: str, said: tuple[str, ...]) -> None:
    assert effective(version, *DRAFT, *CHAIN)["max_running_requests"] == 48
    assert tuple(text for text in notices(version, *DRAFT, *CHAIN) if "running requests" in text) == said


def test_a_given_request_limit_stays() -> None:
    resolved = started(bench_world(), [*PLAIN, *DRAFT, *CHAIN, "--max-running-requests", "64"])
    assert resolved.args["max_running_requests"] == resolved.max_running_requests == 64
    assert not [text for text in resolved.notices if CAP in text]


def test_without_speculation_the_pool_decides() -> None:
    resolved = started(bench_world(), [*PLAIN, "--max-total-tokens", "65536"])
    assert resolved.args["max_running_requests"] is None
    assert 2048 <= resolved.max_running_requests <= 4096


@pytest.mark.parametrize(
    ("version", "algorithm", "expected"),
    [("0.5.7", "EAGLE3", (5, 4, 8)), ("0.5.17", "EAGLE3", (5, 4, 8)), ("0.5.17", "STANDALONE", (3, 1, 4))],
)
def test_values_that_are_chosen_when_none_is_given(
    version: str, algorithm: str, expected: tuple[int, int, int]
) -> None:
    args = effective(version, "--speculative-algorithm", algorithm, *DRAFT[2:])
    names = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
    assert tuple(args[name] for name in names) == expected


@pytest.mark.parametrize(("version", "expected"), [("0.5.7", (5, 4, 8)), ("0.5.8", (3, 1, 4))])
def test_unlisted_architectures_changed_their_default(version: str, expected: tuple[int, int, int]) -> None:
    world = bench_world(version)
    target = world.models[0]
    other = target.model_copy(update={"config": {**target.config, "architectures": ["Qwen3ForCausalLM"]}})
    args = started(world.model_copy(update={"models": (other, *world.models[1:])}), [*PLAIN, *DRAFT]).args
    assert (
        args["speculative_num_steps"],
        args["speculative_eagle_topk"],
        args["speculative_num_draft_tokens"],
    ) == expected


def test_steps_without_topk_is_a_type_error() -> None:
    failed = refused(bench_world(), [*PLAIN, *DRAFT, "--speculative-num-steps", "3"])
    assert failed.exit_code == 1
    assert failed.lines[-1] == "TypeError: '>' not supported between instances of 'NoneType' and 'int'"


@pytest.mark.parametrize("flag", ["--speculative-eagle-topk", "--speculative-num-draft-tokens"])
def test_topk_or_tokens_without_steps_is_a_bare_assertion(flag: str) -> None:
    assert refused(bench_world(), [*PLAIN, *DRAFT, flag, "2"]).lines[-1] == "AssertionError"


def test_warnings_before_a_traceback_are_kept() -> None:
    lines = refused(bench_world("0.5.12"), [*PLAIN, *DRAFT, "--speculative-num-steps", "3"]).lines
    capped = next(index for index, line in enumerate(lines) if CAP in line)
    assert capped < lines.index("Traceback (most recent call last):")


def test_nextn_becomes_eagle_before_anything_is_said() -> None:
    assert (
        effective("0.5.17", "--speculative-algorithm", "NEXTN", *DRAFT[2:], *CHAIN)["speculative_algorithm"] == "EAGLE"
    )


def test_a_draft_gets_the_revision_main_and_the_targets_quantisation() -> None:
    args = effective("0.5.17", *DRAFT, *CHAIN, "--quantization", "fp8")
    assert args["speculative_draft_model_revision"] == "main"
    assert args["speculative_draft_model_quantization"] == "fp8"
    kept = effective(
        "0.5.17", *DRAFT, *CHAIN, "--quantization", "fp8", "--speculative-draft-model-quantization", "unquant"
    )
    assert kept["speculative_draft_model_quantization"] is None


def test_ngram_overwrites_topk() -> None:
    words = "--speculative-algorithm NGRAM --speculative-num-draft-tokens 8 --speculative-eagle-topk 2".split()
    args = effective("0.5.17", *words)
    assert (args["speculative_eagle_topk"], args["speculative_num_steps"]) == (10, 0)
    assert effective("0.5.17", *words[:2])["speculative_num_draft_tokens"] == 12


@pytest.mark.parametrize(
    ("version", "env", "worker", "overlap_off"),
    [
        ("0.5.10", {}, "v1", True),
        ("0.5.10", {"SGLANG_ENABLE_SPEC_V2": "1"}, "v2", False),
        ("0.5.12", {}, "v2", False),
        ("0.5.12", {"SGLANG_ENABLE_SPEC_V2": "false"}, "v1", True),
        ("0.5.17", {"SGLANG_ENABLE_SPEC_V2": "false"}, "v2", False),
    ],
)
def test_which_worker_runs(version: str, env: dict[str, str], worker: str, overlap_off: bool) -> None:
    resolved = started(bench_world(version), [*PLAIN, *DRAFT, *CHAIN], env)
    assert resolved.spec_worker == worker
    assert resolved.args["disable_overlap_schedule"] is overlap_off


def test_a_tree_falls_back_to_the_old_worker_in_0_5_12() -> None:
    tree = "--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8".split()
    resolved = started(bench_world("0.5.12"), [*PLAIN, *DRAFT, *tree])
    assert resolved.spec_worker == "v1"
    why = "because spec v2 currently only supports topk = 1."
    assert f"Spec v1 is used for eagle/eagle3/standalone speculative decoding {why}" in resolved.notices


@pytest.mark.parametrize(
    ("version", "backend", "captured"),
    [
        ("0.5.10", "fa3", True),
        ("0.5.12", "fa3", False),
        ("0.5.12", "triton", True),
        ("0.5.12", "flashinfer", False),
        ("0.5.17", "flashinfer", True),
        ("0.5.22", "fa3", False),
        ("0.5.23", "fa3", True),
    ],
)
def test_the_draft_extend_graph_depends_on_backend_and_version(version: str, backend: str, captured: bool) -> None:
    resolved = started(bench_world(version), [*PLAIN, *DRAFT, *CHAIN, "--attention-backend", backend])
    assert ("draft_extend" in resolved.graphs.phases) is captured


def test_a_draft_backend_can_bring_the_graph_back() -> None:
    words = [*PLAIN, *DRAFT, *CHAIN, "--attention-backend", "fa3", "--speculative-draft-attention-backend", "triton"]
    assert started(bench_world("0.5.12"), words).graphs.phases["draft_extend"] == 2


def test_draft_decode_is_captured_only_for_more_than_one_step() -> None:
    assert "draft_decode" not in started(bench_world(), [*PLAIN, *DRAFT, *CHAIN]).graphs.phases
    assert started(bench_world(), [*COMMAND, *SPECULATION]).graphs.phases["draft_decode"] == 1


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.5.12", ["--disable-cuda-graph"]),
        ("0.5.17", ["--disable-cuda-graph"]),
        ("0.5.17", ["--cuda-graph-backend-decode", "disabled"]),
    ],
)
def test_graphs_can_be_switched_off(version: str, words: list[str]) -> None:
    assert not started(bench_world(version), [*PLAIN, *DRAFT, *CHAIN, *words]).graphs.phases


def test_captured_sizes_end_at_the_request_limit() -> None:
    sizes = started(bench_world("0.5.12"), [*PLAIN, *DRAFT, *CHAIN]).graphs.batch_sizes
    assert (sizes[:8], sizes[-1]) == (tuple(range(1, 9)), 48)


def test_graph_sizes_are_finer_with_speculation() -> None:
    assert graph_batch_sizes(16, speculative=False) == [1, 2, 4, 8, 12, 16]
    assert graph_batch_sizes(16, speculative=True) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        ("0.5.17", ["--no-such-flag", "1"], "error: unrecognized arguments: --no-such-flag 1"),
        ("0.5.20", ["--cuda-graph-max-bs", "32"], "error: ambiguous option: --cuda-graph-max-bs could match"),
        ("0.5.12", ["--attention-backend", "fast"], "error: argument --attention-backend: invalid choice: 'fast'"),
        ("0.5.10", ["--speculative-algorithm", "MAGIC"], "error: argument --speculative-algorithm: invalid choice"),
        ("0.5.10", ["--speculative-adaptive", "--tp", "x"], "error: argument"),
    ],
)
def test_usage_errors_exit_with_2(version: str, words: list[str], said: str) -> None:
    failed = refused(bench_world(version), [*PLAIN, *words])
    assert failed.exit_code == 2
    assert any(line.startswith("usage: ") for line in failed.lines)
    assert said in failed.lines[-1]


def test_help_exits_with_0_and_lists_the_flags() -> None:
    failed = refused(bench_world("0.5.12"), [*PLAIN, "--help"])
    assert failed.exit_code == 0
    assert any("--speculative-num-steps" in line for line in failed.lines)


def test_flags_come_and_go_with_versions() -> None:
    def names(release: tuple[int, int, int]) -> set[str]:
        return {argument.name for argument in arguments(release)}

    assert "cuda_graph_max_bs" in names((0, 5, 12))
    assert "cuda_graph_config" in names((0, 5, 17))
    assert "speculative_use_rejection_sampling" not in names((0, 5, 12))
    assert "speculative_skip_dp_mlp_sync" not in names((0, 5, 23))


def test_a_config_file_stands_before_the_command_line() -> None:
    world = bench_world(
        host={
            "name": "bench-1",
            "files": {"/etc/serve.yaml": "model-path: /models/target\ntp_size: 1\nport: 4000\nenable-metrics: true\n"},
        }
    )
    resolved = started(world, [*PLAIN[:3], "--config", "/etc/serve.yaml", "--port", "5000"])
    assert resolved.metrics_enabled
    assert resolved.port == 5000


@pytest.mark.parametrize(
    ("path", "said"),
    [("/etc/none.yaml", "Config file not found: /etc/none.yaml"), ("/etc/a.json", "must be YAML format, got: .json")],
)
def test_a_bad_config_file_is_a_traceback(path: str, said: str) -> None:
    assert said in refused(bench_world(), [*PLAIN, "--config", path]).lines[-1]


@pytest.mark.parametrize(
    "argv",
    [
        ["sglang", "serve", "--model-path", "/models/target"],
        ["/opt/venv/bin/python", "-m", "sglang.cli.main", "serve", "--model-path", "/models/target"],
        ["python3", "-u", "-m", "sglang.launch_server", "--model", "/models/target"],
    ],
)
def test_launch_forms(argv: list[str]) -> None:
    assert started(bench_world(), argv).args["model_path"] == "/models/target"


def test_another_program_is_no_server() -> None:
    assert "No module named" in refused(bench_world(), ["python3", "-m", "http.server"]).lines[-1]


def test_the_default_backend_depends_on_the_gpu_and_the_tree() -> None:
    assert effective("0.5.12")["attention_backend"] == "fa3"
    tree = "--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8".split()
    assert effective("0.5.12", *DRAFT, *tree)["attention_backend"] == "flashinfer"


def test_other_tenants_lower_the_pool() -> None:
    world = bench_world()
    alone = started(world, PLAIN).memory
    shared = started(world, PLAIN, occupied=Occupancy(gpu_memory_gb={0: 40.0})).memory
    assert shared.free_gb == pytest.approx(alone.free_gb - 40.0)
    assert shared.max_total_num_tokens < alone.max_total_num_tokens


def test_every_argument_of_the_launch_appears_in_the_effective_ones() -> None:
    args = started(bench_world(), [*COMMAND, *SPECULATION]).args
    for flag, value in zip(SPECULATION[::2], SPECULATION[1::2], strict=True):
        assert flag in TREE_FLAGS
        assert str(args[flag[2:].replace("-", "_")]) == value
