"""One name for a way of drafting, whatever an engine calls it."""

from __future__ import annotations

import pytest

from specdoctor.core.server import SpecSetting


@pytest.mark.parametrize(
    ("algorithm", "family"),
    [
        (None, None),
        ("EAGLE3", "EAGLE3"),
        ("Eagle3", "EAGLE3"),
        ("draft-eagle3", "EAGLE3"),
        ("draft-simple", "STANDALONE"),
        ("draft_model", "STANDALONE"),
        ("DRAFT_MODEL", "STANDALONE"),
        ("draft-mtp", "MTP"),
        ("ngram-simple", "NGRAM"),
        ("ngram-mod,draft-simple", "STANDALONE"),
        ("prompt-lookup", "NGRAM"),
        ("NGram", "NGRAM"),
    ],
)
def test_families(algorithm: str | None, family: str | None) -> None:
    assert SpecSetting(algorithm=algorithm).family == family
