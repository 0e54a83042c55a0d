"""Excerpts as people paste them: a line or two of a log, two logs under fences of one text."""

from __future__ import annotations

from specdoctor.assembly import judging

LAUNCH = 'vllm serve /m/big --speculative-config \'{"method":"eagle3","model":"/m/head","num_speculative_tokens":3}\'\n'
ENGINE = (
    "INFO 03-02 10:20:10 [loggers.py:257] Engine 000: Avg prompt throughput: {prompt} tokens/s, Avg generation "
    "throughput: {speed} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit "
    "rate: 0.0%\n"
)
SPEC = (
    "INFO 03-02 10:20:10 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.30, Accepted throughput: "
    "34.00 tokens/s, Drafted throughput: 78.00 tokens/s, Accepted: 340 tokens, Drafted: 784 tokens, Per-position "
    "acceptance rate: 0.700, 0.400, 0.200, Avg Draft acceptance rate: 43.3%\n"
)


def test_one_line_without_prefill_gives_a_speed_and_says_what_it_may_hide() -> None:
    log = ENGINE.format(prompt="0.0", speed="60.0") + SPEC
    facts = judging.triaged({"launch.sh": LAUNCH, "server.log": log}, symptom="").facts
    assert (facts["throughput_tok_s"], facts["step_ms"]) == (60.0, round(2300 / 60, 4))
    assert "idle time in it would make the true speed higher" in str(facts["throughput_tok_s_estimator"])
    prefill = ENGINE.format(prompt="9.0", speed="60.0") + SPEC
    assert "throughput_tok_s" not in judging.triaged({"server.log": prefill}, symptom="").facts


def test_two_logs_of_one_issue_are_an_arm_and_its_baseline() -> None:
    text = f"With EAGLE-3:\n```\n{LAUNCH}```\n```\n{ENGINE.format(prompt='0.0', speed='60.0')}{SPEC}```\n"
    text += f"without spec:\n```\n{ENGINE.format(prompt='0.0', speed='90.0')}```\n"
    facts = judging.triaged({"issue.md": text}, symptom="").facts
    assert (facts["throughput_tok_s"], facts["baseline_tok_s"]) == (60.0, 90.0)
    assert facts["step_ratio"] == 3.45
