"""Facts that files give, each from its best source, and the servers that a folder tells of."""

from __future__ import annotations

import json

import pytest

from specdoctor.app.triage import TriageDocument
from specdoctor.app.triage_servers import mark_of, servers_of
from specdoctor.assembly import judging
from specdoctor.assembly.catalogue import all_engines
from specdoctor.readers.every import material_of
from specdoctor.readers.pieces import pieces_of

LAUNCH = (
    "python3 -m sglang.launch_server --model-path /m/big --speculative-algorithm EAGLE3 \\\n"
    "  --speculative-draft-model-path /m/head --speculative-num-steps 3 --speculative-eagle-topk 1 \\\n"
    "  --speculative-num-draft-tokens 4 --max-running-requests 64 --port 30000\n"
)
BASE = "python3 -m sglang.launch_server --model-path /m/big --port 30000\n"
TABLE = "config,concurrency,steps,topk,draft_tokens,accept_length,throughput_tok_s\n"


def log(*lines: tuple[int, float | None, float], queue: int = 0) -> str:
    """Decode lines as SGLang writes them: running requests, accept length (None without speculation), throughput."""
    out = ["[2026-06-25 16:20:01] The server is fired up and ready to roll!"]
    for second, (running, length, speed) in enumerate(lines):
        spec = f"accept len: {length:.2f}, accept rate: {(length - 1) / 3:.2f}, " if length is not None else ""
        out.append(
            f"[2026-06-25 16:21:{second:02d} TP0] Decode batch, #running-req: {running}, #token: {200 + 80 * second}, "
            f"token usage: 0.00, {spec}cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: {queue}"
        )
    return "\n".join(out) + "\n"


SPEC_LOG = log((1, 2.0, 5.0), (1, 2.0, 200.0), (1, 2.0, 200.0), (1, 2.0, 200.0), (1, 2.0, 200.0))
BASE_LOG = log((1, None, 5.0), (1, None, 120.0), (1, None, 120.0), (1, None, 120.0), (1, None, 120.0))


def triaged(files: dict[str, str]) -> TriageDocument:
    return judging.triaged(files, symptom="")


def test_whether_it_pays_is_said_where_the_figures_say_it() -> None:
    good = log(*((1, 3.2, 320.0) for _ in range(6)))
    unknown = triaged({"server.log": good, "launch.sh": LAUNCH})
    assert "whether speculation pays they do not say" in unknown.headline
    known = triaged({"server.log": good, "server_base.log": BASE_LOG, "launch.sh": LAUNCH, "launch_base.sh": BASE})
    assert known.headline.endswith("by these figures speculation gives 2.67 times the speed without")


def test_two_logs_give_gain_step_and_break_even() -> None:
    document = triaged(
        {"server.log": SPEC_LOG, "server_base.log": BASE_LOG, "launch.sh": LAUNCH, "launch_base.sh": BASE}
    )
    facts = document.facts
    assert (facts["accept_length"], facts["throughput_tok_s"], facts["baseline_tok_s"]) == (2.0, 200.0, 120.0)
    assert (facts["step_ms"], facts["speedup"]) == (10.0, pytest.approx(5 / 3, abs=1e-3))
    assert facts["baseline_step_ms"] == pytest.approx(25 / 3, abs=1e-3)
    assert facts["break_even_accept_length"] == pytest.approx(1.2, abs=1e-3)
    assert document.facts_from["accept_length"] == "server.log"
    assert document.facts_from["baseline_tok_s"] == "server_base.log"


def test_the_server_that_speculates_is_judged_whatever_its_name() -> None:
    found = servers_of(
        files := {"a.log": BASE_LOG, "b.log": SPEC_LOG, "start_b.sh": LAUNCH, "start_a.sh": BASE},
        material_of(files),
        all_engines(),
    )
    assert found is not None
    assert found.view.log_path == "b.log"
    assert [other.log_path for other in found.others] == ["a.log"]
    assert found.others[0].spec is None or not found.others[0].spec.on


def test_of_two_speculating_servers_the_one_that_is_not_the_other_is_judged() -> None:
    files = {"other_drafter_server.log": SPEC_LOG, "server.log": log((1, 1.0, 160.0), (1, 1.0, 160.0))}
    found = servers_of(files, material_of(files), all_engines())
    assert found is not None
    assert (found.view.log_path, len(found.others)) == ("server.log", 1)


