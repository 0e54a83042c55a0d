from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from specdoctor.core import events as ev
from specdoctor.core.errors import LedgerError
from specdoctor.core.events import Event
from specdoctor.core.hypothesis import Observation
from specdoctor.core.launch import RestoreOutcome
from specdoctor.core.model import Risk
from specdoctor.core.server import Source
from specdoctor.render.report import report_markdown
from tests.render.snapshots import check_snapshot
from tests.render.story import hypothesis, story, until

EVIL = "<img src=x onerror=alert(1)> | `x` [a](http://b) **c** \x1b[31m\u202e\n# d"


def test_the_report_of_a_finished_run() -> None:
    check_snapshot("report.md", report_markdown(story()))


def test_the_report_of_a_killed_run_says_that_the_server_may_be_changed() -> None:
    text = report_markdown(until("action.started", nth=5))
    check_snapshot("report-killed.md", text)
    assert "1. look at the server: it is not proved to be as it was found" in text


def test_every_beginning_of_a_run_has_a_report() -> None:
    reports = {len(report_markdown(story()[:length])) for length in range(1, len(story()) + 1, 4)}
    assert len(reports) > 5


def test_without_rewrites_the_places_that_name_an_argument_are_shown() -> None:
    events = [
        e.model_copy(update={"data": {}}) if isinstance(e, ev.EvidenceRecorded) else e for e in until("check.observed")
    ]
    text = report_markdown(events)
    assert "| speculative_num_draft_tokens | server.log:41 | `speculative_num_draft_tokens=2` | E2 |" in text


def test_what_is_not_an_event_is_not_in_the_report() -> None:
    text = report_markdown(story()[:1])
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Verdict", "## Timeline", "## Cost"]


def test_a_server_not_proved_restored_is_said_loudly() -> None:
    outcome = RestoreOutcome(
        action="A6",
        status="restored",
        server=None,
        equal={"argv": True, "env": False},
        differences={"env": "CUDA_VISIBLE_DEVICES was 0,1"},
    )
    restored = ev.ServerRestored(outcome=outcome, evidence="E10")
    events = [restored if e.kind == "server.restored" else e for e in story()]
    text = report_markdown(events)
    assert "| the server | NOT proved to be as it was found |" in text
    assert "equal: argv; differs: env (CUDA_VISIBLE_DEVICES was 0,1)" in text


def hostile_events() -> list[Event]:
    started = story()[0].model_copy(update={"target": EVIL})
    observation = Observation(
        check="c", cause=EVIL, stance="supports", claim=EVIL, sources=(Source(where=EVIL, key=EVIL, quote=EVIL),)
    )
    return [
        started,
        ev.NoteAdded(text=EVIL, by=EVIL),
        ev.HypothesisOpened(hypothesis=hypothesis("H1", EVIL, EVIL, decides=EVIL)),
        ev.EvidenceRecorded(evidence="E1", action=None, source=EVIL, summary=EVIL, artefact=EVIL, sha256="0"),
        ev.Observed(evidence="E1", observation=observation),
        ev.MoveRefused(move=EVIL, why=EVIL),
        ev.ApprovalAsked(batch="B1", risk=Risk.RESTART, text=EVIL),
    ]


def test_text_from_the_host_cannot_act_in_the_report() -> None:
    text = report_markdown(hostile_events())
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(text)
    kinds = {t.type for t in tokens} | {c.type for t in tokens for c in t.children or ()}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "strong_open"}
    headings = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]
    assert [h for h in headings if not h.startswith("Run 7f3c")] == [
        "Verdict", "Hypotheses", "Asked for and in force", "Evidence", "Timeline", "Approvals", "Refused moves",
        "Notes", "Cost", "To try first",
    ]  # fmt: skip
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_events_that_break_the_rules_have_no_report() -> None:
    with pytest.raises(LedgerError):
        report_markdown(story()[1:])
