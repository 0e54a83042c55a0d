"""Figures from memory on the command line: wrong ones are refused before anything is done."""

from __future__ import annotations

from tests.cli.conftest import Command


def test_a_number_without_a_role_is_asked_about(specdoctor: Command) -> None:
    shown = specdoctor("investigate", "local:", "--recall", "89 spec=94")
    assert shown.exit_code == 2
    assert "is 89 the baseline or with speculation?" in " ".join(shown.stderr.split())


def test_a_moment_needs_figures(specdoctor: Command) -> None:
    shown = specdoctor("investigate", "local:", "--recalled-at", "before 25 Feb")
    assert shown.exit_code == 2
    assert "--recall with the figures is missing" in " ".join(shown.stderr.split())