def test_launch_lines_without_a_log_are_others() -> None:
    files = {"server.log": SPEC_LOG, "launch.sh": f"# before\n{BASE}\n# now\n{LAUNCH}"}
    found = servers_of(files, material_of(files), all_engines())
    assert found is not None
    assert found.view.asked["speculative_num_steps"] == "3"
    assert [(other.log, other.asked_source.line if other.asked_source else 0) for other in found.others] == [(None, 2)]


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("server.log", ""), ("launch.sh", ""), ("server_base.log", "base"), ("baseline.log", "base"),
        ("launch_base.sh", "base"), ("base/server.log", "base"), ("server_c.log", "c"), ("run_new.txt", ""),
    ],
)  # fmt: skip
def test_marks_of_names(name: str, mark: str) -> None:
    assert mark_of(name) == mark


def test_a_table_without_any_log() -> None:
    table = f"{TABLE}base,1,0,0,0,,200\nbase,8,0,0,0,,700\neagle3,1,3,1,4,1.9,150\neagle3,8,3,1,4,1.9,500\n"
    facts = triaged({"bench.csv": table, "launch.sh": LAUNCH}).facts
    assert (facts["throughput_tok_s"], facts["baseline_tok_s"], facts["speedup"]) == (150.0, 200.0, 0.75)
    assert (facts["accept_length"], facts["baseline_step_ms"]) == (1.9, 5.0)
    assert facts["step_ms"] == pytest.approx(12.667, abs=1e-3)
    assert facts["step_ratio"] == facts["break_even_accept_length"] == pytest.approx(2.533, abs=1e-3)
    assert facts["draft_acceptance_rate"] == pytest.approx(0.3)


def test_the_row_of_the_launch_line_counts_and_nobody_elses() -> None:
    table = f"{TABLE}base,1,0,0,0,,100\nx,1,7,4,16,2.5,190\nx,1,3,1,4,1.9,150\npublished,1,3,1,4,3.0,400\n"
    facts = triaged({"bench.csv": table, "launch.sh": LAUNCH}).facts
    assert (facts["throughput_tok_s"], facts["accept_length"]) == (150.0, 1.9)


def test_the_best_of_a_sweep() -> None:
    table = "config,k,accept_length,tpot_ms\nbase,0,,7.0\nx,2,2.3,4.3\nx,3,2.8,4.1\nx,4,3.0,4.05\nx,5,3.3,4.2\n"
    document = triaged({"t.csv": table})
    assert (document.facts["best_draft_steps"], document.facts["baseline_step_ms"]) == (4, 7.0)
    assert document.facts_from["best_draft_steps"] == "t.csv:5"


def test_counters_give_what_was_added_between_two_dumps() -> None:
    def dump(drafts: int, drafted: int, accepted: int, tokens: int) -> str:
        return (
            f"vllm:generation_tokens_total {tokens}\nvllm:spec_decode_num_drafts_total {drafts}\n"
            f"vllm:spec_decode_num_draft_tokens_total {drafted}\n"
            f"vllm:spec_decode_num_accepted_tokens_total {accepted}\n"
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="0"}} {accepted}\n'
        )

    files = {"after.prom": dump(150, 150, 90, 900), "before.prom": dump(50, 50, 50, 100)}
    facts = triaged(files).facts
    assert (facts["accept_length"], facts["draft_acceptance_rate"]) == (1.4, 0.4)
    assert facts["per_position_acceptance"] == [0.4]
    whole = triaged({"after.prom": files["after.prom"]}).facts
    assert (whole["accept_length"], whole["draft_acceptance_rate"]) == (1.6, 0.6)


def test_timings_of_one_answer() -> None:
    timings = {"predicted_n": 200, "predicted_per_second": 18.0, "draft_n": 300, "draft_n_accepted": 60}
    facts = triaged({"t.json": json.dumps({"timings": timings})}).facts
    assert (facts["draft_acceptance_rate"], facts["throughput_tok_s"]) == (0.2, 18.0)
    assert facts["accept_length"] == pytest.approx(200 / 140, abs=1e-3)
    assert facts["step_ms"] == pytest.approx(1000 * 200 / 140 / 18, abs=0.01)


