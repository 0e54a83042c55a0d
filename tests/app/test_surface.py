"""One server under several conditions: what the world makes of each is found, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.analysis.surface import Row
from specdoctor.app.benching import BenchSettings, Load, Side
from specdoctor.app.surface import OUTPUT, PLACE, SCHEMA, TEMPERATURE, conditions
from specdoctor.assembly.catalogue import all_engines
from specdoctor.core.errors import TargetError, UsageError
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.operations import OnProgress, SnapshotRequest
from specdoctor.core.ports import Scene
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World

SETTINGS = BenchSettings(loads=(Load(),))


class Uncounted(SimulatedHost):
    """A server whose answers do not tell what speculation did in them."""

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        record = super().bench(plan, on_progress)
        bare = tuple(r.model_copy(update={"verify_ct": None, "correct_drafts": None}) for r in record.requests)
        return record.model_copy(update={"requests": bare})


def side_of(host: SimulatedHost) -> Side:
    facts = host.snapshot(SnapshotRequest())
    view = next(view for engine in all_engines() for view in engine.servers(facts))
    return Side(host, Scene(view=view, facts=facts), "here")


def table(side: Side, settings: BenchSettings = SETTINGS) -> tuple[Row, ...]:
    return conditions(side, settings, (0.7,), on_block=lambda text: None, on_progress=lambda progress: None)


def world(**acceptance: Any) -> World:
    found = World.from_yaml("healthy-offbyone-convention")
    models = tuple(
        m.model_copy(update={"acceptance": m.acceptance.model_copy(update=acceptance)}) if m.acceptance else m
        for m in found.models
    )
    return found.model_copy(update={"models": models})


@pytest.mark.slow
@pytest.mark.parametrize(("odds", "says"), [(1.0, "no difference beyond noise"), (0.3, "lower"), (4.0, "higher")])
def test_each_condition_is_compared_with_its_own_reference(odds: float, says: str) -> None:
    rows = table(side_of(SimulatedHost(world(structured_odds=odds, temperature_drop=0.5))))
    assert [row.along for row in rows] == [TEMPERATURE] * 2 + [PLACE] * 2 + [OUTPUT] * 2
    assert [row.says for row in rows[::2]] == ["reference"] * 3
    assert [row.says for row in rows[1::2]] == ["lower", "no difference beyond noise", says]
    assert all(row.accept_length is not None and row.accept_length.n for row in rows)


@pytest.mark.slow
def test_a_server_that_counts_nothing_by_request_says_what_else_to_do() -> None:
    with pytest.raises(TargetError, match="do not say how many drafts"):
        table(side_of(Uncounted(world())), SETTINGS.model_copy(update={"requests": 2}))


@pytest.mark.slow
def test_answers_too_short_to_have_an_end_are_refused() -> None:
    with pytest.raises(UsageError, match="too short"):
        table(side_of(SimulatedHost(world())), SETTINGS.model_copy(update={"max_new_tokens": 60}))


def test_the_schema_is_one() -> None:
    import json

    assert json.loads(SCHEMA)["type"] == "object"
