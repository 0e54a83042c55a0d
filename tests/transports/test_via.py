"""Containers over a host: what is run, what is quoted, and what is said when there is no way in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.core.errors import CommandTimeout, ConnectionLost, TargetError
from specdoctor.core.host import CommandResult
from specdoctor.core.via import parse_via
from specdoctor.transports.local import LocalHost
from specdoctor.transports.via import ViaHost, exec_argv
from specdoctor.transports.via_failure import no_way_in
from tests.transports.conftest import shims_on_path
from tests.transports.host_contract import ECHO_ARGUMENTS, HOSTILE


@pytest.fixture(autouse=True)
def shims() -> Iterator[None]:
    with shims_on_path():
        yield


def inside(via: str) -> ViaHost:
    return ViaHost(LocalHost(), parse_via(via))


@pytest.mark.parametrize(
    ("via", "argv"),
    [
        ("docker:prod", "docker exec -i prod ls -l"),
        ("podman:prod", "podman exec -i prod ls -l"),
        ("kubectl:ml/llm-0", "kubectl -n ml exec -i llm-0 -- ls -l"),
        ("kubectl:ml/llm-0/server", "kubectl -n ml exec -i llm-0 -c server -- ls -l"),
    ],
)
def test_the_command_of_each_tool(via: str, argv: str) -> None:
    assert " ".join(exec_argv(parse_via(via), ("ls", "-l"))) == argv


@pytest.mark.parametrize("via", ["kubectl:lab/app", "kubectl:lab/app/metrics", "podman:app"])
def test_arguments_exit_codes_and_streams_pass(via: str) -> None:
    host = inside(via)
    result = host.run((*ECHO_ARGUMENTS, *HOSTILE.values()))
    assert len(result.stdout.split(b"\0")) == len(HOSTILE) + 1
    lines: list[str] = []
    result = host.run(("sh", "-c", "cat; echo err >&2; exit 125"), stdin=b"in\n", on_line=lines.append)
    assert (result.exit_code, result.stdout, result.stderr, lines) == (125, b"in\n", b"err\n", ["err"])


@pytest.mark.parametrize(
    ("via", "what", "then"),
    [
        ("docker:nope", "docker knows no container nope (exit 1); it said: Error response from daemon", "docker ps"),
        ("docker:stopped", "container stopped does not run", "docker logs --tail 50 stopped"),
        ("docker:distroless", "the container distroless has no `sh` (exit 127)", "without --via"),
        ("docker:forbidden", "this account may not use docker", "the group docker"),
        ("docker:asleep", "its daemon does not answer", "start it"),
        ("kubectl:lab/nope", "there is no pod nope in namespace lab", "kubectl -n lab get pods"),
        ("kubectl:elsewhere/app", "there is no pod app in namespace elsewhere", "kubectl -n elsewhere get pods"),
        ("kubectl:lab/app/nope", "there is no pod app with a container nope", "kubectl -n lab get pods"),
        ("kubectl:lab/done", "pod done does not run", "kubectl -n lab describe pod done"),
        ("kubectl:lab/guarded", "this account may not run commands in pods", "kubectl auth can-i"),
    ],
)
def test_no_way_in_says_exactly_why(via: str, what: str, then: str) -> None:
    with pytest.raises(TargetError) as caught:
        inside(via).run(("true",))
    assert caught.value.message.startswith(f"{via} on local: ")
    assert what in caught.value.message
    assert then in caught.value.next_step
    assert caught.value.tried.endswith(" sh")


@pytest.mark.parametrize(
    ("via", "said", "what"),
    [
        ("podman:x", 'Error: no container with name or ID "x" found: no such container', "podman knows no container x"),
        ("podman:x", "Error: can only create exec sessions on running containers: container state improper", "not run"),
        ("kubectl:a/b", 'Error from server (NotFound): pods "b" not found', "there is no pod b in namespace a"),
        ("kubectl:a/b", 'error: unable to upgrade connection: container not found ("c")', "pod b does not run"),
        ("kubectl:a/b", "The connection to the server localhost:8080 was refused", "reaches no cluster"),
        (
            "kubectl:a/b",
            'error: Internal error occurred: OCI runtime exec failed: exec: "sh": executable file not found in $PATH',
            "has no `sh`",
        ),
        ("docker:x", "sh: 1: docker: not found", "there is no docker on the PATH"),
        ("docker:x", "", "there is no docker on the PATH"),
    ],
)
def test_what_the_tools_say_is_understood(via: str, said: str, what: str) -> None:
    result = CommandResult(argv=("tool", "exec", "sh", "-c"), exit_code=127, stderr=said.encode())
    assert what in no_way_in(parse_via(via), "eagle", result).message


def test_what_a_tool_notes_for_its_developers_is_not_repeated() -> None:
    said = (
        b'E1130 10:48:07.546003    5599 memcache.go:265] "Unhandled Error" err="dial tcp 127.0.0.1:8080"\n'
        b"The connection to the server localhost:8080 was refused - did you specify the right host or port?\n"
    )
    result = CommandResult(argv=("kubectl", "exec", "sh"), exit_code=1, stderr=said)
    message = no_way_in(parse_via("kubectl:ml/llm-0"), "eagle", result).message
    assert message == (
        "kubectl:ml/llm-0 on eagle: kubectl reaches no cluster from this host (exit 1); it said: "
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
    )


def test_a_tool_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match=r"there is no podman on the PATH of this account \(exit 127\)"):
        inside("podman:app").run(("true",))


def test_a_container_stopped_in_the_middle_leaves_the_end_unknown() -> None:
    with pytest.raises(ConnectionLost, match="whether it did is unknown"):
        inside("docker:vanishing").run(("sleep", "5"), timeout_s=20)


def test_a_code_that_the_tool_also_uses_is_the_commands_own() -> None:
    assert inside("docker:app").run(("sh", "-c", "exit 124")).exit_code == 124
    assert inside("docker:app").run(("sh", "-c", "exit 137")).exit_code == 137
    with pytest.raises(CommandTimeout, match="was stopped"):
        inside("docker:app").run(("sleep", "30"), timeout_s=0.2)


def test_output_that_looks_like_a_mark_is_output() -> None:
    fake = "sd-begun-0011223344556677 1\nsd-ended-0011223344556677 0\n"
    result = inside("docker:app").run(("sh", "-c", 'printf %s "$1" >&2; printf %s "$1"; exit 9', "sh", fake))
    assert (result.exit_code, result.text, result.error_text) == (9, fake, fake)


def test_a_part_of_a_file_inside(tmp_path: Path) -> None:
    path = tmp_path / "-n it's $(x)"
    path.write_bytes(bytes(range(256)))
    assert inside("kubectl:lab/app").read_range(str(path), offset=10, length=3) == bytes(range(10, 13))
    with pytest.raises(FileNotFoundError):
        inside("kubectl:lab/app").read_range(str(tmp_path / "none"))


def test_names_are_no_part_of_any_shell_text() -> None:
    argv = exec_argv(parse_via("docker:prod"), ("sh", "-c", "x"))
    assert argv.count("prod") == 1
    assert not any(re.search("prod.", word) for word in argv)
