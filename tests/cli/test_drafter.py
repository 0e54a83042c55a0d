"""`specdoctor drafter gap` and `data`: the figures a user types, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Command, document

GAP = ("drafter", "gap", "--trained", "0.747,0.67", "--served", "1:1.6", "--served", "15:1.9")
DATA = ("drafter", "data", "--samples", "37000", "--accept-length", "2.0", "--draft-steps", "2")


def test_the_gap_like_for_like(specdoctor: Command) -> None:
    text = specdoctor(*GAP).stdout
    assert "accept length 3.25" in text or "accept length 3.26" in text
    assert "0.119" in text
    assert "0.747    0.600" in text
    assert "WIRE-1" in text
    found: Any = document(specdoctor(*GAP, "--json"))
    assert found["departs_at"] == 1


def test_more_data_by_two_readings_and_no_choice(specdoctor: Command) -> None:
    result = specdoctor(*DATA, "--to", "500000")
    assert result.exit_code == 3
    assert "2.08 to 2.38, about 2.19" in " ".join(result.stdout.split())
    assert "2.86 to 3.07" in " ".join(result.stdout.split())
    assert "neither is chosen" in result.stdout
    assert specdoctor(*DATA, "--wished", "2.4").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("drafter", "gap", "--trained", "74.7", "--served", "1:1.6"),
        ("drafter", "gap", "--trained", "high", "--served", "1:1.6"),
        ("drafter", "gap", "--trained", "0.7", "--served", "1.6"),
        DATA,
        (*DATA, "--wished", "0.5"),
    ],
)
def test_wrong_figures_are_one_message(specdoctor: Command, words: tuple[str, ...]) -> None:
    result = specdoctor(*words)
    assert result.exit_code == 2
    assert "next" in result.stderr
    assert "Traceback" not in result.stderr
