"""`specdoctor drafter gap` and `data`: the figures a user types, and what comes back."""

from __future__ import annotations

from pathlib import Path
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
        ("drafter", "gap", "--trained", "0.7"),
        ("drafter", "gap", "--trained", "0.7", "--served", "1:1.6", "--served-positions", "0.6"),
        ("drafter", "gap", "--training-log", "missing.log", "--served", "1:1.6"),
        ("drafter", "gap", "--trained", ",", "--served-positions", ","),
        DATA,
        (*DATA, "--wished", "0.5"),
        (*DATA, "--to", "500000", "--point", "1:1e300", "--point", "2:1.2"),
        (*DATA, "--to", "500000", "--point", "9250:3.1"),
    ],
)
def test_wrong_figures_are_one_message(specdoctor: Command, words: tuple[str, ...]) -> None:
    result = specdoctor(*words)
    assert result.exit_code == 2
    assert "next" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_same_gap_from_a_log_and_from_positions(specdoctor: Command, folder: Path) -> None:
    (folder / "train.log").write_text("step 9 train/acc_0: 0.747, train/acc_1: 0.67\n")
    words = ("drafter", "gap", "--training-log", "train.log", "--served-positions", "0.60,0.20", "--json")
    found: Any = document(specdoctor(*words))
    assert [(p["trained"], round(p["served"], 3)) for p in found["positions"]] == [(0.747, 0.6), (0.67, 0.333)]
    assert found["training"].startswith("acc of training data")
    conditional: Any = document(specdoctor(*words[:-2], "0.60,0.333", "--positions-are", "conditional", "--json"))
    assert conditional["served"]["accept_length"] == pytest.approx(1.8, abs=0.001)
    plain: Any = document(
        specdoctor("drafter", "gap", "--trained", "0.7", "--served", "1:0.6", "--without-bonus", "--json")
    )
    assert plain["served"]["accept_length"] == pytest.approx(1.6)


def test_unlike_quantities_are_named(specdoctor: Command) -> None:
    text = " ".join(specdoctor(*GAP).stdout.split())
    assert "74.7% in training against 11.9% (or 6.0%) in service compares different quantities" in text
    assert "0.747 -> 0.600 at the first position and 0.670 -> 0.333 at the second" in text


def test_the_learning_curve_of_the_own_recipe_goes_first(specdoctor: Command) -> None:
    words = (*DATA, "--to", "74000", "--point", "9250:1.82", "--point", "18500:1.91")
    result = specdoctor(*words)
    text = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert "a doubling, least squares over log2(samples), 3 trainings of one recipe" in text
    assert "2.09" in text
    found: Any = document(specdoctor(*words, "--json"))
    assert found["curve"]["expected"]["value"] == pytest.approx(2.09, abs=0.001)
    far = specdoctor(*words[:-6], "--to", "500000", *words[-4:])
    assert (far.exit_code, "doublings beyond the largest training" in " ".join(far.stdout.split())) == (3, True)
    two = specdoctor(*DATA, "--to", "74000", "--point", "9250:1.82")
    assert (two.exit_code, "needs three sizes" in two.stdout) == (3, True)
    assert specdoctor(*DATA, "--to", "74000", "--point", "9250").exit_code == 2


def test_a_budget_beyond_reach_is_said_in_words(specdoctor: Command) -> None:
    text = " ".join(specdoctor(*DATA, "--wished", "2.6").stdout.split())
    assert "158,260 to more than a billion samples" in text
    endless = specdoctor(*DATA, "--wished", "2.9", "--tokens-per-sample", "1e308", "--generation-tok-s", "1e-300")
    assert (endless.exit_code, "no end of" in " ".join(endless.stdout.split())) == (0, True)


