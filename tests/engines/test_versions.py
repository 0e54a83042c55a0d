"""Order of versions, ranges, and what is known of a version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.engines.versions import VersionRange, parse_range, parse_version, range_of, version

IN_ORDER = [
    "0.4.3",
    "0.4.9.post6",
    "0.5.0rc0",
    "0.5.0",
    "0.5.9.dev3+gabc",
    "0.5.9rc1",
    "0.5.9",
    "0.5.9.post1.dev12+gabc",
    "0.5.9.post1",
    "0.5.10",
    "0.5.10.post1",
    "0.5.23",
]


def test_versions_sort_as_the_registry_sorts_them() -> None:
    assert [str(v) for v in sorted(version(text) for text in reversed(IN_ORDER))] == IN_ORDER


@pytest.mark.parametrize(("a", "b"), [("v0.5.9", "0.5.9"), ("0.5", "0.5.0"), ("0.5.9+local", "0.5.9")])
def test_spellings_of_one_version_are_equal(a: str, b: str) -> None:
    assert version(a) == version(b)


@pytest.mark.parametrize("text", ["main", "latest", "", "0.5.x", "none"])
def test_a_word_is_no_version(text: str) -> None:
    assert parse_version(text) is None


def test_ranges_intersect_and_print() -> None:
    found = VersionRange.of("0.5.11").intersect(VersionRange.of(before="0.5.14"))
    assert str(found) == ">=0.5.11,<0.5.14"
    assert parse_range(str(found)) == found
    assert found.contains(version("0.5.12.post1"))
    assert not found.contains(version("0.5.14"))
    assert VersionRange.of("0.5.14").intersect(found).is_empty


def test_a_release_is_a_point_and_a_development_build_is_not() -> None:
    assert VersionRange.of("0.5.11", "0.5.14").covers(range_of("0.5.12"))
    assert not VersionRange.of("0.5.11").covers(range_of("0.5.10.post1"))
    assert str(range_of("0.5.9.post1.dev12+gabc")) == ">=0.5.9,<0.5.10"
    assert range_of(None, ">=0.5.3") == VersionRange.of("0.5.3")


@given(st.text(max_size=40))
def test_any_text_is_a_version_or_none(text: str) -> None:
    found = parse_version(text)
    assert found is None or parse_version(str(found)) == found
