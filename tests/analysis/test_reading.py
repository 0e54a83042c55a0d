"""Readings of measured figures, and reference ranges."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from specdoctor.analysis.acceptance import (
    Chain,
)
from specdoctor.analysis.interval import exact, from_error
from specdoctor.analysis.reading import compare_slow_down, read_accept_length, read_positions, read_tax
from specdoctor.analysis.reference import (
    REFERENCE_RANGES,
    compare_with_reference,
    more_training_data,
    reference_range,
)


class TestReadings:
    @pytest.mark.parametrize(
        ("fixed", "step", "reading"),
        [(8.2, 7.07, "healthy"), (17.7, 12.1, "look"), (27.5, 12.1, "system-fault"), (3.4, 1.55, "small-target")],
    )
    def test_tax(self, fixed, step, reading):
        assert read_tax(fixed_ms=fixed, baseline_step_ms=step).reading == reading

    def test_levels(self):
        assert read_accept_length(1.005, steps=3) == "not-aligned"
        assert read_accept_length(2.3, steps=3) == "plain"
        assert read_accept_length(3.95, steps=3) == "near-maximum"
        assert read_accept_length(1.97, steps=1) == "plain"

    def test_positions(self):
        assert read_positions(Chain(marginal=(0.45, 0.3)), least_first=0.78).kind == "first-low"
        assert read_positions(Chain(marginal=(0.8, 0.2))).position == 2
        assert read_positions(Chain(marginal=(0.8, 0.6, 0.1))).position == 3
        assert read_positions(Chain(marginal=(0.83, 0.60, 0.45)), least_first=0.78).kind == "plain"
        assert read_positions(Chain(marginal=(0.8, 0.0, 0.0))).position == 2
        assert read_positions(Chain()).kind == "plain"
        assert read_positions(Chain(marginal=(0.0, 0.0))).kind == "plain"

    @pytest.mark.parametrize(
        ("after", "kind"), [((12, 24), "uniform"), ((10, 26), "cycle-more"), ((13, 20), "baseline-more")]
    )
    def test_slow_down(self, after, kind):
        found = compare_slow_down(
            step_before=exact(10, "ms"),
            step_after=exact(after[0], "ms"),
            cycle_before=exact(20, "ms"),
            cycle_after=exact(after[1], "ms"),
        )
        assert found.kind == kind

    def test_slow_down_that_cannot_be_told(self):
        wide = from_error(20, 1.5, "ms", estimator="median", n=4)
        found = compare_slow_down(
            step_before=exact(10, "ms"), step_after=exact(11, "ms"), cycle_before=wide, cycle_after=exact(23, "ms")
        )
        assert found.kind == "undecided"


class TestReference:
    def test_own_family_before_any(self):
        assert reference_range(family="kimi-k2", steps=3, domain="gsm8k").low == 2.95
        assert reference_range(family="kimi-k2", steps=3, domain="coding").family == "any"
        assert reference_range(family="any", steps=4, domain="coding") is None
        assert reference_range(family="any", steps=3, domain="gsm8k") is None

    def test_every_row_names_its_source(self):
        assert all(row.source and row.source in row.name for row in REFERENCE_RANGES)

    def test_impossible_row(self):
        with pytest.raises(ValidationError, match="impossible at 1 steps"):
            type(REFERENCE_RANGES[0]).model_validate({**REFERENCE_RANGES[0].model_dump(), "high": 2.5})

    @pytest.mark.parametrize(("value", "place"), [(2.0, "below"), (2.9, "within"), (3.6, "above"), (2.36, "undecided")])
    def test_places(self, value, place):
        row = reference_range(family="any", steps=3, domain="coding")
        measured = from_error(value, 0.02, "tokens/cycle", estimator="pooled", n=40)
        assert compare_with_reference(measured, row).place == place

    def test_one_doubling_within_a_recipe_has_no_caveat(self):
        found = more_training_data(length_now=2.8, samples_now=400_000, samples_then=800_000)
        assert (found.by_doublings.value, found.caveats) == (pytest.approx(2.85), ())

    def test_less_data_keeps_the_interval_in_order(self):
        found = more_training_data(length_now=1.05, samples_now=800_000, samples_then=400_000)
        assert found.by_doublings.low == 1.0
        assert found.by_line_low <= found.by_line_high
