"""vLLM servers as one look at a host shows them."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from specdoctor.core.facts import Facts, FileFacts, HttpReply, LogFacts, PackageFacts, ProcessFacts
from specdoctor.core.server import ServerView
from specdoctor.engines.vllm import engine
from tests.engines.vllm_data import excerpt

ARGV = tuple(word for word in shlex.split(excerpt("eagle3.launch.txt")) if not word.partition("=")[0].isupper())
LOG = excerpt("eagle3.log.txt")
CHILDREN = (
    ProcessFacts(pid=21315, ppid=21189, start_ticks=60, argv=("VLLM::EngineCore",)),
    ProcessFacts(pid=21340, ppid=21315, start_ticks=61, argv=("VLLM::Worker",)),
)


def launcher(**fields: Any) -> ProcessFacts:
    base = {"pid": 21189, "ppid": 1, "start_ticks": 55, "argv": ARGV, "started_at": 1000.0, "cwd": "/srv",
            "stdout": "/logs/server.log", "listen_ports": (8101,)}  # fmt: skip
    return ProcessFacts.model_validate({**base, **fields})


def living_log() -> str:
    return LOG[: LOG.index("[shutdown]")].rpartition("\n")[0] + "\n"


def look(*processes: ProcessFacts, **fields: Any) -> tuple[ServerView, ...]:
    return engine.servers(Facts.model_validate({"processes": processes, **fields}))


def http(**replies: HttpReply) -> dict[str, dict[str, HttpReply]]:
    paths = {
        "version": "/version",
        "models": "/v1/models",
        "metrics": "/metrics",
        "info": "/server_info?config_format=json",
    }
    return {"8101": {paths[name]: reply for name, reply in replies.items()}}


def test_a_running_server_is_read_from_process_and_endpoints() -> None:
    (view,) = look(
        launcher(), *CHILDREN,
        http=http(
            version=HttpReply(status=200, body='{"version":"0.32.0"}'),
            models=HttpReply(status=200, body='{"object":"list","data":[{"id":"tiny-target-wide"}]}'),
            metrics=HttpReply(status=200, body=excerpt("eagle3.metrics.prom")),
            info=HttpReply(status=200, body=excerpt("eagle3.server-info.json")),
        ),
        logs=(LogFacts(path="/logs/server.log", pid=21189, head=living_log()),),
        files={"/models/tiny-eagle3/config.json": FileFacts(path="x", text='{"architectures": ["Eagle3"]}')},
    )  # fmt: skip
    assert (view.engine, view.state, view.version) == ("vllm", "running", "0.32.0")
    assert view.ref is not None
    assert (view.ref.pid, view.ref.start_ticks, view.ref.port) == (21189, 55, 8101)
    assert view.spec is not None
    assert (view.spec.algorithm, view.spec.draft_steps) == ("EAGLE3", 3)
    assert view.effective["max_num_seqs"] == 8
    assert view.effective["compilation_config.cudagraph_mode"] == "NONE"
    assert view.effective_source is not None
    assert view.effective_source.where == "http://127.0.0.1:8101/server_info?config_format=json"
    assert view.lifetime_accept_length == pytest.approx(1 + 715 / 346)
    assert view.draft_config == {"architectures": ["Eagle3"]}
    assert view.served_model == "tiny-target-wide"
    assert view.keeper.restartable
    assert view.log_path == "/logs/server.log"


def test_without_the_development_endpoint_the_log_gives_the_values() -> None:
    (view,) = look(
        launcher(), *CHILDREN,
        http=http(version=HttpReply(status=200, body='{"version":"0.32.0"}'),
                  info=HttpReply(status=404, body='{"detail":"Not Found"}')),
        logs=(LogFacts(path="/logs/server.log", head=living_log()),),
    )  # fmt: skip
    assert view.state == "running"
    assert view.spec is not None
    assert view.spec.algorithm == "EAGLE3"
    assert view.effective_source is not None
    assert view.effective_source.where == "/logs/server.log"


def test_without_log_and_endpoint_the_launch_line_foretells() -> None:
    (view,) = look(launcher(), *CHILDREN)
    assert view.state == "starting"
    assert view.spec is not None
    assert (view.spec.algorithm, view.spec.draft_tokens) == ("EAGLE3", 4)
    assert view.effective == {}


def test_the_port_of_vllm_serve_is_8000_and_a_key_may_be_needed() -> None:
    (view,) = look(
        launcher(argv=("/venv/bin/python3", "/venv/bin/vllm", "serve", "/m"), listen_ports=(8000,)),
        http={"8000": {"/v1/models": HttpReply(status=401, body="{}"), "/version": HttpReply(status=200, body="{}")}},
    )
    assert view.ref is not None
    assert view.ref.port == 8000
    assert view.needs_api_key
    assert view.spec is not None
    assert not view.spec.on


def test_an_upgrade_without_a_restart_is_doubted() -> None:
    (view,) = look(
        launcher(),
        http=http(version=HttpReply(status=200, body='{"version":"0.31.0"}')),
        packages={"/venv/bin/python": (PackageFacts(name="vllm", version="0.32.0"),)},
    )
    assert view.version == "0.31.0"
    assert any("not restarted since" in doubt for doubt in view.version_doubts)


def test_a_dead_server_is_read_from_its_log() -> None:
    (view,) = look(logs=(LogFacts(path="/logs/old.log", head=excerpt("aux-two.log.txt")),))
    assert (view.state, view.version) == ("down", "0.32.0")
    assert view.log is not None
    assert view.log.failure is not None
    assert view.log.failure.cause == "WIRE-1"


def test_disaggregation_and_nodes_forbid_a_plain_restart() -> None:
    transfer = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_consumer"})
    (view,) = look(launcher(argv=("vllm", "serve", "/m", "--kv-transfer-config", transfer), listen_ports=(8000,)))
    assert view.keeper.kind == "disaggregation"
    assert not view.keeper.restartable


def test_a_process_of_another_engine_is_none() -> None:
    assert look(ProcessFacts(pid=1, ppid=0, start_ticks=1, argv=("python3", "-m", "sglang.launch_server"))) == ()
