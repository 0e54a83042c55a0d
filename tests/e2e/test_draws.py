"""The environment's worlds once more, with other draws of noise, prompts and starts: right, or honestly short of it."""

from __future__ import annotations

import pytest

from specdoctor.core.model import Role, Verdict
from specdoctor.lab.world import World
from specdoctor.render.json_run import run_document
from tests.app.investigating import simulated
from tests.app.test_worlds import ONE_DRAW


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", sorted(ONE_DRAW))
def test_another_draw_is_answered_alike(name: str, seed: int) -> None:
    run, _ = simulated(name, seed=seed)
    truth, document = World.from_yaml(name).truth, run_document(run.ledger)
    assert document.verdict in (truth.verdict, Verdict.NOT_ENOUGH_EVIDENCE)
    explaining = {c.cause for c in document.causes if c.status == "supported" and c.role is Role.EXPLAINS}
    wanted = {c.id for c in truth.causes if c.role is Role.EXPLAINS}
    assert explaining == (wanted if document.verdict is Verdict.CAUSE else set())
    assert not {c.cause for c in document.causes if c.status == "supported"} & set(truth.forbidden)