def test_one_accept_length_is_not_laid_out_by_position(specdoctor: Command) -> None:
    words = ("drafter", "gap", "--trained", "0.747,0.67", "--served", "15:1.9")
    text = " ".join(specdoctor(*words).stdout.split())
    assert "equal rates are assumed at positions 1 to 15" in text
    assert "1.36 of the accept length in all; at which draft one accept length cannot tell" in text
    assert "at the first position" not in text
    assert "at 1 step: 1.747" in text
    found: Any = document(specdoctor(*words, "--json"))
    assert (found["departs_at"], found["first_gap"], found["later_gap"]) == (None, None, None)
    assert found["assumed"].startswith("equal rates")
    assert found["trained_one_step"] == pytest.approx(1.747)


@pytest.mark.parametrize(("first", "second"), [("1:1.6", "3:1.5"), ("3:1.5", "1:1.6"), ("3:1.9", "3:1.5")])
def test_served_figures_that_contradict_each_other_are_named(specdoctor: Command, first: str, second: str) -> None:
    words = ("drafter", "gap", "--trained", "0.747,0.67", "--served", first, "--served", second)
    assert "contradict each other" in " ".join(specdoctor(*words).stdout.split())
    found: Any = document(specdoctor(*words, "--json"))
    assert len(found["contradictions"]) == 1


def test_a_fall_within_noise_is_no_contradiction(specdoctor: Command) -> None:
    words = ("drafter", "gap", "--trained", "0.747,0.67", "--served", "1:1.6", "--served", "3:1.57")
    assert "contradict" not in specdoctor(*words).stdout


def test_the_recursion_is_told_by_the_figures(specdoctor: Command) -> None:
    both = " ".join(specdoctor(*GAP).stdout.split())
    assert "the first draft is as in training" not in both
    assert "that the first falls too (0.747 -> 0.600) it does not explain" in both
    later = specdoctor("drafter", "gap", "--trained", "0.747,0.67", "--served", "1:1.74", "--served", "4:2.0").stdout
    assert "the first draft is as in training" in " ".join(later.split())


@pytest.mark.parametrize(
    ("to", "shown", "said"),
    [
        ("500000", "2.86 to 3.07", "above 3 only with more draft steps than this drafter's 2"),
        ("37000000", "4.00 to 4.00", "before it was cut to what is possible, 1 to 4 with 3 draft steps"),
        ("500000000", "2.27 to 3.00", "1 to 3 with 2 draft steps"),
        ("1000", "1.00 to 1.00", "0.51 to 0.81 before it was cut"),
    ],
)
def test_no_accept_length_is_impossible(specdoctor: Command, to: str, shown: str, said: str) -> None:
    text = " ".join(specdoctor(*DATA, "--to", to).stdout.split())
    assert shown in text
    assert said in text
    found: Any = document(specdoctor(*DATA, "--to", to, "--json"))
    for reading in found["scale"]["readings"]:
        assert 1.0 <= reading["low"] <= reading["middle"] <= reading["high"] <= 4.0


def test_a_curve_that_is_cut_at_the_cap_says_so(specdoctor: Command) -> None:
    steep = ("drafter", "data", "--samples", "37000", "--accept-length", "2.9", "--draft-steps", "2", "--to", "74000")
    points = ("--point", "9250:1.9", "--point", "18500:2.4")
    assert "cut at 3, the most that 2 draft steps give" in " ".join(specdoctor(*steep, *points).stdout.split())
    found: Any = document(specdoctor(*steep, *points, "--json"))
    assert found["curve"]["cut"].startswith("cut at 3")


def test_what_is_reached_already_needs_no_samples(specdoctor: Command) -> None:
    result = specdoctor(*DATA, "--wished", "1.9", "--point", "9250:1.82", "--point", "18500:1.91")
    assert "1.9 is reached already: it has 2 with 37,000 samples" in " ".join(result.stdout.split())
    assert "samples for 1.9" not in result.stdout


def test_hours_name_what_they_rest_on(specdoctor: Command) -> None:
    text = " ".join(specdoctor(*DATA, "--wished", "2.4").stdout.split())
    assert (
        "assumed 1,000 tokens a sample at 5,000 tok/s of the target's output, for the additional samples only" in text
    )
