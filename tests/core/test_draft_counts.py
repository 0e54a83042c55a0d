"""Counts of drafts: means over drafts, whatever the spans they were counted in."""

from __future__ import annotations

import pytest

from specdoctor.core.draft_counts import DraftCounts

SHORT = DraftCounts(drafts=10, drafted=30, accepted=20, by_position=(9, 7, 4))
LONG = DraftCounts(drafts=90, drafted=270, accepted=45, by_position=(30, 10, 5))


def test_figures_follow_from_the_counts() -> None:
    assert SHORT.accept_length == pytest.approx(3.0)
    assert SHORT.rate == pytest.approx(2 / 3)
    assert SHORT.per_position == pytest.approx((0.9, 0.7, 0.4))
    assert DraftCounts().accept_length is None
    assert DraftCounts().rate is None
    assert DraftCounts().per_position == ()


def test_spans_are_pooled_by_their_counts_not_by_their_means() -> None:
    both = SHORT.plus(LONG)
    assert both.accept_length == pytest.approx(1 + 65 / 100)
    assert both.per_position == pytest.approx((0.39, 0.17, 0.09))
    assert both.accept_length != pytest.approx((3.0 + 1.5) / 2)


def test_spans_of_other_draft_lengths_are_pooled_too() -> None:
    both = SHORT.plus(DraftCounts(drafts=10, drafted=10, accepted=5, by_position=(5,)))
    assert both.by_position == (14, 7, 4)


def test_an_unknown_number_of_drafts_stays_unknown() -> None:
    both = SHORT.plus(DraftCounts(drafted=4, accepted=1))
    assert (both.drafts, both.drafted, both.accepted) == (None, 34, 21)
    assert both.accept_length is None
    assert both.rate == pytest.approx(21 / 34)
