"""Accuracy by step from trainers' logs: which key it was, and what it is made into."""

from __future__ import annotations

import pytest

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.trainer_log import read_trainer_log


def test_the_last_values_of_a_run() -> None:
    lines = [
        f"{{'train/loss': 1.0, 'train/acc_0': {0.3 if n < 30 else 0.747}, 'train/acc_1': 0.67}}" for n in range(60)
    ]
    found = read_trainer_log("\n".join(lines))
    assert (found.kind, found.held_out, found.values) == ("acc", False, 20)
    assert found.rates == pytest.approx((0.747, 0.67))


def test_held_out_data_count_before_training_data() -> None:
    found = read_trainer_log("train/acc_0=0.9 train/acc_1=0.8\neval/acc_0=0.7 eval/acc_1=0.6")
    assert (found.held_out, found.rates) == (True, (0.7, 0.6))


def test_conditional_counts_before_what_is_only_close_to_it() -> None:
    found = read_trainer_log('"full_acc_0": 0.7, "full_acc_1": 0.5, "cond_acc_0": 0.7, "cond_acc_1": 0.66')
    assert (found.kind, found.rates) == ("cond_acc", (0.7, 0.66))


@pytest.mark.parametrize("key", ["reference_acc_at_pos_{}", "val/reference_prefix_acc_{}_epoch"])
def test_a_marginal_list_is_made_conditional(key: str) -> None:
    first = 1 if "prefix" in key else 0
    text = ", ".join(f"{key.format(first + n)}: {value}" for n, value in enumerate((0.6, 0.3, 0.15)))
    assert read_trainer_log(text).rates == pytest.approx((0.6, 0.5, 0.5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loss: 1.0, accuracy: 0.7, macc_0: 0.5", "no accuracy by step"),
        ("acc_0: 0.7 acc_2: 0.5", "leaves a hole"),
        ("acc_0: 74.7", "acc in the log"),
        ("reference_acc_at_pos_0: 0.3 reference_acc_at_pos_1: 0.6", "not a marginal list"),
    ],
)
def test_logs_that_say_nothing_usable(text: str, said: str) -> None:
    with pytest.raises(FigureError, match=said):
        read_trainer_log(text)
