"""A search over settings names the faults that all its launches were measured with."""

from __future__ import annotations

import pytest

from specdoctor.analysis.draft_setting import OFF
from specdoctor.analysis.tuned import tuned
from specdoctor.core.events import Observed, RunStarted
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ledger import Ledger
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting
from specdoctor.render.tuned import tune_document, tune_text

WIRED = Observation(
    check="layer-wiring", cause="WIRE-1", stance="supports", claim="trained on other states", binds=True, explains=True,
    about="accept_length", fix="write the right ids",
)  # fmt: skip


def found(observation: Observation) -> tuple[str, ...]:
    ledger = Ledger()
    ledger.apply(RunStarted(at=1.0, run="r", target="t", settings=RunSettings(), tool_version="1"))
    ledger.observations.append(Observed(observation=observation, evidence="E1"))
    made = tuned(ledger, [OFF])
    assert list(tune_document(made, run="r", target="t", launches={}, cached=False, reason="")["faults"]) == list(
        made.faults
    )
    assert ("every launch was measured with" in tune_text(made, launches={}, cached=False, width=200)) is bool(
        made.faults
    )
    return made.faults


def test_a_proved_fault_that_no_setting_repairs_is_named_with_its_repair() -> None:
    assert found(WIRED) == ("WIRE-1: trained on other states; repair it first, then search again: write the right ids",)


@pytest.mark.parametrize(
    "other",
    [
        {"stance": "suggests"},
        {"binds": False},
        {"about": "cycle"},
        {"remedy": Remedy(label="off", setting=SpecSetting())},
    ],
)
def test_what_is_not_proved_or_is_a_setting_is_not(other: dict[str, object]) -> None:
    assert found(WIRED.model_copy(update=other)) == ()
