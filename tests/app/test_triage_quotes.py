"""A quote shows what it is cited for: the line that prints acceptance, not its neighbour with the speed."""

from __future__ import annotations

import pytest

from specdoctor.assembly import judging

LAUNCH = 'vllm serve /m/big --speculative-config \'{"method":"eagle3","model":"/m/head","num_speculative_tokens":3}\'\n'
ENGINE = (
    "INFO 03-02 10:20:{s:02d} [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
    "throughput: 61.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit "
    "rate: 0.0%\n"
)
SPEC = (
    "INFO 03-02 10:20:{s:02d} [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 1.30, Accepted "
    "throughput: 14.00 tokens/s, Drafted throughput: 140.00 tokens/s, Accepted: 140 tokens, Drafted: "
    "1401 tokens, Per-position acceptance rate: 0.240, 0.050, 0.010, Avg Draft acceptance rate: 10.0%\n"
)


@pytest.mark.parametrize("cause", ["WIRE-1", "TRAIN-2"])
def test_low_acceptance_is_cited_by_the_line_that_prints_it(cause: str) -> None:
    log = "".join(ENGINE.format(s=s) + SPEC.format(s=s) for s in range(0, 50, 10))
    document = judging.triaged({"launch.sh": LAUNCH, "server.log": log}, symptom="acceptance is low")
    finding = next(f for f in document.findings if f.cause == cause)
    assert finding.evidence
    assert all("Mean acceptance length: 1.30" in quote.quote for quote in finding.evidence)
