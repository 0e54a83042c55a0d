"""Reports of a drafter tested alone that lie in a world say what the world's own drafter does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdoctor import lab
from specdoctor.app.drafter_alone import SCHEMA, EvalDocument
from specdoctor.lab.acceptance import at_position
from specdoctor.lab.world import Model, World, builtin_worlds

WORLDS = Path(lab.__file__).parent / "worlds"
REPORTING = [name for name in builtin_worlds() if SCHEMA in (WORLDS / f"{name}.yaml").read_text(encoding="utf-8")]


def _acceptance(model: Model, states: tuple[str, ...]) -> tuple[float, ...]:
    assert model.acceptance is not None
    if states == model.training.states:
        return model.acceptance.as_trained
    return model.acceptance.when_fed.get(" ".join(states), model.acceptance.otherwise)


@pytest.mark.parametrize("name", REPORTING)
def test_the_reports_are_documents_of_drafter_eval_and_true(name: str) -> None:
    models = World.from_yaml(name).models
    reports = [(model, text) for model in models for text in model.files.values() if SCHEMA in text]
    assert reports
    for model, text in reports:
        document = EvalDocument.model_validate(json.loads(text))
        assert document.fed
        for fed in document.fed:
            length, reached = 1.0, 1.0
            for step in fed.steps:
                assert step.own is not None
                assert step.own.low <= at_position(_acceptance(model, fed.states), step.step - 1) <= step.own.high
                reached *= step.own.value
                length += reached
            assert fed.accept_length is not None
            assert fed.accept_length.value == pytest.approx(length, abs=0.005)
