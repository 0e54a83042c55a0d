"""The command that only measures: what it refuses before anything is sent."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


def test_load_has_to_be_allowed(specdoctor: Command) -> None:
    shown = specdoctor("bench", "local:", "--concurrency", "1,8", "--blocks", "2")
    assert shown.exit_code == 4
    assert "about 84 requests" in shown.stderr
    assert "--allow load" in shown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--concurrency", "1,x"), "--concurrency 1,x: not a list of numbers"),
        (("--concurrency", "1.5"), "whole numbers"),
        (("--rate", "0"), "--rate 0"),
        (("--temperature", "-1"), "--temperature -1"),
        (("--prompts", "poems"), "poems"),
    ],
)
def test_wrong_numbers_are_named(specdoctor: Command, words: tuple[str, ...], said: str) -> None:
    shown = specdoctor("bench", "local:", "--allow", "load", *words)
    assert shown.exit_code == 2
    assert said in shown.stderr