def test_limits_and_vocabularies_of_both_models() -> None:
    target = {"architectures": ["LlamaForCausalLM"], "vocab_size": 128256, "max_position_embeddings": 131072}
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "vocab_size": 128256, "draft_vocab_size": 32000,
             "max_position_embeddings": 2048}  # fmt: skip
    files = {"launch.sh": LAUNCH, "t.json": json.dumps(target), "d.json": json.dumps(draft)}
    document = triaged(files)
    assert (document.facts["vocab_target"], document.facts["vocab_draft"]) == (128256, 32000)
    assert (document.facts["context_limit_target"], document.facts["context_limit_draft"]) == (131072, 2048)
    assert document.facts_from["vocab_draft"] == "d.json"


def test_what_files_cannot_give_is_absent() -> None:
    assert triaged({"notes.txt": "It is slow.\n"}).facts == {}


def test_tensors_beside_the_log_are_seen_by_the_checks_of_a_drafter() -> None:
    target = {"architectures": ["LlamaForCausalLM"], "vocab_size": 128256, "hidden_size": 64, "num_hidden_layers": 30}
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "vocab_size": 128256, "draft_vocab_size": 32000,
             "hidden_size": 64, "num_hidden_layers": 1, "tie_word_embeddings": False}  # fmt: skip
    tensors = "fc.weight BF16 [64, 192]\nmidlayer.input_layernorm.weight BF16 [64]\nnorm.weight BF16 [64]\n"
    files = {
        "launch.sh": LAUNCH,
        "server.log": log((1, 1.0, 100.0), (1, 1.0, 100.0)),
        "target_config.json": json.dumps(target, indent=1),
        "config.json": json.dumps(draft, indent=1),
        "tensors.txt": tensors,
    }
    cited = {quote.source for finding in triaged(files).findings for quote in finding.evidence}
    assert cited <= set(files)
    assert any(finding.cause == "WIRE-2" for finding in triaged(files).findings)


def test_the_identity_is_written_out_and_two_ways_to_a_figure_are_compared() -> None:
    files = {"server.log": SPEC_LOG, "launch.sh": LAUNCH}
    written, *others = triaged(files).identity
    assert (written.holds, others) == (None, [])
    pooled = "(pooled over 4 clean decode lines at 1 running request)"
    assert written.text == f"200 tok/s = 2 tokens / 10 ms {pooled}"
    header = "config,concurrency,steps,accept_length,throughput_tok_s,tpot_ms\n"
    table = f"{header}base,1,0,,120,8.3\neagle3,1,3,2.0,160,5.0\n"
    found = triaged({**files, "bench.csv": table}).identity
    assert [check.holds for check in found] == [False, False, True, True]
    assert "160 tok/s and 1 / 5 ms = 200 differ" in found[1].text


def test_a_shared_launch_file_gives_each_log_its_own_command() -> None:
    files = {"server.log": SPEC_LOG, "baseline.log": BASE_LOG, "launch.sh": f"# base\n{BASE}\n# spec\n{LAUNCH}"}
    found = servers_of(files, material_of(files), all_engines())
    assert found is not None
    assert found.view.asked["speculative_num_steps"] == "3"
    (other,) = found.others
    assert (other.log_path, other.asked.get("speculative_algorithm"), other.asked["port"]) == (
        "baseline.log",
        None,
        "30000",
    )


def test_the_line_to_try_undoes_the_first_fault_that_a_flag_undoes() -> None:
    table = "config,k,accept_length,tpot_ms\nbase,0,,7.0\nx,1,1.8,4.6\nx,2,2.3,4.3\nx,3,2.4,4.9\n"
    found = triaged({"t.csv": table, "launch.sh": LAUNCH}).to_try
    assert found is not None
    assert "--speculative-num-steps 2" in found.line
    assert triaged({"t.csv": table}).to_try is None


def test_what_was_not_read_is_named() -> None:
    document = judging.triaged({"server.log": SPEC_LOG}, symptom="", problems={"core.1": "is no text"})
    assert document.unread == {"core.1": "is no text"}


ISSUE = (
    "We lose with EAGLE-3. Our server:\n\n```bash\n{launch}```\n\nlog:\n\n```\n{log}```\n\nmeasured\n\n"
    "| config | tok/s |\n|---|---|\n| base | 120 |\n| eagle3 | 160 |\n"
)


