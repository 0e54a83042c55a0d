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


def test_a_command_between_back_quotes_is_the_launch() -> None:
    text = "I run `llama-server -m a.gguf -md b.gguf --spec-type draft-simple --spec-draft-n-max 8` and it is slow.\n\n"
    text += "| n-max | T/s |\n|---|---|\n| none | 36 |\n| 1 | 47 |\n| 8 | 30 |\n"
    found = judging.triaged({"comment.md": text}, symptom="")
    assert (found.facts["draft_steps"], found.facts["best_draft_steps"]) == (8, 1)
    assert found.to_try is not None
    assert found.to_try.where == "comment.md:1"
    assert found.to_try.line.endswith("--spec-draft-n-max 1")


def test_sentences_beside_a_command_are_notes() -> None:
    text = f"We see less with the drafter than without it.\n\n{LAUNCH}\nwith: 56 tok/s\nwithout: 90 tok/s\n"
    found = judging.triaged({"mail.txt": text}, symptom="")
    assert {(t.value, t.role) for t in found.told} == {(56.0, "with speculation"), (90.0, "baseline")}
    assert found.facts["draft_steps"] == 3


def test_a_version_that_was_left_is_not_the_servers() -> None:
    text = "Since we went from vllm 0.9.0 to 0.11.0 it is slower: 142 tok/s before, now 97 tok/s, same prompts.\n\n"
    found = judging.triaged({"mail.txt": text + LAUNCH}, symptom="")
    assert found.engine.version is None
    assert any(f.cause == "VER-1" and f.evidence for f in found.findings)
    assert found.told_sums[0].startswith("97 tok/s is 0.68 times the 142 tok/s told of before")


def test_of_two_launches_without_a_log_the_one_that_speculates_is_judged() -> None:
    plain = "python -m vllm.entrypoints.openai.api_server --model Qwen2-7B-Instruct --port 9000\n"
    ngram = plain.replace("9000", "9002 --speculative_model [ngram] --num_speculative_tokens 5")
    found = judging.triaged({"launch.txt": f"{plain}\n{ngram}"}, symptom="slower than without")
    assert found.facts["draft_steps"] == 5
    assert any(f.cause == "LOAD-6" for f in found.findings)


def test_a_crash_below_its_command_is_a_log() -> None:
    crash = "(EngineCore_0 pid=812) ERROR 09-18 12:00:01 [core.py:718] "
    text = f"It does not start with two stages.\n\n{LAUNCH}\n{crash}EngineCore failed to start.\n"
    text += f"{crash}NotImplementedError: Speculative decoding is not supported with pipeline parallelism.\n"
    found = judging.triaged({"crash.txt": text}, symptom="")
    assert (found.state, found.findings[0].cause, found.findings[0].status) == ("down", "COMPAT-1", "supported")
