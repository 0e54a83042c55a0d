"""Properties of events and of the ledger that renderers and stores rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from specdoctor.core import events as ev
from specdoctor.core.errors import LedgerError
from specdoctor.core.events import Event, event_from_json, event_to_json
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.ledger_view import ActionEntry
from specdoctor.core.model import DECIDED, Status
from specdoctor.render.json_run import RunDocument, run_json
from specdoctor.render.lines import event_line
from tests.render.story import hypothesis, story
from tests.render.strategies import EVENT_TYPES, of_model

FEW = settings(max_examples=12)


def state(ledger: Ledger) -> dict[str, Any]:
    """Everything in a ledger, comparable."""
    return {name: _plain(value) for name, value in vars(ledger).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, ActionEntry):
        return (value.started, value.ended)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return list(value) if isinstance(value, list) else value


@pytest.mark.parametrize("model", EVENT_TYPES, ids=lambda m: m.__name__)
def test_an_event_survives_json(model: type[BaseModel]) -> None:
    @FEW
    @given(of_model(model))
    def survives(event: Event) -> None:
        line = event_to_json(event)
        assert "\n" not in line
        assert event_from_json(line) == event
        words = event_line(event)
        assert "\n" not in words
        assert "\x1b" not in words

    survives()


@FEW
@given(st.integers(0, len(story())))
def test_a_fold_in_two_parts_equals_the_fold_at_once(cut: int) -> None:
    events = story()
    assert state(fold(events[cut:], fold(events[:cut]))) == state(fold(events))


@FEW
@given(st.integers(1, len(story())))
def test_every_beginning_of_a_run_has_a_valid_document(length: int) -> None:
    document = run_json(fold(story()[:length]))
    RunDocument.model_validate(json.loads(json.dumps(document)))
    assert document["schema"] == "specdoctor.run/1"


ids = st.sampled_from(["H1", "H2", "H3"])
evidence = st.sampled_from(["E1", "E2", "E3", "E4"])
loose_events = st.one_of(
    st.builds(
        lambda name: ev.HypothesisOpened(hypothesis=hypothesis(name, None, "a claim", decides="a test")),
        ids,
    ),
    st.builds(
        ev.HypothesisClosed,
        hypothesis=ids,
        status=st.sampled_from(list(Status)),
        because=st.just("figures"),
        evidence=st.lists(evidence, max_size=2).map(tuple),
    ),
    st.builds(ev.EvidenceRecorded, evidence=evidence, action=st.none(), source=st.just("log"), summary=st.just("x")),
)


@settings(max_examples=150)
@given(st.lists(loose_events, max_size=14))
def test_nothing_is_decided_without_recorded_evidence_and_a_decision_stays(events: list[Event]) -> None:
    ledger = fold(story()[:1])
    decided: dict[str, Status] = {}
    for event in events:
        before = state(ledger)
        try:
            ledger.apply(event)
        except LedgerError:
            assert state(ledger) == before
            continue
        for h in ledger.hypotheses.values():
            if h.status in DECIDED:
                assert h.evidence
                assert set(h.evidence) <= set(ledger.evidence)
                assert decided.setdefault(h.id, h.status) is h.status
