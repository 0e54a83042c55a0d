"""Log lines, meta_info and endpoint bodies, by version and against real excerpts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from specdoctor.lab.engine_core import EngineCore, GenRequest
from specdoctor.lab.sglang_output import (
    DecodeStats,
    PrefillStats,
    accept_rate,
    capture_bar,
    decode_line,
    prefill_line,
    shard_bar,
    speculative_meta,
)
from tests.lab.engine_bench import (
    COMMAND,
    DATA,
    NOW_S,
    PLAIN,
    SPECULATION,
    bench_world,
    closed_loop,
    excerpt,
    shape,
    started,
)

DECODE = DecodeStats(running=1, tokens=120, usage=0.0, accept_length=2.91, graph=True, throughput=310.2, queue=0)
PREFILL = PrefillStats(
    sequences=1, new_tokens=37, cached_tokens=0, usage=0.0, running=0, queue=0, pending_tokens=0, graph=False,
    throughput=99.5,
)  # fmt: skip


HEAD = "#running-req: 1, #token: 120, token usage: 0.00, accept len: 2.91, "
TAIL = "cuda graph: True, gen throughput (token/s): 310.20, #queue-req: 0"


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ((0, 5, 3), f"Decode batch. {HEAD}{TAIL}, "),
        ((0, 5, 4), f"Decode batch [7], {HEAD}accept rate: 0.73, {TAIL}, "),
        ((0, 5, 8), f"Decode batch, {HEAD}accept rate: 0.73, {TAIL}, "),
        ((0, 5, 10), f"Decode batch, {HEAD}accept rate: 0.73, {TAIL}"),
        ((0, 5, 17), f"Decode batch, {HEAD}accept rate: 0.64, {TAIL}"),
    ],
)
def test_decode_lines(release: tuple[int, int, int], expected: str) -> None:
    assert decode_line(DECODE, release=release, draft_tokens=4, iteration=7) == expected


@pytest.mark.parametrize(
    ("release", "tail"),
    [
        ((0, 5, 8), "#running-req: 0, #queue-req: 0, "),
        ((0, 5, 9), "#queue-req: 0, input throughput (token/s): 99.50, cuda graph: False"),
        ((0, 5, 12), "#queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 99.50"),
    ],
)
def test_prefill_lines(release: tuple[int, int, int], tail: str) -> None:
    assert prefill_line(PREFILL, release=release, iteration=3).endswith(tail)


def test_the_rate_changed_its_meaning() -> None:
    assert accept_rate(2.91, 4, (0, 5, 10)) == pytest.approx(0.7275)
    assert accept_rate(2.91, 4, (0, 5, 11)) == pytest.approx(0.6367, abs=1e-3)
    assert accept_rate(1.0, 4, (0, 5, 17)) == 0.0


def test_every_line_of_a_run_has_the_shape_of_a_real_one() -> None:
    real = {shape(line) for line in excerpt("steps.log")}
    world = bench_world()
    for words in (SPECULATION, [], [*SPECULATION, "--cuda-graph-backend-decode", "disabled"]):
        run = closed_loop(started(world, [*COMMAND, *words]), world, requests=3, tokens=120)
        assert len(run.lines) > 5
        assert {shape(line) for line in run.lines} <= real
        answered = run.core.access_line("POST", "/generate", 200, NOW_S)
        assert shape(answered) in real


def test_deprecated_paths_are_warned_about_as_in_reality() -> None:
    world = bench_world()
    core = EngineCore(started(world, COMMAND), world, 1)
    real = {shape(line) for line in excerpt("steps.log")}
    for path in ("/get_server_info", "/get_model_info"):
        line = core.deprecation_line(path, NOW_S)
        assert line is not None
        assert shape(line) in real
    assert core.deprecation_line("/server_info", NOW_S) is None


def test_progress_bars_are_one_line_of_carriage_returns() -> None:
    for text in (shard_bar(4, 2.0, release=(0, 5, 12)), capture_bar([1, 2, 4], 20.0, 19.5, 3.0)):
        assert text.startswith("\r")
        assert "\n" not in text
        assert "100%" in text.split("\r")[-1]
    assert re.search(
        r"Loading safetensors checkpoint shards: 100% Completed \| 4/4 \[", shard_bar(4, 2.0, release=(0, 5, 12))
    )


def real_json(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def test_meta_info_has_the_keys_of_a_real_answer() -> None:
    real = real_json("meta_info.json")
    world = bench_world()
    speculative = closed_loop(started(world, [*COMMAND, *SPECULATION]), world, requests=1, tokens=48)
    plain = closed_loop(started(world, COMMAND), world, requests=1, tokens=48)
    assert set(speculative.finished["r0"].meta_info) == set(real["speculative"])
    assert set(plain.finished["r0"].meta_info) == set(real["plain"])


def test_chunks_carry_no_speculative_keys() -> None:
    world = bench_world()
    core = EngineCore(started(world, [*COMMAND, *SPECULATION]), world, 1)
    core.submit(GenRequest("a", "some words to go on with", max_new_tokens=40, stream=True, ignore_eos=True), NOW_S)
    core.step(NOW_S)
    core.step(NOW_S + 0.1)
    real = set(real_json("meta_info.json")["chunk"])
    assert set(core.meta_info("a")) == real - {"response_sent_to_client_ts"}


@pytest.mark.parametrize(
    ("release", "keys"),
    [
        ((0, 5, 3), {"spec_verify_ct"}),
        (
            (0, 5, 8),
            {
                "spec_verify_ct",
                "spec_accept_rate",
                "spec_accept_length",
                "spec_accept_token_num",
                "spec_draft_token_num",
            },
        ),
        (
            (0, 5, 11),
            {
                "spec_verify_ct",
                "spec_accept_rate",
                "spec_accept_length",
                "spec_accepted_drafts",
                "spec_proposed_drafts",
                "spec_accept_histogram",
            },
        ),
        (
            (0, 5, 23),
            {
                "spec_verify_ct",
                "spec_accept_rate",
                "spec_accept_length",
                "spec_num_correct_drafts",
                "spec_num_proposed_drafts",
                "spec_correct_drafts_histogram",
            },
        ),
    ],
)
def test_speculative_keys_by_version(release: tuple[int, int, int], keys: set[str]) -> None:
    meta = speculative_meta(
        release=release, completion_tokens=48, verify_count=21, correct=27, histogram=[9, 3, 3, 6, 0], draft_tokens=4
    )
    assert set(meta) == keys
    if release >= (0, 5, 4):
        assert meta["spec_accept_rate"] == pytest.approx(27 / 63)
        assert meta["spec_accept_length"] == pytest.approx(48 / 21)


def test_the_histogram_ends_at_its_last_count() -> None:
    meta = speculative_meta(
        release=(0, 5, 17), completion_tokens=9, verify_count=8, correct=1, histogram=[7, 1, 0, 0], draft_tokens=4
    )
    assert meta["spec_correct_drafts_histogram"] == [7, 1]


def test_nothing_is_said_without_a_verify_step() -> None:
    common: dict[str, Any] = {"completion_tokens": 1, "verify_count": 0, "correct": 0, "histogram": []}
    assert speculative_meta(release=(0, 5, 17), draft_tokens=4, **common) == {}
    assert speculative_meta(release=(0, 5, 8), draft_tokens=4, **common)["spec_verify_ct"] == 0


def test_server_info_has_the_keys_of_a_real_one() -> None:
    real = real_json("server_info_keys.json")
    world = bench_world()
    core = closed_loop(started(world, [*COMMAND, *SPECULATION]), world, requests=1).core
    body = core.server_info(NOW_S)
    assert set(body) == set(real["server_args"]) | set(real["top"])
    state = body["internal_states"][0]
    assert set(real["internal_only"]) <= set(state)
    assert set(state["memory_usage"]) == set(real["memory_usage"])
    assert set(body["startup_time"]) == set(real["startup_time"])
    assert set(body["startup_time"]["cuda_graph"]) == set(real["startup_time"]["cuda_graph"])
    assert state["max_speculative_num_draft_tokens"] == 4
    json.dumps(body)


def test_without_speculation_there_is_no_accept_length() -> None:
    world = bench_world()
    core = closed_loop(started(world, COMMAND), world, requests=1).core
    state = core.server_info(NOW_S)["internal_states"][0]
    assert "avg_spec_accept_length" not in state
    assert set(real_json("server_info_keys.json")["internal_only_without_speculation"]) <= set(state)


def test_the_launch_command_is_shown_by_late_versions_only() -> None:
    late, early = bench_world("0.5.20"), bench_world("0.5.17")
    words = [*PLAIN, *SPECULATION]
    assert "--speculative-num-steps 3" in EngineCore(started(late, words), late, 1).server_info(NOW_S)["launch_command"]
    assert "launch_command" not in EngineCore(started(early, words), early, 1).server_info(NOW_S)


def test_step_times_are_recorded_on_request() -> None:
    world = bench_world()
    resolved = started(world, COMMAND, {"SGLANG_RECORD_STEP_TIME": "1"})
    recorded = closed_loop(resolved, world, requests=1, tokens=30).core.server_info(NOW_S)["internal_states"][0]
    assert len(recorded["step_time_dict"]["1"]) == 29


@pytest.mark.parametrize(("name", "call"), [("model_info.json", "model_info"), ("models.json", "models")])
def test_model_bodies(name: str, call: str) -> None:
    world = bench_world()
    core = EngineCore(started(world, [*COMMAND, *SPECULATION]), world, 1)
    body, real = getattr(core, call)(), real_json(name)
    assert set(body) <= set(real)
    assert body.get("architectures") == real.get("architectures")
    assert [entry.keys() for entry in body.get("data", [])] == [entry.keys() for entry in real.get("data", [])]


def test_loads_have_the_keys_of_a_real_answer() -> None:
    real = real_json("loads.json")
    world = bench_world()
    body = closed_loop(started(world, [*COMMAND, *SPECULATION]), world, requests=1).core.loads(NOW_S)
    assert set(body) == set(real)
    assert set(body["loads"][0]) >= set(real["loads"][0]) - {"decode_moments"}
    assert body["loads"][0]["gen_throughput"] == 0.0
    assert body["loads"][0]["speculative"]["accept_length"] > 1.5


def series(text: str) -> dict[str, set[str]]:
    """Metric names with the label names of their samples."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition("{")
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', rest))
    return found


def test_metrics_have_the_names_and_labels_of_a_real_scrape() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    world = bench_world()
    core = closed_loop(started(world, [*COMMAND, *SPECULATION]), world, requests=2).core
    text = core.metrics_text(NOW_S)
    ours, real = series(text), series((DATA / "metrics.prom").read_text(encoding="utf-8"))
    for name, labels in real.items():
        assert ours.get(name) == labels, name
    values = {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}
    assert values["sglang:spec_num_draft_tokens"] == 4.0
    assert values["sglang:gen_throughput"] == 0.0
    assert values["sglang:spec_verify_calls_total"] > 100


def test_the_verify_counter_is_absent_without_speculation() -> None:
    world = bench_world()
    core = closed_loop(started(world, COMMAND), world, requests=1, tokens=20).core
    assert "spec_verify_calls_total" not in core.metrics_text(NOW_S)
    assert 'mode="decode_cuda_graph"' in core.metrics_text(NOW_S)


def test_paths_by_version() -> None:
    def paths(version: str, *words: str) -> dict[str, str | None]:
        world = bench_world(version)
        return EngineCore(started(world, [*PLAIN, *words]), world, 1).endpoints()

    assert "/server_info" not in paths("0.5.5")
    assert paths("0.5.5")["/get_server_info"] is None
    assert paths("0.5.6")["/get_server_info"] == "/server_info"
    assert "/get_load" not in paths("0.5.21")
    assert "/metrics" not in paths("0.5.17")
    assert "/metrics" in paths("0.5.17", "--enable-metrics")
