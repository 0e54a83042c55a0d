"""Lines to paste stand in the report as a shell would read them, and the report is the one that `review` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specdoctor.core.model import Risk
from specdoctor.render.report import report_markdown
from specdoctor.store.redaction import Redactor
from specdoctor.store.transcript import TranscriptWriter
from tests.app.investigating import simulated

WORLD = "kimi-k2.5-eagle3"
KEPT = '--api-key "$SGLANG_API_KEY"'
SPANS = re.compile(r"```text\n.*?\n```|`[^`\n]+`", re.DOTALL)


@pytest.mark.parametrize("kind", ["restarted", "dry run"])
def test_what_is_to_be_pasted_is_neither_masked_nor_escaped(kind: str, tmp_path: Path) -> None:
    given: dict[str, object] = {
        "restarted": {},
        "dry run": {"allow": Risk.READ, "dry_run": True},
    }[kind]
    run, _ = simulated(WORLD, **given)  # type: ignore[arg-type]
    redactor = Redactor()
    shown = report_markdown([redactor.event(event) for event in run.store.events(run.id)])
    written = TranscriptWriter(tmp_path, redactor=redactor).put_report(run.id, shown).read_text()
    assert written == shown
    assert "***" not in shown
    assert KEPT in shown
    assert shown.count("api-key") == sum(span.count(KEPT) for span in SPANS.findall(shown)), "outside of code"


def test_a_value_that_is_known_to_be_secret_is_not_in_a_report(tmp_path: Path) -> None:
    writer = TranscriptWriter(tmp_path, redactor=Redactor(["s3cret-value"]))
    assert writer.put_report("7f3c", 'key s3cret-value, "\\$NAME"').read_text() == 'key ***, "\\$NAME"'
