"""Files that a live SGLang 0.5.17 server wrote, where they lie beside this repository.

SPECDOCTOR_SHARED names the folder that holds `captured/`; else `../shared`. Speeds in them carry noise of up to 30 %:
only counts, shapes, settings and refusals are compared.
"""

from __future__ import annotations

import json
import os
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from specdoctor.analysis.conversion import sglang_reported
from specdoctor.analysis.cycle import identity_gap
from specdoctor.analysis.fit import CycleFit, CyclePoint, fit_cycle
from specdoctor.analysis.pooling import RequestCounts, pooled_accept_length, request_from_histogram
from specdoctor.analysis.refusal import Refusal
from specdoctor.core.server import ServerView
from specdoctor.engines.sglang import engine
from tests.remote.workplace import loaded

SHARED = Path(os.environ.get("SPECDOCTOR_SHARED", Path(__file__).parents[3] / "shared")) / "captured" / "sglang-0.5.17"
pytestmark = pytest.mark.skipif(not (SHARED / "base").is_dir(), reason=f"captures of a live server are not at {SHARED}")

# Of its README: accept length at concurrency 1, 8, 32, at temperature 0.8; histogram of ten requests; steps in force.
STATED: dict[str, tuple[tuple[float, float, float], float, tuple[int, ...], int]] = {
    "e3_s1": ((1.837, 1.865, 1.849), 1.62, (152, 309), 1),
    "e3_s1_n16": ((1.837, 1.865, 1.850), 1.62, (152, 309), 1),
    "e3_s2": ((2.526, 2.579, 2.521), 1.76, (81, 29, 212), 2),
    "e3_s3": ((3.209, 3.086, 3.015), 2.04, (85, 32, 41, 127), 3),
    "e3_s5": ((4.299, 3.842, 3.740), 2.06, (84, 32, 28, 34, 15, 57), 5),
    "e3_s7": ((4.664, 4.300, 4.114), 2.18, (80, 28, 34, 24, 7, 8, 7, 41), 7),
    "e3_untrained": ((1.006, 1.005, 1.005), 1.01, (760, 3), 3),
    "e3_nograph": ((3.209, 3.086, 3.020), 2.00, (85, 32, 41, 127), 3),
    "standalone_s3": ((2.203, 2.053, 2.118), 1.78, (308, 114, 11, 52), 3),
}
CLEAN_MS = {"base": 1.56, "e3_s1": 3.41, "e3_s2": 3.10, "e3_s3": 3.36, "e3_s5": 4.34, "e3_s7": 3.84, "e3_nograph": 36.5}
FORMS = loaded("parts.request_forms")


def text(scenario: str, name: str) -> str:
    return (SHARED / scenario / name).read_bytes().decode("utf-8", "replace")


def document(scenario: str, name: str) -> Any:
    return json.loads(text(scenario, name))


@cache
def view(scenario: str) -> ServerView:
    names = ("cmd.txt", "server.log", "server_info_end.json")
    found = engine.view_from_files({name: text(scenario, name) for name in names})
    assert found is not None
    return found


@cache
def metas(scenario: str) -> list[dict[str, Any]]:
    """The ten requests at temperature 0: seven small ones and the first of each bench."""
    small = [document(scenario, f"generate_{name}.json") for name in ("0", "1", "logprob")]
    small += document(scenario, "generate_batch.json")
    lines = [line for line in text(scenario, "generate_stream.txt").splitlines() if line.startswith("data: {")]
    return [each["meta_info"] for each in [*small, json.loads(lines[-1][6:])]] + [
        each["meta_sample"] for each in document(scenario, "bench.json")["bench"]
    ]


def counts(scenario: str) -> list[RequestCounts]:
    """As the load generator reads them."""
    found = []
    for meta in metas(scenario):
        told = FORMS.counts_of([{"meta_info": meta}])
        request = request_from_histogram(told["histogram"])
        assert (request.forwards, request.accepted_drafts) == (told["verify_ct"], told["correct_drafts"])
        found.append(request)
    return found


@pytest.mark.parametrize("scenario", STATED)
def test_accept_lengths_by_concurrency(scenario: str) -> None:
    lengths, hot, _, _ = STATED[scenario]
    told = document(scenario, "bench.json")
    for row, stated in zip([*told["bench"], told["bench_t08"]], [*lengths, hot], strict=True):
        found = sglang_reported(row["completion_tokens"], row["verify_ct"])
        assert found == pytest.approx(stated, abs=0.006), (row["conc"], row["n"])


