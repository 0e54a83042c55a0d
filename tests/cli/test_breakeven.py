"""The calculator: both sides of break-even, a target, a measured throughput, and figures that cannot be."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command, document

SLOW = ("breakeven", "--baseline", "82", "--cycle-ms", "30", "--accept-length", "2.0")


def test_both_sides_the_target_and_the_gap(specdoctor: Command) -> None:
    shown = specdoctor(*SLOW, "--target", "100", "--throughput", "60", "--draft-steps", "2", "--json")
    found = document(shown)
    assert found["schema"] == "specdoctor.breakeven/1"
    assert found["break_even_accept_length"] == pytest.approx(2.46, rel=1e-12)
    assert found["break_even_cycle_ms"] == pytest.approx(2000 / 82, rel=1e-12)
    assert found["accept_length_for_target"] == pytest.approx(3.0, rel=1e-12)
    assert (found["feasible"], found["why"]) == (False, "needs-rate-over-0.90")
    assert found["speedup"] == pytest.approx(2.0 / 2.46, rel=1e-12)
    assert found["speedup_measured"] == pytest.approx(60 / 82, rel=1e-12)
    assert found["identity_gap"] == pytest.approx(0.1, rel=1e-9)


def test_what_was_not_given_is_null(specdoctor: Command) -> None:
    found = document(specdoctor("breakeven", "--baseline", "90", "--cycle-ms", "28.169", "--json"))
    assert found["break_even_accept_length"] == pytest.approx(2.535, rel=1e-3)
    for name in ("break_even_cycle_ms", "accept_length_for_target", "feasible", "why", "speedup", "identity_gap"):
        assert found[name] is None, name


@pytest.mark.parametrize(
    ("target", "steps", "feasible", "why"),
    [
        (101, 2, False, "above-maximum"),
        (100, 3, True, None),
        (100, 4, True, None),
        (20, 2, True, None),
        (82, 1, False, "above-maximum"),
    ],
)
def test_whether_the_steps_can_reach_a_target(
    specdoctor: Command, target: float, steps: int, feasible: bool, why: str | None
) -> None:
    words = ("breakeven", "--baseline", "82", "--cycle-ms", "30", "--target", str(target))
    found = document(specdoctor(*words, "--draft-steps", str(steps), "--json"))
    assert (found["feasible"], found["why"]) == (feasible, why)


@pytest.mark.parametrize(
    ("speed", "said"),
    [
        ("500", "7.5 times accept length / cycle"),
        ("80", "20.0% faster than"),
        ("67", "0.5% apart"),
        ("10", "85.0% slower"),
    ],
)
def test_a_speed_beside_the_calculated_one_in_words(specdoctor: Command, speed: str, said: str) -> None:
    flat = " ".join(specdoctor(*SLOW, "--throughput", speed).stdout.split())
    assert said in flat
    assert "-" not in flat.split("measured")[1].split("assumes")[0]


def test_the_words_hold_the_figures(specdoctor: Command) -> None:
    shown = specdoctor(*SLOW, "--target", "100", "--throughput", "60", "--draft-steps", "2").stdout
    flat = " ".join(shown.split())
    assert "break-even 2.46 tokens a cycle (bonus token included) at 30 ms a cycle against 82 tok/s" in flat
    assert "a cycle under 24.4 ms at 2 tokens" in flat
    assert "speculation loses: 66.7 tok/s of decode, 0.813 of the baseline" in flat
    assert "60 tok/s, 0.732 of the baseline; 10.0% slower than accept length / cycle" in flat
    assert "100 tok/s needs 3 tokens a cycle; 2 steps give at most 3: out of reach" in flat
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--baseline", "0", "--cycle-ms", "30"), "baseline throughput is 0"),
        (("--baseline", "82", "--cycle-ms", "0.03"), "give it in milliseconds"),
        (("--baseline", "82", "--cycle-ms", "30", "--accept-length", "0.8"), "below 1"),
        (("--baseline", "82", "--cycle-ms", "30", "--accept-length", "4", "--draft-steps", "2"), "exceeds 3"),
        (("--baseline", "82", "--cycle-ms", "30", "--draft-steps", "-1"), "draft steps is -1"),
        (("--baseline", "nan", "--cycle-ms", "30"), "is nan"),
        (("--baseline", "82", "--cycle-ms", "30", "--target", "-4"), "target throughput is -4"),
        (("--baseline", "82", "--cycle-ms", "30", "--throughput", "inf"), "throughput is inf"),
    ],
)
def test_a_figure_that_cannot_be_is_a_usage_error(specdoctor: Command, words: tuple[str, ...], said: str) -> None:
    shown = specdoctor("breakeven", *words)
    assert shown.exit_code == 2
    assert said in " ".join(shown.stderr.split())
    assert shown.stdout == ""


def test_the_cycle_follows_from_accept_length_and_throughput(specdoctor: Command) -> None:
    given = ("breakeven", "--baseline", "90", "--throughput", "56.8", "--accept-length", "1.6")
    found = document(specdoctor(*given, "--json"))
    assert found["cycle_ms"] == pytest.approx(28.169, abs=1e-3)
    assert found["cycle_derived"] is True
    assert found["break_even_accept_length"] == pytest.approx(2.535, abs=1e-3)
    assert "speculation loses: 56.8 tok/s, 0.631 of the baseline" in specdoctor(*given).stdout
    alone = specdoctor("breakeven", "--baseline", "90", "--throughput", "56.8")
    assert (alone.exit_code, "add --cycle-ms, or both" in alone.stderr) == (2, True)
