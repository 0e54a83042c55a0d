"""A search ends with one answer: the verdict, the list of runs, the exit code and what `tune` prints agree."""

from __future__ import annotations

import shlex

import pytest

from specdoctor.analysis.draft_setting import OFF, grid
from specdoctor.analysis.forecast import Forecast, forecast
from specdoctor.analysis.tuned import _why
from specdoctor.app.run import Run
from specdoctor.lab.random_world import random_world
from specdoctor.render.json_run import run_json
from specdoctor.render.tables import run_row
from specdoctor.render.tuned import tune_text
from specdoctor.render.verdict import verdict_text
from tests.analysis.test_forecast import BASELINE, LONG, SHORT
from tests.app.test_tune import NEVER_PAYS, PAYS, outcome, search, searched


def said(run: Run) -> tuple[str, str, int]:
    """The verdict in words, the state in the list of runs, the exit code."""
    ledger = run.ledger
    row = run_row(run.store.events(run.id))
    assert ledger.verdict is not None
    assert ledger.ended is not None
    assert row is not None
    return verdict_text(ledger.verdict, width=400), row.state, ledger.ended.exit_code


@pytest.mark.parametrize("seed", [PAYS, pytest.param(NEVER_PAYS, marks=pytest.mark.slow)])
def test_an_answer_is_the_verdict(seed: int) -> None:
    run = searched(seed)
    (found,) = outcome(run).tuned.results
    words, state, code = said(run)
    assert (state, code) == ("answered", 0)
    assert f"best      at concurrency 1: {found.words}" in words
    assert found.words in tune_text(outcome(run).tuned, launches={}, cached=False, width=400)
    shown = tune_text(outcome(run).tuned, launches=outcome(run).launches, cached=False, width=60)
    pasted = shown.split("start it with the next line\n")[1].split("\ncost ")[0]
    assert pasted.count("\n") > 1
    assert shlex.split(pasted.replace("\\\n", " ")) == shlex.split(outcome(run).launches[1])
    assert "symptom" not in words
    assert run_json(run.ledger)["verdict"] == "answered"
    reached = run.ledger.verdict
    assert reached is not None
    assert reached.missing == ()
    assert reached.recommendation is not None
    assert reached.recommendation.launch == outcome(run).launches[1]
    assert ("speculative" in reached.recommendation.launch) is (found.best != OFF)


def test_an_answer_that_is_not_sure_is_not_one() -> None:
    run = search(random_world(PAYS), max_restarts=2)
    words, state, code = said(run)
    assert (state, code) == ("not-enough-evidence", 3)
    assert "NOT confirmed by a fresh start" in words
    assert "not known  at concurrency 1: a fresh start of " in words


def test_a_choice_that_is_not_the_fastest_says_why() -> None:
    figures = (BASELINE, LONG, SHORT)
    belief = forecast(figures, grid(), spread=0.01)
    assert isinstance(belief, Forecast)
    top = max(grid(), key=lambda s: belief.mean[belief.settings.index(s)])
    other = next(s for s in grid() if s != top)
    assert _why(belief, grid(), other).startswith(f"{other.label} is the smallest setting within 0.5% of the fastest")
    assert _why(belief, grid(), top).startswith(f"the fastest by prediction is {top.label}")


def test_each_measured_speed_has_its_estimator_and_n() -> None:
    found = outcome(searched(PAYS))
    (result,) = found.tuned.results
    shown = " ".join(tune_text(found.tuned, launches={}, cached=False, width=400).split())
    for m in result.measured:
        assert f"({m.figures.throughput.estimator}, n={m.figures.throughput.n}) {m.evidence}" in shown
