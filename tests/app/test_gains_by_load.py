"""Speculation against none at each number of running requests, in every engine's logs."""

from __future__ import annotations

import re

import pytest

from specdoctor.app.triage import TriageDocument
from specdoctor.assembly.judging import triaged
from specdoctor.render.triage import triage_lines

Load = tuple[int, float | None, float]
"""Running requests, accept length (None without speculation), tok/s of all of them."""


def sglang(*loads: Load) -> str:
    out = ["[2026-06-25 16:20:01] The server is fired up and ready to roll!"]
    for running, length, speed in loads:
        spec = f"accept len: {length:.2f}, accept rate: {(length - 1) / 3:.2f}, " if length is not None else ""
        out += [
            f"[2026-06-25 16:21:{n:02d} TP0] Decode batch, #running-req: {running}, #token: {200 + n}, token usage: "
            f"0.00, {spec}cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0"
            for n in range(5)
        ]
    return "\n".join(out) + "\n"


def vllm(*loads: Load) -> str:
    out = ["INFO 12-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0"]
    for running, length, speed in loads:
        for n in range(6):
            at = f"INFO 12-01 10:01:{10 * n % 60:02d}"
            out.append(
                f"{at} [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: "
                f"{speed:.1f} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, "
                "Prefix cache hit rate: 0.0%"
            )
            if length is not None:
                drafts = round(10 * speed / length)
                accepted = round(drafts * (length - 1))
                rate = (length - 1) / 3
                out.append(
                    f"{at} [metrics.py:1] SpecDecoding metrics: Mean acceptance length: {length:.2f}, Accepted "
                    f"throughput: 1.00 tokens/s, Drafted throughput: 1.00 tokens/s, Accepted: {accepted} tokens, "
                    f"Drafted: {3 * drafts} tokens, Per-position acceptance rate: {rate:.3f}, {rate:.3f}, {rate:.3f}, "
                    f"Avg Draft acceptance rate: {100 * rate:.1f}%"
                )
    return "\n".join(out) + "\n"


def llamacpp(*loads: Load) -> str:
    out = ["build: 6600 (0123abcd) with cc for x86_64-linux-gnu"]
    for running, length, speed in loads:
        for task in range(0, 5 * running, running):
            slots = range(running)
            out += [f"slot launch_slot_: id  {s} | task {task + s} | processing task" for s in slots]
            for s in slots:
                alone = speed / running
                speeds = f"{1000 / alone:.2f} ms per token, {alone:.2f} tokens per second"
                out += [
                    f"slot print_timing: id  {s} | task {task + s} | ",
                    f"       eval time = {600000 / alone:.2f} ms /   600 tokens ({speeds})",
                ]
                if length is not None:
                    drafts = round(600 / length)
                    accepted = 600 - drafts
                    out.append(
                        f"draft acceptance rate = {accepted / drafts / 3:.5f} ({accepted} accepted / "
                        f"{3 * drafts} generated)"
                    )
            out += [f"slot      release: id  {s} | task {task + s} | stop processing: n_tokens = 9" for s in slots]
    return "\n".join(out) + "\n"


ENGINES = [sglang, vllm, llamacpp]


def both(make: object, spec: list[Load], base: list[Load], symptom: str = "slower than without") -> TriageDocument:
    assert callable(make)
    return triaged({"server.log": make(*spec), "server_base.log": make(*base)}, symptom=symptom)


@pytest.mark.parametrize("make", ENGINES)
def test_each_load_that_both_sides_show_is_compared_by_itself(make: object) -> None:
    spec: list[Load] = [(1, 2.5, 200.0), (2, 2.5, 350.0), (4, 2.5, 420.0)]
    document = both(make, spec, [(1, None, 100.0), (4, None, 600.0)])
    told = {gain.concurrency: pytest.approx(gain.speedup, rel=0.03) for gain in document.gains}
    assert told == {1: 2.0, 4: 0.7}
    advice = "turn speculation off above 1 request at once (nothing was measured between 1 and 4)"
    assert (document.headline.startswith("LOAD-1: "), advice in document.headline) == (True, True)
    (first,) = [f for f in document.findings if f.cause == "LOAD-1"]
    assert (first.status, first.role, advice in first.fix) == ("supported", "explains", True)
    assert "LOAD-5" not in {f.cause for f in document.findings}
    assert document.contradicted == (), "slower at one load, faster at another"
    text = re.sub(r"\s+", " ", triage_lines(document.model_dump(mode="json"), width=200))
    assert "gains at 1 request: 200 tok/s with speculation, 100 without: 2.00 times" in text
    assert "loses at 4 requests: 420 tok/s with speculation, 600 without: 0.70 times" in text


