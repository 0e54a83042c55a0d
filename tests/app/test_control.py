"""The original that was put back is measured again: as fast as before, or said loudly that it is not."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.core.errors import EXIT_OK, EXIT_OUTSIDE
from specdoctor.core.launch import RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord, RequestRecord
from specdoctor.core.model import Risk
from specdoctor.core.operations import OnProgress
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.json_run import run_document
from specdoctor.render.report import report_markdown
from tests.app.investigating import MemoryStore, run_of, settings_for, simulated

WORLD = "graphs-off-by-flag"


class ComesBackSlower(SimulatedHost):
    """Something that no record holds is lost with the restart: every forward takes longer afterwards."""

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        physics = self.world.physics.model_copy(update={"gpu_factor": 1.6, "host_factor": 1.6})
        self.world = self.world.model_copy(update={"physics": physics})
        return super().restore(order, on_progress)


@pytest.mark.slow
def test_a_server_that_is_as_it_was_is_as_fast_as_it_was() -> None:
    run, _ = simulated(WORLD)
    control = run.ledger.control
    assert control is not None
    assert control.equal is True
    assert control.text.startswith("as fast as before: ")
    assert " % would show" in control.text
    document = run_document(run.ledger)
    assert document.restored is True
    assert document.control is not None
    assert document.control.ratio == pytest.approx(1.0, abs=0.05)
    sources = [m.source for m in run.ledger.measurements]
    assert sources.count("control") == 1
    before, after = (next(m for m in run.ledger.measurements if m.source == s) for s in ("bench", "control"))
    assert after.requests == before.requests // 2
    assert run.ledger.measured("original") == before
    assert run.ledger.verdict is not None
    assert "as fast as before" in dict(run.ledger.verdict.lines)["server"]


def test_a_server_that_came_back_slower_is_not_called_restored() -> None:
    host, store = ComesBackSlower(World.from_yaml(WORLD)), MemoryStore()
    run = run_of(host, store=store)
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == EXIT_OUTSIDE
    assert run.ledger.restores[-1].outcome.proved, "all recorded parts are equal"
    assert run.ledger.control is not None
    assert run.ledger.control.equal is False
    assert run_document(run.ledger).restored is False
    assert [m.source for m in run.ledger.measurements].count("control") == 2
    assert "seen in a second look" in run.ledger.control.text
    assert run.ledger.released, "nothing more can be put back; nothing is left on the host"
    assert run.ledger.verdict is not None
    assert "CAME BACK SLOWER" in dict(run.ledger.verdict.lines)["server"]
    assert "CAME BACK SLOWER" in report_markdown(store.kept)


def _stretched(record: RequestRecord, factor: float) -> RequestRecord:
    assert record.t_first is not None
    assert record.t_last is not None
    first, last = (record.t_send + factor * (t - record.t_send) for t in (record.t_first, record.t_last))
    return record.model_copy(update={"t_first": first, "t_last": last})


class SlowForAWhile(SimulatedHost):
    """Slower in the first benchmark after the restart, and then as it was: a disturbance that passes."""

    disturbed = False

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        self.disturbed = True
        return super().restore(order, on_progress)

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        record = super().bench(plan, on_progress)
        slowed, self.disturbed = self.disturbed, False
        if not slowed:
            return record
        slower = tuple(_stretched(r, 1.6) for r in record.requests)
        return record.model_copy(update={"requests": slower})


def test_a_difference_that_a_second_look_does_not_see_again_was_chance() -> None:
    run = run_of(SlowForAWhile(World.from_yaml(WORLD)), store=MemoryStore())
    start(run, RunSettings(symptom="slower than without speculation", allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == EXIT_OK
    assert [m.source for m in run.ledger.measurements].count("control") == 2
    assert run.ledger.control is not None
    assert run.ledger.control.equal is True
    assert run_document(run.ledger).restored is True
    assert "the first showed 0." in run.ledger.control.text


def test_without_permission_for_load_or_a_measurement_before_there_is_none() -> None:
    run, _ = simulated(WORLD, allow=Risk.READ)
    assert run.ledger.control is None
    assert run.ledger.restored is None


@pytest.mark.slow
def test_the_other_speed_of_a_server_whose_starts_differ_is_not_called_slower() -> None:
    """In this draw all starts but the restoring one are fast."""
    world = World.from_yaml("bimodal-starts")
    run = run_of(SimulatedHost(world, seed=4))
    start(run, settings_for(world))
    assert investigate(run, checkpoints=None) == EXIT_OK
    assert run.ledger.control is not None
    assert run.ledger.control.ratio is not None
    assert run.ledger.control.ratio.value < 0.8
    assert run.ledger.control.equal is None
    document = run_document(run.ledger)
    assert document.restored is True
    assert [(c.cause, c.status) for c in document.causes] == [("ENV-6", "supported")]
    assert run.ledger.verdict is not None
    told = dict(run.ledger.verdict.lines)["server"]
    assert "CAME BACK" not in told
    assert "equal starts fall into two here (ENV-6)" in told
