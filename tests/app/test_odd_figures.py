"""Figures that no engine can have are left out and named; the rest of the files is judged."""

from __future__ import annotations

import pytest

from specdoctor.app.triage import TriageDocument
from specdoctor.assembly.judging import triaged
from specdoctor.core.model import Verdict


def args(steps: str, tokens: str) -> str:
    return (
        "[2026-12-01 01:45:16] server_args=ServerArgs(model_path='/m/Qwen3-8B', port=30000, tp_size=1, "
        "disable_cuda_graph=False, speculative_algorithm='EAGLE3', speculative_eagle_topk=1, "
        f"speculative_num_steps={steps}, speculative_num_draft_tokens={tokens})\n"
    )


def decode(length: str, rate: str, second: int = 0) -> str:
    return (
        f"[2026-12-01 02:29:{second:02}] Decode batch, #running-req: 1, #token: 59, token usage: 0.00, accept len: "
        f"{length}, accept rate: {rate}, cuda graph: True, gen throughput (token/s): 90.70, #queue-req: 0\n"
    )


GOOD = "".join(decode("2.50", "0.50", n) for n in range(20))
READY = "[2026-12-01 02:28:00] The server is fired up and ready to roll!\n"


def judged(**files: str) -> TriageDocument:
    names = {"log": "server.log", "table": "bench.csv"}
    return triaged({names[name]: text for name, text in files.items()}, symptom="")


@pytest.mark.parametrize(
    ("steps", "tokens", "named"),
    [
        ("5000", "4", "speculative_num_steps=5000: not possible"),
        ("999999999999999999999", "4", "speculative_num_steps=999999999999999999999: not possible"),
        ("3", "-4", "speculative_num_draft_tokens=-4: not possible"),
    ],
)
def test_an_argument_beyond_any_engine_is_left_out_and_the_rest_judged(steps: str, tokens: str, named: str) -> None:
    document = judged(log=args(steps, tokens) + READY + GOOD)
    assert document.unread["server.log:1"].startswith(named)
    assert document.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert document.facts["accept_length"] == pytest.approx(2.5)
    assert document.facts.get("draft_steps") in (None, 3)


@pytest.mark.parametrize(
    ("length", "rate", "named"),
    [
        ("0.40", "0.50", "an accept length of 0.4, below the bonus token's 1"),
        ("9.00", "0.50", "an accept length of 9, where at most 5 are possible"),
        ("2.50", "1.50", "an accept rate of 1.5, above 1"),
    ],
)
def test_an_accept_length_that_no_cycle_has_is_no_accept_length(length: str, rate: str, named: str) -> None:
    document = judged(log=args("3", "4") + READY + GOOD + decode(length, rate, 30) + decode(length, rate, 31))
    assert document.unread["server.log:23"] == f"{named} (and 1 such line after it): not possible, left out"
    assert document.facts["accept_length"] == pytest.approx(2.5)


def test_swapped_columns_give_no_gain() -> None:
    document = judged(table="config,accept_length,throughput_tok_s\nbaseline,177,1\neagle3,92,2.8\n")
    assert not {"speedup", "accept_length", "throughput_tok_s", "step_ms"} & set(document.facts)
    assert "columns swapped?" in document.unread["bench.csv:3"]


def test_a_tabled_length_above_the_drafts_is_left_out_and_the_speeds_stay() -> None:
    table = "config,draft_tokens,accept_length,throughput_tok_s\nbaseline,0,,92\neagle3,4,92,177\n"
    document = judged(table=table)
    assert document.facts["speedup"] == pytest.approx(177 / 92, rel=1e-3)
    assert "accept_length" not in document.facts
    assert document.unread["bench.csv:3"].startswith("an accept length of 92, where at most ")
