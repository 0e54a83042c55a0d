"""The cycle from log intervals: which are clean, and what is refused."""

from __future__ import annotations

import pytest

from specdoctor.analysis.window import LogInterval, median_cycle


class TestWindow:
    def interval(self, throughput, **changes):
        return LogInterval(
            **{"running": 1, "running_before": 1, "throughput_tok_s": throughput, "accept_length": 2.5, **changes}
        )

    def test_median_of_clean_intervals(self):
        dirty = [
            self.interval(0.13, after_idle=True),
            self.interval(168.0, has_prefill=True),
            self.interval(700.0, tokens_held=0),
            self.interval(388.0, running_before=2),
            self.interval(0.0),
        ]
        clean = [self.interval(t) for t in (740, 750, 760, 770, 745, 755, 765)]
        found = median_cycle([*dirty, *clean])
        assert found.value == pytest.approx(2500 / 755)
        assert (found.n, found.unit) == (7, "ms")
        assert (found.low, found.high) == (pytest.approx(2500 / 770), pytest.approx(2500 / 740))

    def test_interval_narrows_with_more_lines(self):
        found = median_cycle([self.interval(700 + i) for i in range(101)])
        assert found.low == pytest.approx(2500 / 760)
        assert found.high == pytest.approx(2500 / 740)

    def test_baseline_has_no_accept_length(self):
        found = median_cycle(
            [self.interval(t, accept_length=None, running=4, running_before=4) for t in (400, 400, 400)]
        )
        assert (found.value, found.width) == (10.0, 0.0)

    def test_few_values_give_their_range(self):
        found = median_cycle([self.interval(t) for t in (700, 710, 720)])
        assert (found.low, found.high) == (pytest.approx(2500 / 720), pytest.approx(2500 / 700))
        assert "full range (75%)" in found.estimator

    def test_too_few(self):
        assert median_cycle([self.interval(700)]).kind == "too-few"
        assert median_cycle([]).kind == "too-few"

    def test_load_that_changes(self):
        mixed = [self.interval(700 * b, running=b, running_before=b) for b in (1, 1, 1, 2, 2, 2)]
        assert median_cycle(mixed).kind == "mixed-load"
        assert median_cycle(mixed, running=2).n == 3

    def test_steps_that_change(self):
        mixed = [self.interval(700, steps=k) for k in (1, 1, 1, 3, 3, 3)]
        assert median_cycle(mixed).kind == "mixed-steps"
        assert median_cycle(mixed, steps=3).n == 3

    def test_two_states(self):
        both = [self.interval(2500 / c) for c in (3.35, 3.36, 3.34, 3.37, 5.0, 5.02, 4.99, 5.01)]
        refused = median_cycle(both)
        assert refused.kind == "two-states"
        assert "3.35 ms (4 intervals)" in refused.reason

    def test_one_outlier_among_many_is_no_state(self):
        found = median_cycle([*[self.interval(2500 / (3.3 + i / 1000)) for i in range(30)], self.interval(2500 / 6.0)])
        assert found.n == 31
