from __future__ import annotations

import json

import pytest

from specdoctor.core.errors import LedgerError
from specdoctor.core.ledger import Ledger, fold
from specdoctor.render.json_run import RunDocument, run_json
from tests.render.snapshots import check_snapshot
from tests.render.story import story, until

PROMISED = {
    "schema", "run", "target", "verdict", "causes", "hypotheses", "measurements", "recommendation", "missing", "cost",
    "restored",
}  # fmt: skip
PROMISED_OF_A_MEASUREMENT = {
    "id", "launch", "draft_steps", "topk", "draft_tokens", "concurrency", "throughput_tok_s", "accept_length",
    "step_ms", "requests", "estimator",
}  # fmt: skip


def test_the_document_of_a_finished_run() -> None:
    document = run_json(fold(story()))
    check_snapshot("run.json", json.dumps(document, indent=1))
    assert set(document) >= PROMISED
    for measurement in document["measurements"]:  # type: ignore[union-attr]  # a list
        assert set(measurement) >= PROMISED_OF_A_MEASUREMENT  # type: ignore[arg-type]  # of objects


def test_a_baseline_has_no_draft_steps_and_accept_length_one() -> None:
    baseline = RunDocument.model_validate(run_json(fold(story()))).measurements[1]
    assert (baseline.draft_steps, baseline.topk, baseline.draft_tokens, baseline.accept_length) == (0, 0, 0, 1.0)
    assert baseline.throughput_tok_s == 90.1
    assert baseline.estimator.endswith("accept length: 1 by definition, no speculation")


def test_without_a_verdict_there_is_not_enough_evidence_and_what_would_decide_is_missing() -> None:
    document = RunDocument.model_validate(run_json(fold(until("todo.changed"))))
    assert document.verdict == "not-enough-evidence"
    assert not document.finished
    assert document.causes == ()
    assert document.missing == (
        "H2: the drafter's training config",
        "H3: running the drafter alone on stored states",
    )


@pytest.mark.parametrize(("length", "restored"), [(5, None), (len(until("server.relaunched")), False), (None, True)])
def test_restored_is_null_until_something_was_changed(length: int | None, restored: bool | None) -> None:
    assert run_json(fold(story()[:length]))["restored"] is restored


def test_a_run_that_never_started_has_no_document() -> None:
    with pytest.raises(LedgerError):
        run_json(Ledger())


def test_the_schema_uses_the_published_names() -> None:
    schema = RunDocument.model_json_schema(by_alias=True)
    assert set(schema["properties"]) >= PROMISED
    assert "schema_id" not in schema["properties"]
