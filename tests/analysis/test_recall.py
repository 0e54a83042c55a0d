"""Figures from memory: read with a role, placed in a state of the system, never used in a test."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.recall import place_recalled, read_recall, recalled_before

NOW = datetime(2026, 3, 3, tzinfo=UTC).timestamp()
RESTART = ("the container", datetime(2026, 2, 25, 10, tzinfo=UTC).timestamp())


def test_each_figure_has_its_role() -> None:
    claims = read_recall("baseline=89 spec=94 verify_ms=19 cycle_ms=20", "before 25 Feb")
    assert [(c.metric, c.role, c.value) for c in claims] == [
        ("throughput_tok_s", "baseline", 89.0),
        ("throughput_tok_s", "with speculation", 94.0),
        ("verify_ms", "with speculation", 19.0),
        ("step_ms", "with speculation", 20.0),
    ]
    assert {c.recalled_at for c in claims} == {"before 25 Feb"}
    assert read_recall("", "") == ()


def test_every_fault_is_named_and_a_bare_number_is_asked_about() -> None:
    with pytest.raises(FigureError) as caught:
        read_recall("89 baselin=89 spec=fast cycle_ms=-3 hello", "")
    said = caught.value.message
    assert "is 89 the baseline or with speculation? write baseline=89 or spec=89" in said
    assert 'unknown figure "baselin"' in said
    assert "spec is 'fast'" in said
    assert "cycle_ms is '-3'" in said
    assert "'hello' is no figure" in said


@pytest.mark.parametrize(
    ("words", "latest"),
    [
        ("before 25 Feb", datetime(2026, 2, 25, tzinfo=UTC)),
        ("25 February 2026", datetime(2026, 2, 26, tzinfo=UTC)),
        ("2026-02-24", datetime(2026, 2, 25, tzinfo=UTC)),
        ("before Dec 1", datetime(2025, 12, 1, tzinfo=UTC)),
        ("last month", None),
        ("before 31 Feb", None),
        ("", None),
    ],
)
def test_when_it_can_have_been(words: str, latest: datetime | None) -> None:
    assert recalled_before(words, now=NOW) == (latest.timestamp() if latest else None)


@pytest.mark.parametrize(
    ("words", "measured", "began", "status", "why"),
    [
        ("before 25 Feb", None, RESTART, "other-state", "the container has started since"),
        ("before 25 Feb", (89.0, 88.0, 90.0), RESTART, "other-state", "the container has started since"),
        ("once", (82.5, 82.0, 83.0), RESTART, "other-state", "measured now: 82.5 (82-83)"),
        ("once", (89.2, 88.0, 90.0), RESTART, "open", "agrees with what is measured now"),
        ("26 Feb 2026", (89.2, 88.0, 90.0), RESTART, "open", "agrees with what is measured now"),
        ("once", None, None, "open", "nothing like it was measured in this run"),
    ],
)
def test_which_state_it_belongs_to(
    words: str,
    measured: tuple[float, float, float] | None,
    began: tuple[str, float] | None,
    status: str,
    why: str,
) -> None:
    (claim,) = read_recall("baseline=89", words)
    found = place_recalled(claim, measured=measured, state_began=began, now=NOW)
    assert (found.status, found.why) == (status, why)
