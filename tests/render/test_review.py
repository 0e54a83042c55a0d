from __future__ import annotations

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.core.events import RunStarted
from specdoctor.render.excerpt import excerpt
from specdoctor.render.review import evidence_text, review_text
from specdoctor.render.spelled_out import spelled_out
from tests.render.snapshots import check_snapshot
from tests.render.story import LOG, story, until


def test_the_review_of_a_finished_run() -> None:
    text = review_text(story())
    check_snapshot("review.txt", text)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_review_of_a_killed_run_says_how_to_go_on() -> None:
    text = review_text(until("action.started", nth=5))
    check_snapshot("review-killed.txt", text)
    assert "without a known end: A5" in text
    assert "specdoctor investigate --resume 7f3c" in text


def test_every_event_can_be_asked_for() -> None:
    every = review_text(story(), events=True, width=300).split("every event\n")[1].splitlines()
    assert len(every) == len(story())
    assert len(review_text(story(), width=300).split("timeline\n")[1].splitlines()) < len(story())


def test_one_piece_of_evidence_with_the_words_it_rests_on() -> None:
    check_snapshot("evidence-quotes.txt", evidence_text(story(), "E2"))


def test_one_piece_of_evidence_with_its_figures() -> None:
    check_snapshot("evidence-figures.txt", evidence_text(story(), "E9"))


def test_the_quoted_lines_of_an_artefact_are_shown_with_their_numbers_and_what_stands_around_them() -> None:
    filler = b"".join(b"line %d\n" % n for n in range(1, 41))
    raw = filler + b"\x1b[31m" + LOG.splitlines()[0] + b"\x1b[0m\n" + filler
    text = evidence_text(story(), "E1", artefact={"E1/server.log": raw}.__getitem__, width=60)
    shown = text.split("\n\n", 1)[1].split("\n")
    assert shown[:3] == ["(38 lines left out)", "  39  line 39", "  40  line 40"]
    assert shown[3].startswith("> 41  \\x1b[31m")
    assert all(len(line) <= 60 for line in shown)
    assert shown[-3:] == ["  42  line 1", "  43  line 2", "(38 more lines)"]
    assert "\x1b" not in text


def test_of_an_artefact_that_nobody_quotes_the_head_is_shown() -> None:
    raw = b"".join(b"line %d of \xe2\x80\xaefiller\n" % n for n in range(1, 42)) + b"x" * 5000
    text = evidence_text(story(), "E1", artefact=lambda name: raw)
    assert "   1  line 1 of \\u202efiller" in text
    assert text.endswith("(12 more lines)")
    long = excerpt(b"x" * 5000, (), width=40)
    assert len(long) == 4
    assert long[-1].endswith("...")


def test_data_is_spelled_out_and_no_json() -> None:
    data = b'{"requests": [{"tokens": 12, "ok": true, "histogram": [1, 2]}], "spread_ms": 0.123456789, "note": null}'
    lines = evidence_text(story(), "E1", artefact=lambda name: data).split("\n")
    assert "requests 1  tokens 12, ok yes" in lines
    assert "            requests 1, histogram: 1, 2" in lines
    assert "spread ms   0.123457" in lines
    assert "note        not known" in lines


def test_a_binary_artefact_is_not_printed() -> None:
    assert evidence_text(story(), "E1", artefact=lambda name: b"\x7fELF\0\0").endswith("binary, 6 bytes")


def test_unknown_evidence_lists_what_there_is() -> None:
    with pytest.raises(UsageError) as raised:
        evidence_text(story(), "E99")
    assert "E1, E2, E3" in raised.value.next_step


def test_a_review_says_where_a_named_target_is() -> None:
    begun = story()[0]
    assert isinstance(begun, RunStarted)
    settings = begun.settings.model_copy(update={"named": "prod"})
    text = review_text([begun.model_copy(update={"settings": settings}), *story()[1:]])
    assert "on prod (eagle-a), begun" in text


def test_times_are_dates_and_no_duration_is_written_with_an_exponent() -> None:
    data = {
        "started_at": 1796139999.5,
        "clock_jump_s": -8.39505e-07,
        "took_s": 12.5,
        "inner": {"acted_at": 1796139999.5},
    }
    rows = dict(spelled_out(data))
    assert rows["started at"] == "2026-12-01 15:46:39 UTC"
    assert rows["clock jump s"] == "0 (less than 0.1 ms)"
    assert rows["took s"] == "12.5"
    assert rows["inner"] == "acted at 2026-12-01 15:46:39 UTC"
