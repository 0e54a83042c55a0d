"""Which server is under study, and which must not be."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.preflight import server_findings
from specdoctor.app.scene import scene_of
from specdoctor.assembly.catalogue import all_engines
from specdoctor.assembly.judging import preflight
from specdoctor.core.errors import EXIT_OUTSIDE, TargetError
from specdoctor.core.facts import Facts, LeaseFacts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import run_of


def facts_with_log(path: str) -> Facts:
    """A host whose server writes to this file."""
    facts = SimulatedHost(World.from_yaml("healthy"), seed=1).snapshot(SnapshotRequest())
    processes = tuple(p.model_copy(update={"stdout": path}) for p in facts.processes)
    return facts.model_copy(update={"processes": processes})


@pytest.mark.parametrize(
    "path",
    [
        "/home/ml/.local/state/specdoctor/7f3c/action-A8.log",
        "/var/tmp/specdoctor-1000/7f3c/action-A8.log",
    ],
)
def test_a_test_launch_of_another_run_is_refused_and_named(path: str) -> None:
    facts = facts_with_log(path)
    with pytest.raises(TargetError, match="test launch of specdoctor's run 7f3c") as refused:
        scene_of(facts, engines=all_engines(), target="ssh://h", own_run="11aa")
    assert refused.value.next_step.endswith("specdoctor investigate --resume 7f3c")
    view = scene_of(facts, engines=all_engines(), target="ssh://h", own_run="7f3c").view
    (restart,) = [f for f in server_findings(view, facts) if f.name == "tier restart"]
    assert (restart.state, restart.then) == ("no", "specdoctor investigate --resume 7f3c")


@pytest.mark.parametrize("up", [True, False])
def test_a_server_that_another_run_holds_is_refused_and_its_holder_named(up: bool) -> None:
    facts = facts_with_log("/home/ml/server.log")
    port = next(iter(facts.processes[0].listen_ports))
    lease = LeaseFacts(run="7f3c", port=port, who="ml@laptop", user="ml")
    facts = facts.model_copy(update={"leases": (lease,)} | ({} if up else {"processes": (), "http": {}}))
    with pytest.raises(TargetError, match=r"held by specdoctor's run 7f3c of ml@laptop \(ml on this host\)"):
        scene_of(facts, engines=all_engines(), target="ssh://h", own_run="11aa")
    assert scene_of(facts, engines=all_engines(), target="ssh://h", own_run="7f3c")
    assert scene_of(facts, engines=all_engines(), target="ssh://h")


@pytest.mark.parametrize("path", ["/home/ml/server.log", "/home/ml/specdoctor/action-A8.log", "/x/specdoctor/r/a.log"])
def test_a_log_of_the_users_own_says_nothing(path: str) -> None:
    assert scene_of(facts_with_log(path), engines=all_engines(), target="ssh://h").view.state == "running"


class Twice(SimulatedHost):
    """A host on which the same server is found a second time, on another port."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        facts = super().snapshot(request)
        (server,) = [p for p in facts.processes if p.listen_ports]
        argv = tuple("30001" if word == "30000" else word for word in server.argv)
        second = server.model_copy(update={"pid": server.pid + 1, "listen_ports": (30001,), "argv": argv})
        return facts.model_copy(update={"processes": (*facts.processes, second)})


def test_a_run_that_cannot_choose_says_how_to() -> None:
    run = run_of(Twice(World.from_yaml("graphs-off-by-flag"), seed=1))
    start(run, RunSettings())
    assert investigate(run, checkpoints=None) == EXIT_OUTSIDE
    assert run.ledger.ended is not None
    assert "2 servers were found" in run.ledger.ended.reason
    assert run.ledger.ended.reason.endswith("choose one with --server-port")


def test_another_port_than_the_servers_is_said_with_what_there_is() -> None:
    facts = facts_with_log("/home/ml/server.log")
    port = next(iter(facts.processes[0].listen_ports))
    with pytest.raises(TargetError, match=rf"no inference server was found on port 1 \(there is port {port}: "):
        scene_of(facts, engines=all_engines(), target="ssh://h", port=1)
    found, servers = preflight(facts, port=1)
    assert servers == 0
    assert f"there is port {port}" in found[-1].text
    assert preflight(facts, port=port)[1] == 1
