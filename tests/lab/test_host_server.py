"""The practice server: a process tree that answers SGLang's HTTP API, and how it starts and ends."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specdoctor.lab.boot import Booted, boot, launch, wait_ready
from specdoctor.lab.errors import LabError
from specdoctor.lab.host import PracticeHost
from tests.lab.host_world import BASE, SPECULATION, eventually, lives, run_on, small_world, text_on
from tests.lab.serving import (
    PROMPT,
    Answer,
    call,
    children_of,
    end,
    events,
    free_port,
    generate,
    memory_used,
    running_on,
)

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeHost]:
    with PracticeHost(small_world(), state_dir=tmp_path_factory.mktemp("server-host"), time_scale=0.25) as started:
        yield started


@pytest.fixture(scope="module")
def server(host: PracticeHost) -> Booted:
    return boot(host, wait_s=20)


class TestProcesses:
    def test_the_launcher_reads_as_typed(self, host: PracticeHost, server: Booted) -> None:
        words = [host.expand(word) for word in host.world.launch.argv]
        words[words.index("--port") + 1] = str(server.port)
        shown = (host.state_dir / "proc" / str(server.pid) / "cmdline").read_bytes()
        assert shown == b"".join(word.encode() + b"\0" for word in words)

    def test_the_workers_have_titles_and_are_its_children(self, host: PracticeHost, server: Booted) -> None:
        titles = {}
        for entry in (host.state_dir / "proc").iterdir():
            if entry.name.isdecimal():
                stat = (entry / "stat").read_text()
                parent = int(stat[stat.rindex(")") + 2 :].split()[1])
                titles[(entry / "cmdline").read_bytes().rstrip(b"\0")] = (parent, (entry / "comm").read_text().strip())
        assert titles[b"sglang::scheduler"] == (server.pid, "sglang::schedul")
        assert titles[b"sglang::detokenizer"] == (server.pid, "sglang::detoken")

    def test_it_looks_as_old_as_the_world_says(self, host: PracticeHost, server: Booted) -> None:
        shown = (host.state_dir / "proc" / str(server.pid) / "stat").read_text()
        true = Path(f"/proc/{server.pid}/stat").read_text()
        ticks = [int(text[text.rindex(")") + 2 :].split()[19]) for text in (shown, true)]
        assert ticks[0] == max(ticks[1] - 600 * os.sysconf("SC_CLK_TCK"), 1)

    def test_it_may_use_all_cpus_of_the_world(self, host: PracticeHost, server: Booted) -> None:
        status = (host.state_dir / "proc" / str(server.pid) / "status").read_text()
        assert "Cpus_allowed_list:\t0-15\n" in status
        assert "Mems_allowed_list:\t0-1\n" in status

    def test_the_scheduler_holds_gpu_memory(self, host: PracticeHost, server: Booted) -> None:
        apps = text_on(
            host, "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader,nounits"
        )
        rows = {row.split(", ")[2]: int(row.split(", ")[1]) for row in apps.splitlines()}
        assert rows["sglang::scheduler"] > 1000
        assert rows["python"] == 10240

    def test_only_loopback_is_bound(self, server: Booted) -> None:
        table = Path("/proc/net/tcp").read_text()
        assert f"0100007F:{server.port:04X}" in table
        assert f"00000000:{server.port:04X}" not in table

    def test_the_log_shows_a_start_in_the_past(self, server: Booted) -> None:
        log = server.log.read_text()
        assert "The server is fired up and ready to roll!" in log
        stamp = next(line for line in log.splitlines() if "server_args=" in line)[1:20]
        age_s = time.time() - time.mktime(time.strptime(stamp, "%Y-%m-%d %H:%M:%S")) + time.timezone
        assert 590 < age_s < 640


class TestGenerate:
    def test_one_answer_with_its_meta_info(self, server: Booted) -> None:
        answer = generate(server.port)
        meta = answer.json["meta_info"]
        assert answer.status == 200
        assert len(answer.json["output_ids"]) == meta["completion_tokens"] == 12
        assert meta["finish_reason"] == {"type": "length", "length": 12}
        assert sum(meta["spec_correct_drafts_histogram"]) == meta["spec_verify_ct"]

    def test_a_stream_repeats_the_text_so_far_and_ends_as_the_whole_answer(self, server: Booted) -> None:
        whole = generate(server.port).json
        chunks = events(generate(server.port, stream=True))
        texts = [chunk["text"] for chunk in chunks]
        assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))
        assert (texts[-1], chunks[-1]["output_ids"]) == (whole["text"], whole["output_ids"])
        assert [chunk["meta_info"]["finish_reason"] is None for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
        assert "spec_verify_ct" not in chunks[0]["meta_info"]
        assert "spec_verify_ct" in chunks[-1]["meta_info"]

    def test_lists_are_answered_with_lists_in_order(self, server: Booted) -> None:
        single = generate(server.port, text="one").json["text"]
        batch = generate(server.port, text=["two", "one"]).json
        assert [part["text"] == single for part in batch] == [False, True]

    def test_each_prompt_may_have_its_own_parameters(self, server: Booted) -> None:
        parameters = [{"max_new_tokens": size, "temperature": 0, "ignore_eos": True} for size in (3, 5)]
        batch = generate(server.port, text=["a", "b"], sampling_params=parameters).json
        assert [part["meta_info"]["completion_tokens"] for part in batch] == [3, 5]

    def test_token_ids_are_a_prompt_too(self, server: Booted) -> None:
        assert generate(server.port, input_ids=[5, 6, 7]).json["meta_info"]["prompt_tokens"] == 3
        batch = generate(server.port, input_ids=[[5, 6], [7, 8, 9]]).json
        assert [part["meta_info"]["prompt_tokens"] for part in batch] == [2, 3]

    def test_n_copies_come_as_a_list(self, server: Booted) -> None:
        parameters = {"max_new_tokens": 2, "n": 3, "temperature": 0.5, "ignore_eos": True}
        assert len(generate(server.port, sampling_params=parameters).json) == 3

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (
                {"sampling_params": {"temperature": -1}},
                "temperature must be a non-negative finite number, got -1.",
            ),
            ({"sampling_params": {"max_new_tokens": -2}}, "max_new_tokens must be at least 0, got -2."),
            ({"text": None}, "Either text, input_ids or input_embeds should be provided."),
            ({"input_ids": list(range(5000))}, "longer than the model's context length (4096 tokens)"),
            ({"input_ids": list(range(5000)), "stream": True}, "longer than the model's context length"),
        ],
    )
    def test_bad_requests_are_named(self, server: Booted, body: dict[str, Any], words: str) -> None:
        answer = generate(server.port, **body)
        assert answer.status == 400
        assert words in answer.json["error"]["message"]

    def test_a_body_that_is_no_json_is_refused(self, server: Booted) -> None:
        assert call(server.port, "POST", "/generate", b"{").status == 400

    def test_a_client_that_leaves_frees_its_place(self, server: Booted) -> None:
        body = json.dumps({"text": PROMPT, "sampling_params": {"max_new_tokens": 3000, "ignore_eos": True}}).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = f"POST /generate HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            assert eventually(lambda: running_on(server.port) == 1)
        assert eventually(lambda: running_on(server.port) == 0)

    def test_a_request_can_be_aborted_by_name(self, server: Booted) -> None:
        answers: list[Answer] = []
        parameters = {"max_new_tokens": 3000, "ignore_eos": True}
        asking = threading.Thread(
            target=lambda: answers.append(generate(server.port, rid="long-one", sampling_params=parameters))
        )
        asking.start()
        assert eventually(lambda: running_on(server.port) == 1)
        call(server.port, "POST", "/abort_request", {"rid": "long-one"})
        asking.join(5)
        assert answers[0].json["meta_info"]["finish_reason"]["type"] == "abort"


class TestOpenAi:
    def test_completions(self, server: Booted) -> None:
        body = {"model": "tiny", "prompt": PROMPT, "max_tokens": 6, "temperature": 0, "ignore_eos": True}
        answer = call(server.port, "POST", "/v1/completions", body).json
        assert answer["object"] == "text_completion"
        assert answer["choices"][0]["finish_reason"] == "length"
        usage = answer["usage"]
        assert usage["completion_tokens"] == 6
        assert usage["total_tokens"] == usage["prompt_tokens"] + 6

    def test_chat_whole_and_streamed_say_the_same(self, server: Booted) -> None:
        body = {
            "model": "tiny",
            "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}],
            "max_tokens": 8,
            "temperature": 0,
            "ignore_eos": True,
        }
        whole = call(server.port, "POST", "/v1/chat/completions", body).json
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        chunks = events(call(server.port, "POST", "/v1/chat/completions", streamed))
        text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
        assert whole["choices"][0]["message"]["content"] == text
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
        assert chunks[-2]["choices"][0]["finish_reason"] == "length"
        assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], whole["usage"])

    def test_no_usage_in_a_stream_that_did_not_ask(self, server: Booted) -> None:
        body = {"prompt": PROMPT, "max_tokens": 3, "stream": True, "ignore_eos": True}
        chunks = events(call(server.port, "POST", "/v1/completions", body))
        assert all("usage" not in chunk for chunk in chunks)

    def test_errors_have_the_openai_shape(self, server: Booted) -> None:
        answer = call(server.port, "POST", "/v1/chat/completions", {"messages": []})
        assert answer.status == 400
        assert answer.json["object"] == "error"
        assert answer.json["type"] == "BadRequestError"


class TestOtherEndpoints:
    def test_what_the_server_says_about_itself(self, server: Booted) -> None:
        info = call(server.port, "GET", "/server_info").json
        assert info["speculative_num_draft_tokens"] == 4
        assert info["port"] == server.port
        assert call(server.port, "GET", "/model_info").json["is_generation"] is True
        assert call(server.port, "GET", "/v1/models").json["data"][0]["id"] == "tiny"
        assert call(server.port, "GET", "/get_load").json[0]["num_reqs"] == 0

    def test_an_old_path_answers_and_says_so_in_the_log(self, server: Booted) -> None:
        assert call(server.port, "GET", "/get_server_info").status == 200
        assert "Endpoint '/get_server_info' is deprecated" in server.log.read_text()

    def test_health_generates_a_token(self, server: Booted) -> None:
        before = server.log.read_text().count("Prefill batch")
        answer = call(server.port, "GET", "/health")
        assert (answer.status, answer.body) == (200, b"")
        assert server.log.read_text().count("Prefill batch") == before + 1

    def test_metrics_are_in_the_prometheus_format(self, server: Booted) -> None:
        answer = call(server.port, "GET", "/metrics")
        assert answer.kind.startswith("text/plain; version=0.0.4")
        assert b"sglang:num_running_reqs" in answer.body

    def test_the_cache_can_be_flushed(self, server: Booted) -> None:
        answer = call(server.port, "POST", "/flush_cache")
        assert answer.status == 200
        assert answer.body.startswith(b"Cache flushed.")

    def test_unknown_paths_and_methods(self, server: Booted) -> None:
        assert call(server.port, "GET", "/nothing").json == {"detail": "Not Found"}
        assert call(server.port, "GET", "/generate").status == 405

    def test_access_lines_are_written(self, server: Booted) -> None:
        call(server.port, "GET", "/v1/models")
        assert '"GET /v1/models HTTP/1.1" 200 OK' in server.log.read_text()


class TestStartsAndEnds:
    """Each starts a server of its own beside the shared one; GPU 1 is free enough for it."""

    def start(self, host: PracticeHost, *flags: str, name: str, base: list[str] = BASE) -> tuple[int, int, Path]:
        port = free_port()
        words = [host.expand(word) for word in [*base, *flags]]
        words[words.index("--port") + 1] = str(port)
        log = host.home / f"{name}.log"
        env = {"CUDA_VISIBLE_DEVICES": "1"}
        return launch(host, words, env=env, log=log), port, log

    def test_a_polite_stop_drains_and_leaves_nothing(self, host: PracticeHost, server: Booted) -> None:
        pid, port, log = self.start(host, name="polite")
        wait_ready(host, pid, log=log, timeout_s=20)
        workers = children_of(pid)
        used = int(memory_used(host, 1))
        answers: list[Answer] = []
        parameters = {"max_new_tokens": 60, "ignore_eos": True}
        asking = threading.Thread(target=lambda: answers.append(generate(port, sampling_params=parameters)))
        asking.start()
        assert eventually(lambda: running_on(port) == 1)
        os.kill(pid, signal.SIGTERM)
        assert eventually(lambda: not lives(pid), within_s=10)
        asking.join(5)
        assert answers[0].json["meta_info"]["completion_tokens"] == 60
        assert len(workers) == 2
        assert eventually(lambda: not any(lives(worker) for worker in workers))
        assert "SIGTERM received. signum=None frame=None. Draining requests and shutting down..." in log.read_text()
        assert used - int(memory_used(host, 1)) > 1000
        assert eventually(lambda: not (host.state_dir / "proc" / str(pid)).exists())

    def test_workers_notice_that_their_launcher_was_killed(self, host: PracticeHost, server: Booted) -> None:
        pid, _, log = self.start(host, name="orphans")
        wait_ready(host, pid, log=log, timeout_s=20)
        workers = children_of(pid)
        os.kill(pid, signal.SIGKILL)
        assert any(lives(worker) for worker in workers)
        assert eventually(lambda: not any(lives(worker) for worker in workers), within_s=2)

    def test_the_death_of_a_worker_ends_the_server(self, host: PracticeHost, server: Booted) -> None:
        pid, _, log = self.start(host, name="crash")
        wait_ready(host, pid, log=log, timeout_s=20)
        os.kill(children_of(pid)[0], signal.SIGKILL)
        assert eventually(lambda: not lives(pid), within_s=10)
        text = log.read_text()
        assert "crashed with exit code -9. Triggering SIGQUIT for cleanup..." in text
        assert text.rstrip().endswith(f"kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")

    def test_a_taken_port_is_found_out_after_the_load(self, host: PracticeHost, server: Booted) -> None:
        words = [host.expand(word) for word in BASE]
        words[words.index("--port") + 1] = str(server.port)
        quoted = " ".join(words)
        result = run_on(host, f"CUDA_VISIBLE_DEVICES=1 {quoted}")
        assert result.returncode == 1
        assert b"Load weight end" in result.stderr
        bind = (
            f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {server.port}): address already in use"
        )
        assert bind.encode() in result.stderr

    def test_a_missing_draft_ends_with_a_traceback_and_exit_1(self, host: PracticeHost) -> None:
        flags = [word.replace("draft", "absent") if word.startswith("{models}") else word for word in SPECULATION]
        result = run_on(host, " ".join(host.expand(word) for word in [*BASE, *flags]))
        assert result.returncode == 1
        assert result.stderr.decode().rstrip().splitlines()[-1].startswith("OSError: Repo id must be in the form")

    def test_an_unknown_flag_is_a_usage_error(self, host: PracticeHost) -> None:
        result = run_on(host, " ".join(host.expand(word) for word in [*BASE, "--no-such-flag"]))
        assert result.returncode == 2
        assert b"unrecognized arguments: --no-such-flag" in result.stderr

    def test_sglang_serve_starts_the_same_server(self, host: PracticeHost, server: Booted) -> None:
        pid, port, log = self.start(host, name="serve", base=["sglang", "serve", *BASE[3:]])
        wait_ready(host, pid, log=log, timeout_s=20)
        shown = (host.state_dir / "proc" / str(pid) / "cmdline").read_bytes().split(b"\0")
        assert [Path(word.decode()).name for word in shown[:3]] == ["python3", "sglang", "serve"]
        assert generate(port).status == 200
        end(pid)

    def test_an_api_key_is_asked_for(self, host: PracticeHost, server: Booted) -> None:
        pid, port, log = self.start(host, "--api-key", "sk-test", name="key")
        wait_ready(host, pid, log=log, timeout_s=20)
        right, wrong = {"Authorization": "Bearer sk-test"}, {"Authorization": "Bearer sk-other"}
        assert call(port, "GET", "/v1/models", headers=right).status == 200
        refused = call(port, "GET", "/v1/models", headers=wrong)
        assert (refused.status, refused.json) == (401, {"error": "Unauthorized"})
        assert generate(port).status == 401
        assert call(port, "GET", "/health").status == 200
        assert call(port, "GET", "/metrics").status == 404
        end(pid)

    def test_boot_says_why_a_server_did_not_come_up(self, tmp_path: Path) -> None:
        world = small_world(argv=[*BASE, "--mem-fraction-static", "0.001"])
        with PracticeHost(world, state_dir=tmp_path / "host") as host, pytest.raises(LabError) as caught:
            boot(host, wait_s=20)
        assert "--mem-fraction-static" in str(caught.value)
