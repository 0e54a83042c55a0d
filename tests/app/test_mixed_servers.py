"""Two servers in one log: side by side, and one after the other."""

from __future__ import annotations

from specdoctor.app.triage import TriageDocument
from specdoctor.assembly.judging import triaged
from specdoctor.core.model import Verdict

READY = "[2026-12-01 01:45:20] The server is fired up and ready to roll!\n"


def begun(port: int, model: str) -> str:
    return (
        f"[2026-12-01 01:45:16] server_args=ServerArgs(model_path='{model}', port={port}, tp_size=1, "
        "disable_cuda_graph=False, speculative_algorithm='EAGLE3', speculative_eagle_topk=1, "
        "speculative_num_steps=3, speculative_num_draft_tokens=4)\n"
    )


def decoded(length: str, speed: str) -> str:
    return "".join(
        f"[2026-12-01 01:46:{n:02}] Decode batch, #running-req: 1, #token: 59, token usage: 0.00, "
        f"accept len: {length}, accept rate: 0.50, cuda graph: True, gen throughput (token/s): {speed}, #queue-req: 0\n"
        for n in range(9)
    )


def judged(log: str) -> TriageDocument:
    return triaged({"server.log": log}, symptom="")


def test_lines_of_two_servers_side_by_side_are_not_averaged() -> None:
    both = decoded("2.50", "90.00") + decoded("1.50", "300.00")
    document = judged(begun(30000, "/m/a") + begun(30001, "/m/b") + READY + READY + both)
    assert document.contradicted[0].startswith(
        "server.log holds the lines of two servers mixed (port 30000, /m/a; port 30001, /m/b)"
    )
    assert not {"accept_length", "throughput_tok_s", "step_ms"} & set(document.facts)
    assert document.verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_a_server_started_after_another_is_read_as_before() -> None:
    first = begun(30000, "/m/a") + READY + decoded("1.50", "300.00")
    document = judged(first + begun(30001, "/m/b") + READY + decoded("2.50", "90.00"))
    assert document.contradicted == ()
    assert document.facts["accept_length"] == 2.5