@pytest.mark.parametrize("make", ENGINES)
def test_a_load_of_one_side_is_compared_with_nothing(make: object) -> None:
    document = both(make, [(4, 2.5, 420.0)], [(1, None, 100.0)])
    assert document.gains == ()
    assert not {"speedup", "baseline_tok_s", "step_ratio"} & set(document.facts)


def test_the_load_that_was_seen_most_gives_the_facts_whatever_the_other_side_saw_most() -> None:
    spec: list[Load] = [(1, 2.0, 200.0), (1, 2.0, 200.0), (8, 2.0, 900.0)]
    document = both(sglang, spec, [(1, None, 100.0), (8, None, 600.0), (8, None, 600.0)])
    assert [document.facts[n] for n in ("measured_at_running_requests", "baseline_tok_s", "speedup")] == [1, 100.0, 2.0]
    assert [(g.concurrency, g.speedup) for g in document.gains] == [(1, 2.0), (8, 1.5)]


def test_a_loss_at_many_requests_alone_leaves_both_explanations_with_their_tests() -> None:
    """A base step of 32 / 16000 s = 2 ms, a cycle of 32 * 2 / 9000 s."""
    document = both(sglang, [(32, 2.0, 9000.0)], [(32, None, 16000.0)])
    found = {f.cause: f for f in document.findings}
    assert {(c, found[c].status) for c in ("LOAD-1", "LOAD-5")} == {("LOAD-1", "suspected"), ("LOAD-5", "suspected")}
    assert "1, 4, 16 and 64 requests" in " ".join(document.missing)
    assert document.verdict == "not-enough-evidence"


def test_a_loss_at_one_request_already_is_no_batch() -> None:
    document = both(sglang, [(1, 1.9, 250.0), (32, 1.9, 9000.0)], [(1, None, 500.0), (32, None, 16000.0)])
    found = {f.cause: f.status for f in document.findings}
    assert (found["LOAD-5"], found["LOAD-1"]) == ("supported", "falsified")
    assert "it loses at every one of them" in document.headline


@pytest.mark.parametrize("make", ENGINES)
def test_the_identity_is_written_with_the_facts_and_their_one_estimator(make: object) -> None:
    """Steps of 20 ms that bring 2 tokens, and of 10 ms that bring 4: four lines of the one, five of the other."""
    document = both(make, [(1, 2.0, 100.0), (1, 4.0, 400.0)], [(1, None, 100.0)])
    facts = document.facts
    length, speed, step = (facts[n] for n in ("accept_length_at_measured_load", "throughput_tok_s", "step_ms"))
    assert isinstance(length, float)
    assert isinstance(step, float)
    assert speed == pytest.approx(1000 * length / step, rel=1e-3)
    how = facts["throughput_tok_s_estimator"]
    assert facts["step_ms_estimator"] == facts["accept_length_at_measured_load_estimator"] == how
    (written,) = document.identity
    assert written.text == f"{speed:.4g} tok/s = {length:.3g} tokens / {step:.4g} ms ({how})"
    if make is sglang:
        assert [length, step] == [pytest.approx((4 * 2 + 5 * 4) / 9, abs=1e-3), pytest.approx(130 / 9, abs=1e-3)]


def test_a_pause_is_left_out_and_named() -> None:
    lines = sglang((1, 2.0, 200.0)).split("\n")
    lines[3] = lines[3].replace("(token/s): 200.00", "(token/s): 0.40")
    document = triaged({"server.log": "\n".join(lines)}, symptom="")
    assert document.facts["throughput_tok_s"] == 200.0
    assert str(document.facts["throughput_tok_s_estimator"]).endswith("1 with a pause left out")


def test_a_line_that_began_at_another_load_counts_for_neither() -> None:
    logged = sglang((1, 2.0, 200.0), (4, 2.0, 800.0)).replace("800.00", "300.00", 1)
    document = both(lambda *loads: logged if loads[0][1] else sglang(*loads), [(1, 2.0, 1.0)], [(4, None, 400.0)])
    assert [(g.concurrency, g.speedup) for g in document.gains] == [(4, 2.0)]


@pytest.mark.parametrize("speed", ["9" * 400, "0.00", "1e309", "nan"])
def test_a_speed_that_is_none_measures_nothing(speed: str) -> None:
    logged = sglang((1, 2.0, 200.0)).replace("200.00", speed)
    document = triaged({"server.log": logged, "server_base.log": sglang((1, None, 100.0))}, symptom="")
    assert document.gains == ()
    assert "speedup" not in document.facts


def test_a_gain_where_it_was_compared_clears_no_load_beyond() -> None:
    document = both(sglang, [(1, 2.5, 200.0), (1, 2.5, 200.0), (8, 2.5, 900.0)], [(1, None, 100.0)])
    assert document.verdict == "not-enough-evidence"
    (said,) = document.contradicted
    assert "read 2 times the speed without speculation at 1 running request of up to 8 [" in said
