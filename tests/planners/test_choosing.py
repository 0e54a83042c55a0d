"""The next experiment: what tells most for a minute, except where the order is forced."""

from __future__ import annotations

import pytest

from specdoctor.core.choice import Choice, ExperimentOption
from specdoctor.core.events import EvidenceRecorded, HypothesisClosed, HypothesisOpened, RunStarted, ServerSeen
from specdoctor.core.hypothesis import Answers, Hypothesis, Prediction
from specdoctor.core.launch import START_MARK, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.run_settings import RunSettings
from specdoctor.knowledge.table import CAUSES
from specdoctor.planners.choosing import UNKNOWN_SHARE, VERDICTS, choice_of, entropy, next_experiment, priors, ranked
from specdoctor.planners.experiments import Experiment

OFTEN, SELDOM = "CFG-1", "ENV-6"


def ledger(*opened: Hypothesis, record: dict[str, int] | None = None) -> Ledger:
    out = Ledger()
    out.apply(RunStarted(run="r", target="t", settings=RunSettings(), tool_version="0"))
    for h in opened:
        out.apply(HypothesisOpened(hypothesis=h))
    if record:
        out.apply(EvidenceRecorded(evidence="E1", action=None, source=VERDICTS, summary="", data=dict(record)))
    return out


def claim(number: int, cause: str | None, answers: Answers = "explains") -> Hypothesis:
    prediction = Prediction(metric="throughput_tok_s", op=">", value=1.0, under=f"--x={number}")
    return Hypothesis(
        id=f"H{number}",
        key=f"explains:{cause}:{number}",
        cause=cause,
        claim="so",
        answers=answers,
        prediction=prediction,
    )


def test_for(number: int) -> Experiment:
    change = LaunchChange(label=f"launch {number}", set_flags={"--x": (str(number),)})
    return Experiment(change=change, hypotheses=(f"H{number}",), why="?")


test_for.__test__ = False  # type: ignore[attr-defined]  # a maker, not a test


def test_priors_follow_the_reports_and_leave_room_for_the_unknown() -> None:
    assert CAUSES[OFTEN].reports > CAUSES[SELDOM].reports
    told = priors(ledger(), [OFTEN, SELDOM])
    assert told[OFTEN] > told[SELDOM] > 0.0
    assert sum(told.values()) == pytest.approx(1.0 - UNKNOWN_SHARE)


def test_earlier_verdicts_raise_a_prior_and_a_falsified_claim_has_none() -> None:
    before = priors(ledger(), [OFTEN, SELDOM])[SELDOM]
    assert priors(ledger(record={SELDOM: 3}), [OFTEN, SELDOM])[SELDOM] > before
    known = ledger(claim(1, OFTEN), claim(2, SELDOM), record={SELDOM: 1})
    known.apply(HypothesisClosed(hypothesis="H1", status=Status.FALSIFIED, because="measured", evidence=("E1",)))
    told = priors(known, [OFTEN, SELDOM])
    assert told == {OFTEN: 0.0, SELDOM: pytest.approx(1.0 - UNKNOWN_SHARE)}


def test_entropy_is_a_bit_at_even_chances_and_nothing_for_what_is_certain() -> None:
    assert [entropy(p) for p in (0.0, 0.5, 1.0)] == [0.0, 1.0, 0.0]
    assert entropy(0.3) == pytest.approx(entropy(0.7))


def test_what_tells_most_for_a_minute_comes_first() -> None:
    known = ledger(claim(1, SELDOM), claim(2, OFTEN), claim(3, "GRAPH-2"))
    left = [test_for(1), test_for(2), test_for(3)]
    rows = [option.per_minute for _, option in ranked(known, left)]
    assert rows == sorted(rows, reverse=True)
    assert next_experiment(known, left) is ranked(known, left)[0][0]


def test_the_baseline_comes_first_whatever_it_tells() -> None:
    known = ledger(claim(1, None, "symptom"), claim(2, OFTEN))
    left = [test_for(1), test_for(2)]
    assert next_experiment(known, left) is left[0]
    choice = choice_of(known, left, left[0])
    assert choice.options[0].tests == "H1"
    assert "measured against it" in choice.forced


def test_starts_of_one_launch_come_first() -> None:
    known = ledger(claim(1, "ENV-6"), claim(2, OFTEN))
    again = Experiment(
        change=LaunchChange(label="the same, start 2", set_env={START_MARK: "2"}), hypotheses=("H1",), why="?"
    )
    assert next_experiment(known, [again, test_for(2)]) is again


def test_a_first_launch_costs_what_the_start_in_the_log_took() -> None:
    known = ledger(claim(1, None, "symptom"))
    [(_, guessed)] = ranked(known, [test_for(1)])
    seen = {"engine": "sglang", "ref": None, "state": "running", "version": None, "version_range": None}
    known.apply(ServerSeen.model_validate({**seen, "summary": "", "evidence": "E1", "start_s": 30.0}))
    [(_, told)] = ranked(known, [test_for(1)])
    assert guessed.minutes == pytest.approx(2 * 4.0 + 1.0)
    assert told.minutes == pytest.approx(2 * 0.5 + 1.0)


def test_the_words_say_what_is_told_in_how_many_minutes() -> None:
    option = ExperimentOption(launch="off", tests="H1", cause="CFG-5", prior=0.5, bits=1.0, minutes=9.0)
    assert Choice(options=(option,)).words == (
        "off, H1 (CFG-5): 1.00 bits at 50% for 9.0 min; nothing else is left to test "
        "(a start counts twice: nobody is served)"
    )
