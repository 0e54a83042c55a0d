"""A launch that was cut off counts as a restart; the command that is printed to go on carries the budget it needs."""

from __future__ import annotations

import re

import pytest

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.cli.going_on import going_on_words
from specdoctor.core.launch import LaunchOrder, LaunchOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of
from tests.app.test_guarding import Dying, Guarded, killed

pytestmark = pytest.mark.slow
WORLD = "graphs-off-by-flag"


class Interrupted(Guarded):
    """Somebody presses Ctrl-C, once, in the first benchmark of a test launch."""

    pressed = False

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        if self._touched and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return super().bench(plan, on_progress)


def begun(host: Interrupted, store: MemoryStore, **settings: object) -> Run:
    run = run_of(host, store=store)
    asked = {"symptom": "slower than without speculation", "allow": Risk.RESTART, **settings}
    start(run, RunSettings.model_validate(asked))
    return run


def gone_on(store: MemoryStore, host: Guarded, max_restarts: int | None) -> Run:
    run = run_of(host, store=store)
    resume(run, max_restarts=max_restarts)
    investigate(run, checkpoints=None)
    return run


def budget_in(words: str) -> int | None:
    found = re.search(r"--resume r-test --max-restarts (\d+)$", words)
    return int(found[1]) if found else None


def made_again(run: Run) -> bool:
    first = run.ledger.relaunches[0].change.key
    again = [r for r in run.ledger.relaunches[1:] if r.change.key == first and r.outcome.status == "ready"]
    return bool(again) and run.ledger.measured(first) is not None


def test_the_line_after_an_interruption_lets_the_launch_be_made_again() -> None:
    host, store = Interrupted(World.from_yaml(WORLD)), MemoryStore()
    run = begun(host, store)
    assert investigate(run, checkpoints=None) == 130
    assert run.ledger.restarts == 2
    needed = budget_in(going_on_words(run.ledger))
    assert needed == 5
    run = gone_on(store, host, needed)
    assert made_again(run)
    assert run.ledger.restored is True
    assert run.ledger.restarts <= needed


def test_without_it_the_refusal_says_what_would_do() -> None:
    host, store = Interrupted(World.from_yaml(WORLD)), MemoryStore()
    investigate(begun(host, store), checkpoints=None)
    run = gone_on(store, host, None)
    why = next(r.why for r in run.ledger.refusals if "restart budget" in r.why)
    needed = budget_in(why)
    assert needed == 5, why
    assert made_again(gone_on(store, host, needed))


def test_a_budget_that_is_large_enough_is_not_touched() -> None:
    host, store = Interrupted(World.from_yaml(WORLD)), MemoryStore()
    run = begun(host, store, max_restarts=9)
    investigate(run, checkpoints=None)
    assert going_on_words(run.ledger).endswith("--resume r-test")
    assert made_again(gone_on(store, host, None))


class Once(Guarded):
    """Its guard has undone the launch that was under way, and no later one."""

    undone = ""

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        self.undone = self.undone or order.action
        if order.action == self.undone:
            return super().relaunch(order, on_progress)
        return SimulatedHost.relaunch(self, order, on_progress)


def test_the_line_counts_the_start_that_the_guard_has_still_to_make() -> None:
    host, store = Once(World.from_yaml(WORLD)), Dying("action.started", "relaunch")
    killed(store, host)
    left = run_of(host, store=store)
    left.load()
    needed = budget_in(going_on_words(left.ledger))
    assert needed == 5
    host.guard_acts("restored")
    run = gone_on(store, host, needed)
    assert run.ledger.relaunches[0].outcome.status == "undone"
    assert run.ledger.restores[0].by == "guard"
    assert made_again(run), run.ledger.refusals
    assert run.ledger.restarts <= needed
