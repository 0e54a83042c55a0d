"""The command that only measures: what it refuses before anything is sent."""

from __future__ import annotations

import pytest

from specdoctor.cli.bench_duel import other_models
from specdoctor.core.measurement import Measurement
from specdoctor.core.server import SpecSetting
from specdoctor.render.bench import measurement_lines
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
        (("--rate", "2", "--concurrency", "4"), "leave out one of --rate and --concurrency"),
        (("--rate", "2", "--concurrency", "1"), "leave out one of --rate and --concurrency"),
    ],
)
def test_wrong_numbers_are_named(specdoctor: Command, words: tuple[str, ...], said: str) -> None:
    shown = specdoctor("bench", "local:", "--allow", "load", *words)
    assert shown.exit_code == 2
    assert said in shown.stderr


def test_two_servers_of_different_models_are_said_to_be() -> None:
    assert "different models (/a; /b)" in other_models(("/a", "/b"))
    assert other_models(("/a", "/a/")) == ""
    assert other_models(("", "/a")) == ""


def test_an_accept_length_that_is_left_out_has_its_reason() -> None:
    spec = SpecSetting(algorithm="EAGLE3", draft_steps=2, topk=1, draft_tokens=3)
    one = Measurement(
        id="M1", launch="as found", launch_key="original", spec=spec, concurrency=1, source="bench", requests=1,
        evidence="E1",
    )  # fmt: skip
    assert "not known: one request is too few" in " ".join(" ".join(measurement_lines(one, {}, width=80)).split())
