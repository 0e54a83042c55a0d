"""A host that refuses to make a launch, as when another run holds the server: it is not asked for ever."""

from __future__ import annotations

from specdoctor.app.investigation import investigate, start
from specdoctor.core.launch import LaunchOrder, LaunchOutcome
from specdoctor.core.operations import OnProgress
from specdoctor.core.policy import MOST_REFUSED_STARTS
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.lines import event_line
from tests.app.investigating import run_of, settings_for

HELD = "the server on port 30000 is held by run 8b9f of ml@laptop"


class Held(SimulatedHost):
    """A host whose server another run holds, for the first `times` launches."""

    times = 1000

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        if self.times:
            self.times -= 1
            return LaunchOutcome(action=order.action, status="refused", server=None, reason=HELD)
        return super().relaunch(order, on_progress)


def test_a_launch_that_the_host_refuses_is_given_up() -> None:
    world = World.from_yaml("graphs-off-by-flag")
    run = run_of(Held(world))
    start(run, settings_for(world, requests=2))
    assert investigate(run, checkpoints=None) == 3
    keys = [r.change.key for r in run.ledger.relaunches]
    assert keys
    assert all(keys.count(key) == MOST_REFUSED_STARTS for key in keys)
    assert any(HELD in refusal.why for refusal in run.ledger.refusals)
    assert run.ledger.restarts == 0
    assert not run.ledger.changed
    assert event_line(run.ledger.relaunches[0]).startswith("server not started, ")


def test_a_launch_that_was_refused_once_is_made() -> None:
    world = World.from_yaml("graphs-off-by-flag")
    host = Held(world)
    host.times = 1
    run = run_of(host)
    start(run, settings_for(world, requests=2))
    assert investigate(run, checkpoints=None) == 0
    assert run.ledger.restored is True