@pytest.mark.parametrize("scenario", STATED)
def test_histograms_of_ten_requests(scenario: str) -> None:
    _, _, stated, steps = STATED[scenario]
    requests = counts(scenario)
    assert len(requests) == 10
    width = max(len(request.histogram) for request in requests)
    pooled = tuple(sum(r.histogram[i] for r in requests if i < len(r.histogram)) for i in range(width))
    assert pooled == stated
    length = pooled_accept_length(requests, steps=steps)
    assert length is not None
    assert length.value == pytest.approx(1 + sum(i * n for i, n in enumerate(stated)) / sum(stated))


@pytest.mark.parametrize("scenario", STATED)
def test_a_recorded_stream_is_counted_to_the_token(scenario: str) -> None:
    answer = loaded("parts.one_request").Answer()
    lines = [line for line in text(scenario, "generate_stream.txt").split("\n") if line]
    for at, line in enumerate(lines):
        answer.line(line.encode(), float(at))
    told, last = answer.told(), json.loads([line for line in lines if line.startswith("data: {")][-1][6:])["meta_info"]
    assert told["completion_tokens"] == last["completion_tokens"]
    assert told["histogram"] == last["spec_correct_drafts_histogram"]
    assert (answer.over, told["finish"]) == (True, "length")
    assert told["tokens_first_chunk"] == 1
    assert 2 <= told["chunks"] <= last["spec_verify_ct"] + 1


@pytest.mark.parametrize("scenario", ["base", *STATED])
def test_settings_in_force(scenario: str) -> None:
    found = view(scenario)
    assert found.version == "0.5.17"
    assert found.spec is not None
    if scenario == "base":
        assert not found.spec.on
        return
    steps = STATED[scenario][3]
    assert (found.spec.draft_steps, found.spec.topk, found.spec.draft_tokens) == (steps, 1, steps + 1)


def test_sixteen_draft_tokens_were_asked_for_and_two_are_in_force() -> None:
    found = view("e3_s1_n16")
    assert found.asked_spec is not None
    assert found.asked_spec.draft_tokens == 16
    rewrite = next(r for r in found.rewrites if r.key == "speculative_num_draft_tokens")
    assert (rewrite.asked, rewrite.effective, rewrite.kind) == ("16", "2", "rewritten")
    assert "is adjusted to speculative_num_steps + 1" in (rewrite.logged or "")
    assert not [r for r in view("e3_s1").rewrites if r.kind == "rewritten" and r.key.startswith("speculative")]


def clean_cycle_ms(scenario: str, running: int) -> float:
    """Median of running * accept length / throughput over the clean decode lines at this batch size."""
    log = view(scenario).log
    assert log is not None
    used = [w for w in log.decode if w.clean and w.running == running and w.throughput_tok_s > 0]
    return statistics.median(1000.0 * running * (w.accept_length or 1.0) / w.throughput_tok_s for w in used)


@pytest.mark.parametrize("scenario", CLEAN_MS)
def test_clean_cycles_with_one_request(scenario: str) -> None:
    assert clean_cycle_ms(scenario, 1) == pytest.approx(CLEAN_MS[scenario], rel=0.02)


@pytest.mark.parametrize("pair", [(1, 2), (1, 3), (5, 7)])
def test_pairs_whose_cycle_falls_with_more_drafting_give_no_line(pair: tuple[int, int]) -> None:
    points = [CyclePoint(steps=k, cycle_ms=clean_cycle_ms(f"e3_s{k}", 1)) for k in pair]
    refused = fit_cycle(points, baseline_step_ms=clean_cycle_ms("base", 1))
    assert isinstance(refused, Refusal)
    assert refused.kind == "negative-slope"


def test_a_pair_that_is_sound_gives_a_line() -> None:
    points = [CyclePoint(steps=k, cycle_ms=clean_cycle_ms(f"e3_s{k}", 1)) for k in (1, 7)]
    assert isinstance(fit_cycle(points, baseline_step_ms=clean_cycle_ms("base", 1)), CycleFit)


def test_no_line_from_thirty_two_requests_that_are_interrupted_by_prefill() -> None:
    """Wall throughput there is prefill: 1 - T * c / (1000 * AL) with T of one request."""
    points = []
    for steps in (3, 7):
        row = document(f"e3_s{steps}", "bench.json")["bench"][2]
        assert row["conc"] == 32
        length = sglang_reported(row["completion_tokens"], row["verify_ct"])
        assert length is not None
        cycle = clean_cycle_ms(f"e3_s{steps}", 32)
        gap = identity_gap(throughput=row["out_tok_s"] / 32, cycle_ms=cycle, length=length)
        assert gap.reading == "blocks-fit"
        points.append(CyclePoint(steps=steps, cycle_ms=cycle, gap=gap.gap))
    assert points[0].gap == pytest.approx(0.68, abs=0.01)
    refused = fit_cycle(points)
    assert isinstance(refused, Refusal)
    assert refused.kind == "identity-gap"
