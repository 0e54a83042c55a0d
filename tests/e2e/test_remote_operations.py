"""The whole port over a host that is this machine: real programs, real processes, a connection that can break."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from specdoctor.core.errors import ConnectionLost, PolicyError, TargetError
from specdoctor.core.host import CommandResult
from specdoctor.core.launch import LaunchChange, LaunchOrder, ReadyRules, RestoreOrder
from specdoctor.core.measurement import BenchPlan, Prompt, PromptSet
from specdoctor.core.operations import Operations, Progress, SnapshotRequest
from specdoctor.core.server import ServerRef
from specdoctor.operations.remote import RemoteOperations
from specdoctor.transports.local import LocalHost
from tests.remote.workplace import PYTHON, FakeServer, Workplace, children, is_alive, opened, wait_for

RULES = ReadyRules(
    ready="ready to roll", failures=("hit an exception",), phases=(("loading weights", "Load weight begin"),)
)


class Clock:
    """Time that passes quickly while waiting for the host."""

    def __init__(self) -> None:
        self.slept = 0.0

    def now(self) -> float:
        return self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        time.sleep(min(seconds, 0.1))


class Line:
    """This machine behind a connection that notes every command, and breaks before those numbered in `broken`."""

    def __init__(self) -> None:
        self.local = LocalHost()
        self.calls: list[tuple[str, ...]] = []
        self.broken: set[int] = set()
        self.answer: CommandResult | None = None

    @property
    def name(self) -> str:
        return "local"

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        max_output_bytes: int = 64 * 1024 * 1024,
        on_line: Callable[[str], None] | None = None,
    ) -> CommandResult:
        self.calls.append(tuple(argv))
        if len(self.calls) in self.broken:
            raise ConnectionLost("the link broke")
        if self.answer:
            return self.answer
        return self.local.run(
            argv, stdin=stdin, timeout_s=timeout_s, max_output_bytes=max_output_bytes, on_line=on_line
        )

    def read_range(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        return self.local.read_range(path, offset=offset, length=length)

    def close(self) -> None:
        self.local.close()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    monkeypatch.setenv("HOME", str(tmp_path))
    yield from opened(tmp_path)


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def operations(line: Line) -> RemoteOperations:
    return RemoteOperations(line, clock=Clock(), interpreter=PYTHON, target="eagle-a")


def ref(server: FakeServer) -> ServerRef:
    return ServerRef.model_validate(server.ref)


def launch(server: FakeServer, action: str = "a1", **change: Any) -> LaunchOrder:
    return LaunchOrder(
        run="run1",
        action=action,
        server=ref(server),
        change=LaunchChange(label="test", **change),
        rules=RULES,
        ready_timeout_s=20,
        stop_timeout_s=2,
    )


def put_back(server: FakeServer, action: str = "r1") -> RestoreOrder:
    return RestoreOrder(run="run1", action=action, port=server.port, rules=RULES, ready_timeout_s=20, stop_timeout_s=2)


def test_is_the_port(operations: RemoteOperations) -> None:
    port: Operations = operations
    assert port.target == "eagle-a"


def test_a_snapshot_is_one_command(
    place: Workplace, line: Line, operations: RemoteOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = place.start("--api-key", "k3y-Very-Private")
    monkeypatch.setenv("HOST_PROC", str(place.proc_view(server.pid, *children(server.pid))))

    facts = operations.snapshot(SnapshotRequest())

    assert len(line.calls) == 1
    assert facts.http[str(server.port)]["/server_info"].status == 200
    assert facts.host.interpreter == PYTHON
    assert "k3y-Very-Private" not in facts.model_dump_json()
    operations.snapshot(SnapshotRequest(http=False))
    assert line.calls[1][0] == PYTHON, "the second goes straight to the Python that was found"


def test_a_host_without_python_still_gives_processes_and_logs(
    place: Workplace, line: Line, operations: RemoteOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = place.start()
    monkeypatch.setenv("HOST_PROC", str(place.proc_view(server.pid)))
    real = line.run

    def without_python(argv: Sequence[str], **options: Any) -> CommandResult:
        return real([*argv[:2], argv[2][argv[2].index('[ -n "$2" ]') :], *argv[3:]], **options)

    line.run = without_python  # type: ignore[method-assign]  # this line's host has no Python
    facts = operations.snapshot(SnapshotRequest(logs=(str(server.log),)))

    assert len(line.calls) == 1
    assert [process.pid for process in facts.processes] == [server.pid]
    assert "ready to roll" in facts.logs[0].text
    assert "no Python" in facts.problems[0]


def test_relaunch_measure_restore_release(place: Workplace, operations: RemoteOperations) -> None:
    server = place.start("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "1", "--fake-start-s", "0.3")
    heard: list[Progress] = []

    launched = operations.relaunch(launch(server, set_flags={"--speculative-num-steps": ("3",)}), heard.append)

    assert launched.status == "ready"
    assert launched.server is not None
    assert launched.argv[-3:] == ("3", "--fake-start-s", "0.3")
    assert launched.log.count("ready to roll") == 1
    assert launched.log_path is not None
    assert set(launched.phases) == {"loading weights", "ready"}
    assert launched.downtime_s > launched.start_s > 0.3
    assert "loading weights" in [progress.phase for progress in heard]
    assert operations.expected_start_s == launched.start_s

    prompts = PromptSet(name="one", digest="0", prompts=(Prompt(id="p", category="c", text="x"),))
    plan = BenchPlan(
        action="b1", server=launched.server, engine="sglang", model="fake", prompt_set=prompts, form="chat",
        concurrency=1, requests=2, warmup=1, max_new_tokens=12, log_path=launched.log_path,
    )  # fmt: skip
    record = operations.bench(plan, heard.append)
    assert [request.verify_ct for request in record.requests] == [5, 5]
    assert heard[-1] == Progress(phase="done", done=1, total=1, eta_s=0.0)
    watched = operations.watch(launched.server, seconds=0.2, log_path=launched.log_path)
    assert watched.foreign_requests == 0

    state = operations.state("run1")
    assert state.running == launched.server
    assert state.running_is_original is False
    with pytest.raises(PolicyError, match="the original server is not back"):
        operations.release("run1")

    restored = operations.restore(put_back(server), heard.append)
    assert restored.proved
    assert restored.status == "restored"
    assert restored.log.count("ready to roll") == 1
    assert operations.state("run1").running_is_original
    assert operations.release("run1")
    assert operations.state("run1").way_back is False


def test_a_link_that_stays_broken_is_raised_and_the_order_goes_on(place: Workplace, line: Line) -> None:
    impatient = RemoteOperations(line, clock=Clock(), interpreter=PYTHON, target="eagle-a", patience_s=0.0)
    server = place.start("--fake-start-s", "0.5")
    line.broken = {2}
    with pytest.raises(ConnectionLost):
        impatient.relaunch(launch(server), lambda progress: None)

    launched = impatient.relaunch(launch(server), lambda progress: None)

    assert launched.status == "ready"
    assert launched.log.count("Load weight begin") == 1
    again = impatient.relaunch(launch(server), lambda progress: None)
    assert again.server == launched.server
    assert impatient.restore(put_back(server), lambda progress: None).proved


def test_a_link_that_breaks_is_borne_and_what_is_unknown_is_looked_at_first(
    place: Workplace, line: Line, operations: RemoteOperations
) -> None:
    server = place.start("--fake-start-s", "0.3")
    heard: list[Progress] = []
    line.broken = {1, 2, 4, 5}
    launched = operations.relaunch(launch(server), heard.append)
    assert launched.status == "ready"
    assert launched.log.count("Load weight begin") == 1
    assert any("the connection is lost" in progress.phase for progress in heard)
    line.broken = {len(line.calls) + 1}
    assert operations.snapshot(SnapshotRequest(http=False)).taken_at > 0
    line.broken = {len(line.calls) + n for n in (1, 2, 4)}
    assert operations.restore(put_back(server), heard.append).proved
    operations.release("run1")


def test_a_start_that_fails_is_an_outcome(place: Workplace, operations: RemoteOperations) -> None:
    server = place.start()
    launched = operations.relaunch(launch(server, set_flags={"--fake-fail": ("no room",)}), lambda progress: None)
    assert launched.status == "failed"
    assert launched.server is None
    assert "ValueError: no room" in launched.log
    assert operations.expected_start_s is None
    assert operations.restore(put_back(server), lambda progress: None).proved


def test_a_refusal_is_an_outcome(place: Workplace, operations: RemoteOperations) -> None:
    server = place.start()
    order = launch(server)
    wrong = order.model_copy(update={"server": ServerRef(pid=server.pid, start_ticks=1, port=server.port)})
    launched = operations.relaunch(wrong, lambda progress: None)
    assert launched.status == "refused"
    assert "another process now" in launched.reason
    assert is_alive(server.pid)


def test_a_server_that_is_not_there_is_an_error_for_watch(operations: RemoteOperations) -> None:
    with pytest.raises(TargetError, match="process 1 is gone or is another one now") as failure:
        operations.watch(ServerRef(pid=1, start_ticks=7, port=1), seconds=1, log_path=None)
    assert failure.value.tried == "watch on eagle-a"
    assert failure.value.next_step


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "words"),
    [
        (b"", b"Traceback\nMemoryError\n", 1, "gave no answer (exit 1): Traceback | MemoryError"),
        (b"", b"", 127, "gave no answer (exit 127): nothing on standard error"),
        (b"", b"", 86, "has no Python 3.6 or later"),
        (b'{"schema": "spec', b"", 0, "is cut off after 16 bytes"),
        (b'{"processes": 5}', b"", 0, "has another form than expected"),
    ],
)
def test_an_answer_that_is_none_says_what_came_back(
    line: Line, operations: RemoteOperations, stdout: bytes, stderr: bytes, code: int, words: str
) -> None:
    line.answer = CommandResult(argv=("x",), exit_code=code, stdout=stdout, stderr=stderr)
    with pytest.raises(TargetError) as failure:
        operations.snapshot(SnapshotRequest())
    assert words in failure.value.message
    assert "eagle-a" in failure.value.message
    assert failure.value.next_step


def test_what_a_login_script_prints_does_no_harm(line: Line, operations: RemoteOperations) -> None:
    document = json.dumps({"schema": "specdoctor.facts/1", "taken_at": 3.0})
    line.answer = CommandResult(argv=("x",), exit_code=0, stdout=f"Welcome {{}}\n{document}\n".encode())
    assert operations.snapshot(SnapshotRequest()).taken_at == 3.0


def test_the_guard_hears_from_us_until_we_are_gone(place: Workplace, line: Line) -> None:
    server = place.start()
    guarded = RemoteOperations(line, clock=Clock(), interpreter=sys.executable, target="eagle-a", grace_s=2.0)
    launched = guarded.relaunch(launch(server), lambda progress: None)
    assert launched.server is not None
    pid = launched.server.pid
    time.sleep(4.0)
    assert is_alive(pid)
    guarded.close()
    wait_for(lambda: not is_alive(pid))
    wait_for(lambda: server.log.read_text().count("ready to roll") == 2)
    again = RemoteOperations(line, clock=Clock(), interpreter=sys.executable, target="eagle-a")
    story = wait_for(lambda: (found := again.state("run1").guard) and found.result and found)
    assert (story.phase, story.alive) == ("restored", False)
    assert story.outcome.proved
    assert again.state("run1").running_is_original
    assert again.release("run1")


def test_a_second_one_is_told_who_holds_the_server(place: Workplace, line: Line) -> None:
    server = place.start()
    first = RemoteOperations(line, clock=Clock(), interpreter=PYTHON, target="eagle-a", who="ml@laptop")
    assert first.relaunch(launch(server), lambda progress: None).status == "ready"
    order = launch(server).model_copy(update={"run": "run2"})
    second = RemoteOperations(line, clock=Clock(), interpreter=PYTHON, target="eagle-a")
    refused = second.relaunch(order, lambda progress: None)
    assert refused.status == "refused"
    assert "is held by specdoctor's run run1 of ml@laptop" in refused.reason
    assert first.restore(put_back(server), lambda progress: None).proved
    first.release("run1")
    first.close()
