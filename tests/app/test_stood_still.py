"""specdoctor stood still for longer than its guard waits (SIGSTOP, a laptop asleep): what it finds when it goes on."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.core.errors import ServerGone
from specdoctor.core.launch import LaunchOrder, LaunchOutcome, RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of
from tests.app.test_guarding import Guarded

pytestmark = pytest.mark.slow
WORLD = "graphs-off-by-flag"


class Slept(Guarded):
    """The host on which, once, in the first bench of a test launch, in that launch, or on the way back, all was put
    back meanwhile: by the guard, or by the guard and then `specdoctor restore`, which leaves nothing of the run."""

    def __init__(self, moment: str, *, by_hand: bool) -> None:
        super().__init__(World.from_yaml(WORLD))
        self.moment: str | None = moment
        self.by_hand = by_hand

    def _put_back(self, now: str) -> bool:
        if self.moment != now or (now == "bench" and not self._touched):
            return False
        self.moment = None
        if self.by_hand:
            self.restored_by_hand()
        else:
            self.guard_acts("restored")
        return True

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        if not self._put_back("bench"):
            return super().bench(plan, on_progress)
        if self.by_hand:
            raise ServerGone(f"nothing is known here of benchmark {plan.action}")
        at = self.clock.now()
        return BenchRecord(action=plan.action, started_at=at, ended_at=at, warmed_up=False, requests=(), stopped="told")

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        if self._put_back("relaunch"):
            return LaunchOutcome(action=order.action, status="undone", server=None, reason="removed")
        return super().relaunch(order, on_progress)

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        if self._put_back("restore"):
            return RestoreOutcome(action=order.action, status="refused", server=None, reason="nothing is known")
        return super().restore(order, on_progress)


@pytest.mark.parametrize(
    ("moment", "by_hand"),
    [("bench", False), ("bench", True), ("relaunch", False), ("relaunch", True), ("restore", True)],
)
def test_it_tells_what_happened_and_goes_on(moment: str, by_hand: bool) -> None:
    host, store = Slept(moment, by_hand=by_hand), MemoryStore()
    run = run_of(host, store=store)
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART))
    code = investigate(run, checkpoints=None)
    ledger = run.ledger
    assert code in (0, 3), ledger.ended
    assert ledger.restored is True
    assert [r.by for r in ledger.restores if r.by != "specdoctor"] == ["hand" if by_hand else "guard"]
    assert ledger.restarts >= 2
    assert ledger.verdict is not None
    assert dict(ledger.verdict.lines)["server"].startswith("as it was")
    assert not [m for m in ledger.measurements if m.requests == 0]
    host.story = None
    again = gone_on(store, host)
    first = again.ledger.relaunches[0].change.key
    assert again.ledger.measured(first) is not None, "what was cut off is made again where the budget allows it"


def gone_on(store: MemoryStore, host: Guarded) -> Run:
    run = run_of(host, store=store)
    resume(run, max_restarts=9)
    host.gone = False
    investigate(run, checkpoints=None)
    return run
