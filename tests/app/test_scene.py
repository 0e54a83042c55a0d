"""Which server is under study, and which must not be."""

from __future__ import annotations

import pytest

from specdoctor.app.preflight import server_findings
from specdoctor.app.scene import scene_of
from specdoctor.assembly import all_engines
from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World


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


@pytest.mark.parametrize("path", ["/home/ml/server.log", "/home/ml/specdoctor/action-A8.log", "/x/specdoctor/r/a.log"])
def test_a_log_of_the_users_own_says_nothing(path: str) -> None:
    assert scene_of(facts_with_log(path), engines=all_engines(), target="ssh://h").view.state == "running"
