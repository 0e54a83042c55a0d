"""Predictions of runs that started more than one drafter: each from its own launches."""

from __future__ import annotations

import pytest

from specdoctor.analysis.draft_setting import OFF, chain, grid
from specdoctor.analysis.forecast import Forecast
from specdoctor.analysis.launches import all_launches, measured_families, measured_launches
from specdoctor.analysis.tune_plan import belief_of
from specdoctor.app.run import Run
from specdoctor.core.launch import LaunchChange
from specdoctor.render.predicted import Predicted, predict_document, predict_text
from tests.app.investigating import simulated


def repaired() -> Run:
    return simulated("rope-mismatch")[0]


def told(run: Run) -> list[Predicted]:
    families = measured_families(run.ledger, 1)
    return [
        Predicted(
            concurrency=1,
            launches=f,
            belief=belief_of(f.rows, grid(), concurrency=1, spread=0.05),
            among=len(families),
        )
        for f in families
    ]


@pytest.mark.slow
def test_a_repaired_drafter_and_a_broken_one_are_predicted_apart() -> None:
    run = repaired()
    broken, mended = told(run)
    measured = {
        m.evidence: m.figures.throughput.value for m in all_launches(run.ledger, 1) if m.figures.setting == chain(5)
    }
    low, high = measured.values()
    assert high > 1.5 * low
    for found, truth in ((broken, low), (mended, high)):
        assert [m.figures.setting for m in found.launches.rows] in ([chain(5), OFF], [OFF, chain(5)])
        assert isinstance(found.belief, Forecast)
        speed = found.belief.of(chain(5)).throughput
        assert speed.value == pytest.approx(truth, rel=0.05)
        assert speed.low < truth < speed.high
    assert broken.launches.family.as_found
    assert "rope_theta" in mended.launches.name
    text = predict_text([broken, mended], width=100)
    assert "the drafter as found, from" in text
    assert "rope_theta = 500000.0), from" in text
    assert [row["of"] for row in predict_document("r", [broken, mended])["results"]] == [
        broken.launches.name,
        mended.launches.name,
    ]


@pytest.mark.slow
def test_a_search_and_the_break_even_go_by_the_server_as_found() -> None:
    run = repaired()
    assert {m.key for m in measured_launches(run.ledger, 1)} == {
        "original",
        *(r.change.key for r in run.ledger.relaunches if r.spec is not None and not r.spec.on),
    }
    off = run.ledger.baseline(1)
    assert off is not None
    other = LaunchChange(label="off, other flags", set_env={"NCCL_P2P_DISABLE": "1"}, remove_flags=("--speculative-x",))
    ledger = run.ledger.__class__()
    ledger.relaunches = [*run.ledger.relaunches, run.ledger.relaunches[0].model_copy(update={"change": other})]
    ledger.measurements = [*run.ledger.measurements, off.model_copy(update={"launch_key": other.key, "id": "M99"})]
    assert ledger.baseline(1) == off
