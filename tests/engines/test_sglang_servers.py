"""Servers as one look at a host shows them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from specdoctor.core.facts import Facts, FileFacts, HttpReply, LogFacts, PackageFacts, ProcessFacts
from specdoctor.core.server import ServerView
from specdoctor.engines.sglang import engine
from tests.engines.sglang_data import excerpt

LINE = excerpt("adjusted.launch.txt").strip()
ARGV = tuple(shlex.split(LINE))
INFO = json.loads(excerpt("adjusted.server-info.json"))
LOG = excerpt("adjusted.log.txt")


def launcher(**fields: Any) -> ProcessFacts:
    base = {
        "pid": 3822, "ppid": 1, "start_ticks": 55, "argv": ARGV, "started_at": 1000.0, "cwd": "/srv",
        "exe": "/opt/venv/bin/python3", "stdout": "/logs/server.log", "listen_ports": (31120,),
    }  # fmt: skip
    return ProcessFacts.model_validate({**base, **fields})


SCHEDULER = ProcessFacts(pid=3900, ppid=3822, start_ticks=60, argv=("sglang::scheduler",))
FORKED = ProcessFacts(pid=3901, ppid=3822, start_ticks=61, argv=ARGV)


def living_log() -> str:
    """The log without its end: the server runs."""
    return LOG[: LOG.rindex("\n", 0, LOG.index("SIGTERM")) + 1]


def look(*processes: ProcessFacts, **fields: Any) -> tuple[ServerView, ...]:
    return engine.servers(Facts.model_validate({"processes": processes, **fields}))


def http(status: int = 200, body: dict[str, Any] | None = None) -> dict[str, dict[str, HttpReply]]:
    return {"31120": {"/server_info": HttpReply(status=status, body=json.dumps(INFO if body is None else body))}}


def test_a_running_server_is_read_from_process_and_endpoint() -> None:
    (view,) = look(
        launcher(), SCHEDULER, FORKED,
        http=http(),
        logs=(LogFacts(path="/logs/server.log", pid=3822, head=living_log()),),
        files={"/models/target/config.json": FileFacts(path="x", text='{"architectures": ["LlamaForCausalLM"]}'),
               "/models/eagle3/config.json": FileFacts(path="y", text='{"architectures": ["LlamaForCausalLMEagle3"]}')},
    )  # fmt: skip
    assert (view.engine, view.state, view.version) == ("sglang", "running", "0.5.17")
    assert view.ref is not None
    assert (view.ref.pid, view.ref.start_ticks, view.ref.port) == (3822, 55, 31120)
    assert view.asked_spec is not None
    assert view.spec is not None
    assert (view.asked_spec.draft_tokens, view.spec.draft_tokens) == (16, 2)
    assert {r.key: (r.rule, r.cause) for r in view.rewrites}["speculative_num_draft_tokens"] == (
        "chain-tokens",
        "CFG-3",
    )
    assert view.keeper.restartable
    assert view.target_config == {"architectures": ["LlamaForCausalLM"]}
    assert view.draft_config == {"architectures": ["LlamaForCausalLMEagle3"]}
    assert view.served_model == "lab-llama"
    assert view.log_path == "/logs/server.log"
    assert view.lifetime_accept_length == pytest.approx(1.8278, abs=1e-3)
    assert view.effective_source is not None
    assert "/server_info" in view.effective_source.where


def test_without_an_endpoint_the_log_gives_the_values_and_no_version() -> None:
    (view,) = look(launcher(), logs=(LogFacts(path="/logs/server.log", head=living_log()),))
    assert (view.version, view.version_range) == (None, ">=0.5.17,<0.5.19")
    assert view.state == "running"
    assert view.spec is not None
    assert view.spec.draft_tokens == 2
    assert view.effective_source is not None
    assert view.effective_source.line == 9


def test_a_refused_request_says_that_a_key_is_needed() -> None:
    (view,) = look(
        launcher(),
        http=http(status=401, body={}),
        logs=(LogFacts(path="/logs/server.log", pid=3822, head=living_log()),),
    )
    assert view.needs_api_key
    assert view.state == "running"
    assert view.effective["speculative_num_draft_tokens"] == 2


def test_a_server_that_still_loads_is_starting() -> None:
    head = LOG.split("[2026-11-29 18:47:34] max_total_num_tokens")[0]
    (view,) = look(launcher(listen_ports=()), SCHEDULER, logs=(LogFacts(path="/logs/server.log", pid=3822, head=head),))
    assert view.state == "starting"
    assert look(launcher(listen_ports=()))[0].state == "starting"


def test_a_log_of_an_older_run_says_nothing_of_the_process_that_took_its_place() -> None:
    (view,) = look(launcher(pid=5000), logs=(LogFacts(path="/logs/server.log", pid=5000, head=living_log()),))
    assert view.log is None
    assert view.state == "starting"


def test_a_log_whose_process_is_gone_is_a_server_that_is_down() -> None:
    (view,) = look(logs=(LogFacts(path="/logs/old.log", head=excerpt("no-draft.log.txt")),))
    assert (view.state, view.ref, view.keeper.restartable) == ("down", None, False)
    assert view.log is not None
    assert view.log.failure is not None
    assert view.log.failure.cause == "CFG-2"
    assert view.rewrites == ()
    assert look(logs=(LogFacts(path="/logs/vllm.log", head="INFO vllm serve started\n"),)) == ()


def test_several_servers_each_with_their_own_port_and_log() -> None:
    other = tuple(shlex.split("sglang serve --model-path /models/b --port 31200"))
    first, second = look(
        launcher(), SCHEDULER,
        launcher(pid=700, argv=other, started_at=2000.0, listen_ports=(), stdout="/logs/b.log"),
        ProcessFacts(pid=701, ppid=700, start_ticks=1, argv=("sglang::http",), listen_ports=(31200,)),
        http=http(),
    )  # fmt: skip
    assert first.ref is not None
    assert second.ref is not None
    assert (first.ref.port, second.ref.port) == (31120, 31200)
    assert second.state == "starting"


def test_a_config_file_is_part_of_what_was_asked() -> None:
    argv = ("sglang", "serve", "--model-path", "/models/target", "--config", "spec.yaml")
    text = "port: 31120\nspeculative_algorithm: EAGLE3\nspeculative_num_steps: 1\n"
    text += "speculative_eagle_topk: 1\nspeculative_num_draft_tokens: 16\n"
    (view,) = look(launcher(argv=argv), http=http(), files={"/srv/spec.yaml": FileFacts(path="spec.yaml", text=text)})
    assert view.asked_spec is not None
    assert view.asked_spec.draft_tokens == 16
    rewrite = {r.key: r for r in view.rewrites}["speculative_num_draft_tokens"]
    assert (rewrite.asked, rewrite.effective) == ("16", "2")
    assert rewrite.sources[0].where == "spec.yaml"


def test_a_config_file_that_was_not_read_leaves_the_asking_open() -> None:
    argv = ("sglang", "serve", "--model-path", "/models/target", "--port", "31120", "--config", "spec.yaml")
    (view,) = look(launcher(argv=argv), http=http())
    assert view.asked_spec is None
    assert view.rewrites == ()
    assert view.spec is not None
    assert view.spec.draft_tokens == 2


def package(name: str, version: str, **fields: Any) -> PackageFacts:
    return PackageFacts.model_validate({"name": name, "version": version, **fields})


def test_the_version_falls_back_to_the_package_of_the_servers_interpreter() -> None:
    (view,) = look(launcher(), packages={"/opt/venv/bin/python3": (package("sglang", "0.5.12"),)})
    assert view.version == "0.5.12"
    assert view.version_source is not None
    assert view.version_source.where == "/opt/venv/bin/python3"


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        ((package("sglang", "0.5.19"),), "0.5.19 is installed"),
        ((package("sglang", "0.5.17", record_mismatches=("sglang/srt/a.py",)),), "differ from what was installed"),
        (
            (package("sglang", "0.5.17", editable_url="file:///src", git_commit="abcdef1234567", git_dirty=True),),
            "editable install from file:///src at commit abcdef123456, with local changes",
        ),
        (
            (package("sglang", "0.5.17"), package("sgl_kernel", "0.3.21"), package("sglang-kernel", "0.4.5")),
            "both sgl-kernel and sglang-kernel",
        ),
    ],
)
def test_doubts_about_the_version_are_spelled_out(packages: tuple[PackageFacts, ...], says: str) -> None:
    (view,) = look(launcher(), http=http(), packages={"/opt/venv/bin/python3": packages})
    assert view.version == "0.5.17"
    assert any(says in doubt for doubt in view.version_doubts)


def test_a_development_build_and_a_log_of_another_version_are_doubted() -> None:
    (view,) = look(launcher(), http=http(body={**INFO, "version": "0.5.17.post1.dev3+g12"}))
    assert any("between releases" in doubt for doubt in view.version_doubts)
    (view,) = look(
        launcher(), http=http(body={**INFO, "version": "0.5.9"}),
        logs=(LogFacts(path="/logs/server.log", pid=3822, head=living_log()),),
    )  # fmt: skip
    assert any("the log's wording" in doubt for doubt in view.version_doubts)


def test_adaptive_speculation_is_said_to_move() -> None:
    (view,) = look(launcher(), http=http(body={**INFO, "speculative_adaptive": True}))
    assert any("speculative_adaptive" in doubt for doubt in view.version_doubts)


def test_secrets_of_the_document_are_masked() -> None:
    (view,) = look(launcher(), http=http(body={**INFO, "api_key": "sesame"}))
    assert view.effective["api_key"] == "***"


def test_no_server_is_an_empty_answer() -> None:
    assert look() == ()
    assert look(ProcessFacts(pid=5, ppid=1, start_ticks=1, argv=("bash", "-c", "sglang serve"))) == ()
