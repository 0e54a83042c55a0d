"""What files together say: which verdict, in which order, with what ruled out."""

from __future__ import annotations

from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.triage_findings import findings_of
from specdoctor.app.triage_verdict import verdict_of
from specdoctor.core.hypothesis import NO_FAULT, Observation
from specdoctor.core.model import Role, Verdict
from specdoctor.core.server import LogReading, ServerView, Source

TEXTS = {"a.log": "first\nsecond\nthird\n"}
SERVED = ServerView(engine="sglang", state="running", log=LogReading(where="a.log", lines=3, ready_line=1))


def said(cause: str | None, stance: str, *, line: int | None = None, **more: object) -> Observation:
    sources = (Source(where="a.log", line=line),) if line is not None else ()
    given = {"check": "c", "cause": cause, "stance": stance, "claim": f"{cause} {stance}", "sources": sources, **more}
    return Observation.model_validate(given)


def verdict(*found: Observation, symptom: str = "", length: float = 2.5) -> Verdict:
    return verdict_of(SERVED, found, {"accept_length": length}, read_symptom(symptom))


def test_what_explains_is_a_cause_and_what_was_contradicted_is_not() -> None:
    proof = said("LOAD-1", "supports", line=1, explains=True, binds=True)
    assert verdict(proof, symptom="slower than without") is Verdict.CAUSE
    against = said("LOAD-1", "refutes", line=2, against="LOAD-1")
    assert verdict(proof, against, symptom="slower than without") is Verdict.NOT_ENOUGH_EVIDENCE


def test_a_fault_answers_only_what_it_can_bring_about() -> None:
    graphs_off = said("CFG-5", "supports", line=1, binds=True, about="cycle")
    assert verdict(graphs_off, symptom="it is slow") is Verdict.CAUSE
    assert verdict(graphs_off, symptom="acceptance is low") is Verdict.NOT_ENOUGH_EVIDENCE


def test_an_ordinary_explanation_is_healthy_unless_nothing_is_accepted() -> None:
    ordinary = said(None, "refutes", line=1, against=NO_FAULT)
    assert verdict(ordinary, symptom="acceptance is low") is Verdict.HEALTHY
    assert verdict(ordinary, symptom="acceptance is low", length=1.0) is Verdict.NOT_ENOUGH_EVIDENCE


def test_words_that_are_not_understood_are_a_complaint_and_a_question_is_none() -> None:
    assert verdict(symptom="Is this server set up correctly?") is Verdict.HEALTHY
    assert verdict(symptom="It does something odd after lunch.") is Verdict.NOT_ENOUGH_EVIDENCE
    assert verdict() is Verdict.HEALTHY


def test_supported_needs_a_place_that_opens_and_comes_before_what_is_possible() -> None:
    found = (
        said("TRAIN-2", "suggests", line=3),
        said("WIRE-1", "supports", explains=True),
        said("LOAD-3", "supports", line=2, explains=True),
        said("LOAD-1", "refutes", line=1, against="LOAD-1"),
    )
    shown = findings_of(found, TEXTS, verdict=Verdict.CAUSE)
    assert [(f.cause, f.status) for f in shown if f.evidence] == [
        ("LOAD-3", "supported"),
        ("TRAIN-2", "suspected"),
        ("LOAD-1", "falsified"),
    ]
    assert all(f.status != "supported" for f in shown if f.cause == "WIRE-1")
    assert shown[0].evidence[0].quote == "second"


def test_one_finding_for_each_cause_with_the_evidence_of_all_checks() -> None:
    found = (said("CFG-5", "supports", line=1, binds=True), said("CFG-5", "supports", line=2, explains=True))
    (finding,) = findings_of(found, TEXTS, verdict=Verdict.CAUSE)
    assert (finding.role, len(finding.evidence)) == (Role.EXPLAINS, 2)


def test_a_healthy_server_has_no_rivals() -> None:
    found = (said("TRAIN-2", "suggests", line=3), said("CFG-1", "supports", line=1))
    (finding,) = findings_of(found, TEXTS, verdict=Verdict.HEALTHY)
    assert (finding.cause, finding.role) == ("CFG-1", Role.PRESENT)


def test_only_what_figures_show_explains() -> None:
    found = (
        said("LOAD-1", "supports", line=1, explains=True, binds=True),
        said("WIRE-1", "supports", line=2, explains=True, binds=True, unmeasured=True),
        said("TRAIN-2", "suggests", line=3),
    )
    roles = {f.cause: f.role for f in findings_of(found, TEXTS, verdict=Verdict.CAUSE)}
    assert roles == {"LOAD-1": Role.EXPLAINS, "WIRE-1": Role.CONTRIBUTES, "TRAIN-2": Role.CONTRIBUTES}


def test_a_suspect_that_something_speaks_for_comes_before_what_is_merely_possible() -> None:
    found = (said("MIS-1", "suggests"), said("LOAD-7", "suggests", line=2))
    assert [f.cause for f in findings_of(found, TEXTS, verdict=Verdict.NOT_ENOUGH_EVIDENCE)] == ["LOAD-7", "MIS-1"]
