"""Operations inside a container: a restart is refused before anything is sent."""

from __future__ import annotations

from specdoctor.core.launch import LaunchChange, LaunchOrder, ReadyRules
from specdoctor.core.server import ServerRef
from specdoctor.core.via import parse_via
from specdoctor.operations.container import ContainerOperations
from specdoctor.transports.recorded import RecordedHost


class Clock:
    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing should wait {seconds} s")


def test_a_restart_is_refused_before_anything_is_sent() -> None:
    host = RecordedHost({})
    inside = ContainerOperations(host, via=parse_via("podman:sglang"), clock=Clock(), target="ssh://eagle")
    order = LaunchOrder(
        run="7f3c",
        action="A1",
        server=ServerRef(pid=100, start_ticks=1, port=30000),
        change=LaunchChange(label="15 steps"),
        rules=ReadyRules(ready="ready", failures=(), phases=()),
        ready_timeout_s=10.0,
    )
    outcome = inside.relaunch(order, lambda _: None)
    assert (outcome.status, outcome.server) == ("refused", None)
    assert "reached through podman:sglang" in outcome.reason
    assert host.calls == []