def test_an_issue_with_fenced_blocks_is_taken_apart() -> None:
    text = ISSUE.format(launch=LAUNCH, log=SPEC_LOG)
    document = triaged({"issue.md": text})
    assert (document.engine.name, document.facts["draft_steps"], document.facts["accept_length"]) == ("sglang", 3, 2.0)
    assert (document.facts["baseline_tok_s"], document.facts["throughput_tok_s"]) == (120.0, 160.0)
    where, _, line = document.facts_from["running_requests_max"].partition(":")
    assert (where, "#running-req: 1" in text.split("\n")[int(line) - 1]) == ("issue.md", True)
    cited = [quote for finding in document.findings for quote in finding.evidence]
    assert all(quote.quote in text.split("\n")[quote.line - 1] for quote in cited)
    assert {quote.source for quote in cited} <= {"issue.md"}


def test_a_command_pasted_above_its_log() -> None:
    facts = triaged({"stdin": f"$ {LAUNCH}\n{SPEC_LOG}"}).facts
    assert (facts["draft_steps"], facts["accept_length"], facts["max_running_requests"]) == (3, 2.0, 64)


@pytest.mark.parametrize("before", ["", "$ ", "# ", "> ", "> $ ", "    ", "root@gpu1:/srv# "])
@pytest.mark.parametrize("log_first", [False, True])
def test_a_command_in_a_mail_with_one_line_of_log(before: str, log_first: bool) -> None:
    command = f"{before}docker run --gpus all \\\n{'> ' if '>' in before else ''}  vllm/vllm-openai --enforce-eager\n"
    log = "INFO 11-20 10:11:12 [loggers.py:123] Engine 000: Avg generation throughput: 31.1 tokens/s\n"
    text = "Hi! We run\n" + (log + command if log_first else command + log) + "and it is slow.\n"
    pieces, behind = pieces_of({"mail": text})
    (where,) = behind
    assert pieces[where].split() == ["docker", "run", "--gpus", "all", "\\", "vllm/vllm-openai", "--enforce-eager"]
    assert ("docker" in pieces["mail"], log in pieces["mail"]) == (False, True)
    assert "Hi! We run" in pieces["mail"]
    assert len(pieces[where].split("\n")) == len(text.split("\n"))


def test_a_llama_server_typed_above_two_lines_of_its_log() -> None:
    log = "       eval time =    9123.10 ms /   256 tokens (   35.64 ms per token,    28.06 tokens per second)\n"
    pieces, behind = pieces_of({"t": f"# old: $ llama-server -m b\n  $ llama-server -m a -md b --draft-max 16\n{log}"})
    assert [pieces[where].strip() for where in behind] == ["llama-server -m a -md b --draft-max 16"]


def test_a_launch_script_stays_whole() -> None:
    script = f"#!/bin/sh\nexport A=1\ncd /srv\n{LAUNCH}wait\n"
    assert pieces_of({"launch.sh": script}) == ({"launch.sh": script}, {})


def test_the_row_that_was_started_as_the_launch_line_says_is_the_arm() -> None:
    table = "kv-cache-dtype,accept_length,throughput_tok_s\nauto,2.71,118.2\nfp8,1.82,84.5\n"
    launch = (
        "vllm serve /m --kv-cache-dtype fp8 --speculative-config "
        '\'{"method":"eagle3","model":"/h","num_speculative_tokens":3}\'\n'
    )
    assert triaged({"t.csv": table, "launch.sh": launch}).facts["throughput_tok_s"] == 84.5


def test_a_table_that_contradicts_the_log_is_told_by_how_much_and_not_explained_by_more_requests() -> None:
    table = "config,concurrency,throughput_tok_s\neagle3,1,390\nbaseline,1,120\n"
    document = triaged({"server.log": SPEC_LOG, "launch.sh": LAUNCH, "bench.csv": table})
    said = [check.text for check in document.identity]
    assert "bench.csv says 390 tok/s at one request, server.log 200: 1.95 times, they disagree" in said
    assert not any("requests" in text for text in said)
    assert not {"step_ratio", "break_even_accept_length"} & set(document.facts)


def test_several_requests_are_written_out_where_the_table_names_them() -> None:
    table = "config,concurrency,accept_length,throughput_tok_s\neagle3,4,2.0,800\nbaseline,4,,500\n"
    document = triaged({"launch.sh": LAUNCH, "bench.csv": table})
    assert [check.text for check in document.identity] == ["800 tok/s = 2 tokens / 10 ms x 4 requests"]
