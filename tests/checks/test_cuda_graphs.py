"""Decode lines without a graph, beside arguments that were read, and that were not."""

from __future__ import annotations

import pytest

from specdoctor.assembly.judging import triaged
from specdoctor.core.model import Verdict

DECODE = (
    "[2026-12-01 02:29:28] Decode batch, #running-req: 1, #token: 59, token usage: 0.00, accept len: 2.56, "
    "accept rate: 0.52, cuda graph: False, gen throughput (token/s): 72.70, #queue-req: 0\n"
)
SPEC = (
    "speculative_algorithm='EAGLE3', speculative_num_steps=3, speculative_eagle_topk=1, speculative_num_draft_tokens=4"
)
HEAD = "[2026-12-01 01:45:16] server_args=ServerArgs(model_path='/m/Qwen3-8B', "
LAUNCH = "python3 -m sglang.launch_server --model-path /m/Qwen3-8B --speculative-algorithm EAGLE3\n"


def judged(args: str, launch: str = "") -> dict[str | None, tuple[str, str, str]]:
    texts = {"server.log": args + DECODE * 9} | ({"launch.sh": launch} if launch else {})
    document = triaged(texts, symptom="")
    assert document.verdict is not Verdict.HEALTHY
    found = document.findings
    return {f.cause: (f.status, f.claim, f.next_check) for f in found}


@pytest.mark.parametrize(
    ("args", "launch"),
    [
        ("", ""),
        ("", LAUNCH),
        (f"{HEAD}{SPEC}, dtype='au\n", ""),
        (f"{HEAD}..., {SPEC}, ...)\n", LAUNCH),
    ],
    ids=["no line", "launch line only", "cut", "shortened"],
)
def test_whether_graphs_are_enabled_stays_unknown_where_nothing_says_it(args: str, launch: str) -> None:
    found = judged(args, launch)
    for cause in ("CFG-5", "GRAPH-2"):
        status, claim, decides = found[cause]
        assert (status, "does not say" in claim, "enabled" in claim) == ("suspected", True, False)
        assert "disable_cuda_graph" in decides
    assert "GRAPH-1" not in found, "a batch of one fits any captured size"


@pytest.mark.parametrize(("value", "cause"), [("True", "CFG-5"), ("False", "GRAPH-2")])
def test_what_the_arguments_in_force_say_decides(value: str, cause: str) -> None:
    found = judged(f"{HEAD}{SPEC}, disable_cuda_graph={value})\n")
    assert [c for c, said in found.items() if said[0] == "supported"] == [cause]


OFF = (
    f"{HEAD}{SPEC}, disable_cuda_graph=False, "
    "cuda_graph_config=CudaGraphConfig(decode=PhaseConfig(backend='disabled'), prefill=None))\n"
)
JSON = """{"decode": {"backend": "disabled", "max_bs": 8}, "prefill": {"backend": "disabled"}}"""


@pytest.mark.parametrize(
    ("given", "left", "said"),
    [
        ("--cuda-graph-backend-decode disabled", "", "--cuda-graph-backend-decode disabled"),
        ("--cuda-graph-backend-decode=disabled", "", "--cuda-graph-backend-decode disabled"),
        ("--disable-cuda-graph", "", "--disable-cuda-graph"),
        ("--disable-decode-cuda-graph", "", "--disable-decode-cuda-graph"),
        ("""--cuda-graph-config '{"decode": {"backend": "disabled"}}'""", "", "--cuda-graph-config"),
        (f"--cuda-graph-config '{JSON}'", '"max_bs": 8', "--cuda-graph-config"),
    ],
)
def test_the_line_to_try_is_without_the_form_that_is_on_it(given: str, left: str, said: str) -> None:
    document = triaged({"server.log": OFF + DECODE * 9, "launch.sh": f"{LAUNCH.strip()} {given}\n"}, symptom="")
    assert document.to_try is not None
    assert (document.to_try.line == LAUNCH.strip()) is not bool(left)
    if left:
        assert left in document.to_try.line
        assert document.to_try.line.count('"backend"') == 1, "what it says of prefill stays"
    (fix,) = {f.fix for f in document.findings if f.cause == "CFG-5"}
    assert fix.startswith("start without ")
    assert fix.endswith(said)


SWITCHED_OFF = f"{HEAD}{SPEC}, disable_cuda_graph=True)\n"
BY_ITSELF = "[2026-12-01 01:45:15] Cuda graph is disabled because of using torch native attention backend\n"


def test_a_line_that_has_not_what_switched_them_off_is_none_to_try() -> None:
    document = triaged({"server.log": BY_ITSELF + SWITCHED_OFF + DECODE * 9, "launch.sh": LAUNCH}, symptom="")
    assert document.contradicted == (), "the engine says that it did it itself"
    assert document.to_try is not None
    assert (document.to_try.line, document.to_try.where) == ("", "launch.sh:1")
    assert (
        "this line does not have --disable-cuda-graph: the server that ran was started with another"
        in (document.to_try.remarks[0])
    )


def test_a_line_without_the_switch_that_the_log_records_started_another_server() -> None:
    document = triaged({"server.log": SWITCHED_OFF + DECODE * 9, "launch.sh": LAUNCH}, symptom="")
    assert "disable_cuda_graph not given against True" in document.contradicted[0]
    assert document.to_try is None
