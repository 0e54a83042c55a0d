"""Throughput of settings that nobody has run, from the cycle and the acceptance of a few that were.

One linear-Gaussian update around the most likely values of `forecast_model`'s unknowns, with a smooth remainder over
the settings for what that model does not say. The interval of a setting is for a fresh launch of it over the same
prompts, at 95 %: it holds what is not known of the model, the scatter of what was measured and the spread of launches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from specdoctor.analysis import forecast_model as model
from specdoctor.analysis.draft_setting import OFF, DraftSetting
from specdoctor.analysis.figure import positive
from specdoctor.analysis.forecast_refusal import unfit
from specdoctor.analysis.interval import NORMAL_95, Estimate, Unit, between
from specdoctor.analysis.launch_figures import LaunchFigures
from specdoctor.analysis.refusal import Refusal
from specdoctor.core.model import Frozen

if TYPE_CHECKING:
    from specdoctor.analysis.forecast_model import Array

ASSUMED_SPREAD = 0.05
"""Relative spread between two launches of one setting where nothing is known of this host."""
PLANNING_SPREAD = 0.015
"""Spread that decisions reckon with at most: with more, nothing would seem worth finding out."""

_REMAINDER_CYCLE = 0.015
_REMAINDER_CHAIN = 0.008
_REMAINDER_TREE = 0.03
_WIDE_ERROR = 0.01
"""Least relative error of a step of several requests over that of one (chosen)."""
_REACH = (1.0, 1.0, 0.7)
_WIDER_THAN_MEASURED = 0.10
"""Relative error of a cycle for each doubling of its tokens beyond the widest forward measured: where computing begins
to bind, the slope of the cycle rises by factors, and nothing narrower tells where that is (chosen)."""
_SHARED_LUCK = 0.5
"""The same prompts are decoded by every launch, so half of what scatters over prompts is common to all (chosen)."""
_ROUNDS = 40
_SEEN_OFTEN_ENOUGH = 0.03
"""Share of the cycles that must reach a draft position before a benchmark tells its acceptance."""


class SettingForecast(Frozen):
    """What is expected of a setting: throughput of a fresh launch, with the accept length and cycle behind it.

    `beyond`: what of it was never measured, in words, so that it is no ground for a choice; empty where all was.
    """

    setting: DraftSetting
    throughput: Estimate
    accept_length: float
    cycle_ms: float
    beyond: str = ""


@dataclass(frozen=True)
class Forecast:
    """Joint belief about the log throughput of `settings` (no speculation among them), all at one concurrency.

    `mean` and `covariance` are what decisions go by; `deviation` is the standard error of a fresh launch under the
    stated spread between launches.
    """

    settings: tuple[DraftSetting, ...]
    mean: Array
    covariance: Array
    deviation: Array
    lengths: Array
    cycles: Array
    launches: int
    spread: float
    belief: _Belief
    widest: float
    trees: bool

    def beyond(self, setting: DraftSetting) -> str:
        """What of a setting no launch has shown: a tree at all, or a forward of so many tokens (`widest` was most)."""
        if setting.topk > 1 and not self.trees:
            return "no tree was measured"
        return f"nothing over {self.widest:.0f} draft tokens was measured" if setting.draft_tokens > self.widest else ""

    def of(self, setting: DraftSetting) -> SettingForecast:
        """The forecast of one setting."""
        at = self.settings.index(setting)
        value, half = math.exp(self.mean[at]), NORMAL_95 * float(self.deviation[at])
        estimator = f"predicted from {self.launches} launches, {self.spread:.1%} between launches"
        low, high = value * math.exp(-half), value * math.exp(half)
        return SettingForecast(
            setting=setting,
            throughput=between(value, low, high, "tok/s", estimator=estimator, n=self.launches),
            accept_length=float(self.lengths[at]),
            cycle_ms=float(self.cycles[at]),
            beyond=self.beyond(setting),
        )


@dataclass(frozen=True)
class _Belief:
    """Mean and covariance of the unknowns and remainders, and how log throughput follows from them."""

    mean: Array
    covariance: Array
    throughput: Array
    at: model.Settings


def forecast(
    figures: Sequence[LaunchFigures],
    settings: Sequence[DraftSetting],
    *,
    concurrency: int = 1,
    spread: float = ASSUMED_SPREAD,
) -> Forecast | Refusal:
    """Predict `settings` (and no speculation) from what was measured at this concurrency.

    `spread` is the relative spread between launches of one setting. Refused where the figures contradict each other or
    hold no acceptance by position: see `forecast_refusal`.
    """
    refused = unfit(figures, spread=spread, concurrency=concurrency)
    if refused is not None:
        return refused
    every = tuple(dict.fromkeys((OFF, *settings, *(f.setting for f in figures))))
    at = model.Settings(every)
    scale = positive("step", min(f.step.value for f in figures))
    before, prior_cov = _prior(at, step_ms=scale, concurrency=concurrency)
    planned = min(spread, PLANNING_SPREAD)
    seen = _Seen(figures, at, spread=planned)
    mean = _most_likely(seen, before, prior_cov)
    _, rises = seen.expected(mean)
    gain = prior_cov @ rises.T @ np.linalg.inv(rises @ prior_cov @ rises.T + np.diag(seen.variance))
    kept = np.eye(before.size) - gain @ rises
    covariance = kept @ prior_cov
    wide = _Seen(figures, at, spread=spread)
    honest = kept @ prior_cov @ kept.T + gain @ np.diag(wide.variance) @ gain.T
    return _told(mean, covariance, honest, at, figures, spread=spread, concurrency=concurrency)


def _prior(at: model.Settings, *, step_ms: float, concurrency: int) -> tuple[Array, Array]:
    """The model's unknowns, then a remainder of the log cycle and one of the log accept length for each setting."""
    mean, parts = model.prior(step_ms=step_ms, concurrency=concurrency)
    count = len(at.all)
    places = np.stack([np.log2(at.steps), np.log2(at.tokens), np.log2(at.topk)]) / np.array(_REACH)[:, None]
    apart = ((places[:, :, None] - places[:, None, :]) ** 2).sum(axis=0)
    alike = np.exp(-0.5 * apart) * np.outer(at.on, at.on)
    of_length = np.where(at.topk > 1.0, _REMAINDER_TREE, _REMAINDER_CHAIN)
    whole = np.zeros((model.AT.size + 2 * count,) * 2)
    whole[: model.AT.size, : model.AT.size] = parts
    cycle, length = _remainders(count)
    whole[cycle, cycle] = alike * _REMAINDER_CYCLE**2
    whole[length, length] = alike * np.outer(of_length, of_length)
    return np.concatenate([mean, np.zeros(2 * count)]), whole


def _remainders(count: int) -> tuple[slice, slice]:
    first = model.AT.size
    return slice(first, first + count), slice(first + count, first + 2 * count)


class _Seen:
    """The measured numbers as one vector, their variances, and what the unknowns would make them."""

    def __init__(self, figures: Sequence[LaunchFigures], at: model.Settings, *, spread: float) -> None:
        self._every = len(at.all)
        self._own = model.Settings([f.setting for f in figures])
        self._where = [at.all.index(f.setting) for f in figures]
        self._positions = [min(len(f.conditional), model.POSITIONS) if f.setting.on else 0 for f in figures]
        values: list[float] = []
        variance: list[float] = []
        for figure, positions in zip(figures, self._positions, strict=True):
            values.append(math.log(figure.step.value))
            variance.append(_relative_error(figure.step) ** 2 + spread**2)
            for wide in figure.wide:
                values.append(math.log(wide.slower.value))
                variance.append(max(_relative_error(wide.slower), _WIDE_ERROR) ** 2)
            if not figure.setting.on or figure.accept_length is None:
                continue
            values.append(math.log(figure.accept_length.value))
            variance.append(max(_SHARED_LUCK * _relative_error(figure.accept_length), 0.004) ** 2)
            for rate in figure.conditional[:positions]:
                value = min(max(rate.value, 1e-3), 1.0 - 1e-3)
                error = _SHARED_LUCK * rate.width / 2.0 / NORMAL_95 / (value * (1.0 - value))
                values.append(math.log(value / (1.0 - value)))
                variance.append(error**2 + (0.03 if figure.setting.is_chain else 0.15) ** 2)
        self._wide = [len(f.wide) for f in figures]
        self._requests = np.array([w.requests for f in figures for w in f.wide], dtype=float)
        self._with_length = [f.setting.on and f.accept_length is not None for f in figures]
        self.values, self.variance = np.array(values), np.array(variance)

    def expected(self, unknowns: Array) -> tuple[Array, Array]:
        """The vector that `unknowns` would give, and its Jacobian."""
        theta, own = unknowns[: model.AT.size], self._own
        cycle, length = _remainders(self._every)
        cycles, cycles_rise = model.derivative(lambda t: model.log_cycle(t, own), theta)
        lengths, lengths_rise = model.derivative(lambda t: np.log(model.accept_lengths(t, own)), theta)
        odds, odds_rise = model.derivative(lambda t: model.conditional_odds(t, own), theta)
        slower, slower_rise = model.derivative(lambda t: model.log_wide(t, self._requests), theta)
        at_wide = 0
        values: list[float] = []
        rises: list[Array] = []

        def add(value: float, rise: Array, remainder: int | None) -> None:
            row = np.zeros(unknowns.size)
            row[: model.AT.size] = rise
            if remainder is not None:
                row[remainder] = 1.0
                value = value + unknowns[remainder]
            values.append(value)
            rises.append(row)

        for launch, where in enumerate(self._where):
            add(cycles[launch], cycles_rise[launch], cycle.start + where)
            for _ in range(self._wide[launch]):
                add(slower[at_wide], slower_rise[at_wide], None)
                at_wide += 1
            if not self._with_length[launch]:
                continue
            add(lengths[launch], lengths_rise[launch], length.start + where)
            for position in range(self._positions[launch]):
                index = launch * model.POSITIONS + position
                add(odds[index], odds_rise[index], None)
        return np.array(values), np.array(rises)


def _relative_error(estimate: Estimate) -> float:
    return estimate.width / 2.0 / NORMAL_95 / max(abs(estimate.value), 1e-12)


def _most_likely(seen: _Seen, before: Array, prior_cov: Array) -> Array:
    """Unknowns that best agree with what was seen and believed: Gauss-Newton steps, halved where they overshoot."""
    trust = np.linalg.inv(prior_cov + np.diag(np.where(np.diag(prior_cov) > 0, 1e-10, 1.0)))

    def cost(unknowns: Array, expected: Array) -> float:
        away, missed = unknowns - before, seen.values - expected
        return float(away @ trust @ away + (missed * missed / seen.variance).sum())

    now = before
    expected, rises = seen.expected(now)
    best = cost(now, expected)
    for _ in range(_ROUNDS):
        weight = np.linalg.inv(rises @ prior_cov @ rises.T + np.diag(seen.variance))
        aim = before + prior_cov @ rises.T @ weight @ (seen.values - expected + rises @ (now - before))
        share, found = 1.0, False
        while share > 1e-3 and not found:
            trial = now + share * (aim - now)
            trial_expected, trial_rises = seen.expected(trial)
            found = cost(trial, trial_expected) < best - 1e-9
            share /= 2.0
        if not found:
            return now
        gained = best - cost(trial, trial_expected)
        now, expected, rises = trial, trial_expected, trial_rises
        best -= gained
        if gained < 1e-6:
            return now
    return now


def _told(
    mean: Array,
    covariance: Array,
    honest: Array,
    at: model.Settings,
    figures: Sequence[LaunchFigures],
    *,
    spread: float,
    concurrency: int,
) -> Forecast:
    """Log throughput, from 1 / T = c / (1000 * b * AL) + q with q what the measured launches spend beside decoding."""
    count = len(at.all)
    cycle, length = _remainders(count)
    theta = mean[: model.AT.size]
    cycles, cycles_rise = model.derivative(lambda t: model.log_cycle(t, at), theta)
    lengths, lengths_rise = model.derivative(lambda t: np.log(model.accept_lengths(t, at)), theta)
    cycles, lengths = cycles + mean[cycle], lengths + mean[length] * at.on
    beside, beside_error = _beside_decoding(figures, concurrency)
    decoding = np.exp(cycles - lengths) / (1000.0 * concurrency)
    whole = np.maximum(decoding + beside, 0.2 * decoding)
    share = decoding / whole
    rises = np.zeros((count, mean.size))
    rises[:, : model.AT.size] = lengths_rise - cycles_rise
    rises[:, cycle] = -np.eye(count)
    rises[:, length] = np.diag(at.on.astype(float))
    rises *= share[:, None]
    of_beside = (beside_error / whole) ** 2
    spread_of_mean = rises @ covariance @ rises.T + np.diag(of_beside)
    widest = float(max(max(f.setting.draft_tokens, 1, *(w.requests for w in f.wide)) for f in figures))
    wider = _WIDER_THAN_MEASURED * np.log2(np.maximum(at.tokens / widest, 1.0))
    of_launch = (share * np.hypot(spread, wider)) ** 2
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", rises, honest, rises) + of_beside + of_launch)
    return Forecast(
        settings=at.all,
        mean=-np.log(whole),
        covariance=spread_of_mean,
        deviation=deviation,
        lengths=np.exp(lengths),
        cycles=np.exp(cycles),
        launches=len(figures),
        spread=spread,
        belief=_Belief(mean=mean, covariance=covariance, throughput=rises, at=at),
        widest=widest,
        trees=any(f.setting.topk > 1 for f in figures),
    )


def _beside_decoding(figures: Sequence[LaunchFigures], concurrency: int) -> tuple[float, float]:
    """Seconds a token beside cycle and accept length (prefill, the rest of a last cycle), and their error."""
    found = []
    for figure in figures:
        tokens = figure.accept_length.value if figure.setting.on and figure.accept_length is not None else 1.0
        found.append(1.0 / figure.throughput.value - figure.step.value / (1000.0 * concurrency * tokens))
    error = float(np.std(found, ddof=1)) if len(found) > 1 else abs(found[0])
    return float(np.mean(found)), error


def narrowing(belief: Forecast, setting: DraftSetting) -> Array:
    """How a launch of `setting` is expected to move the log throughputs: a root of the covariance that it takes away.

    One row a setting, one column for each number that the launch would show.
    """
    known = belief.belief
    figure = _expected_figures(belief, setting)
    seen = _Seen((figure,), known.at, spread=min(belief.spread, PLANNING_SPREAD))
    _, rises = seen.expected(known.mean)
    reach = known.throughput @ known.covariance @ rises.T
    seen_cov = rises @ known.covariance @ rises.T + np.diag(seen.variance)
    root: Array = np.linalg.solve(np.linalg.cholesky(seen_cov), reach.T).T
    return root


def _expected_figures(belief: Forecast, setting: DraftSetting) -> LaunchFigures:
    """What a launch is expected to show, with the errors of a usual benchmark."""
    told = belief.of(setting)
    cycle, length = told.cycle_ms, told.accept_length
    falling = model.marginals(belief.belief.mean[None, : model.AT.size], belief.belief.at)[0]
    row = falling[belief.settings.index(setting)]
    rates, before = [], 1.0
    for value in row[: min(setting.draft_steps, model.POSITIONS)]:
        if before < _SEEN_OFTEN_ENOUGH:
            break
        rates.append(float(np.clip(value / before, 0.01, 0.99)))
        before = float(value)
    return LaunchFigures(
        setting=setting,
        step=_about(cycle, 0.003, "ms"),
        throughput=told.throughput,
        accept_length=_about(length, 0.02, "tokens/cycle"),
        conditional=tuple(_about(rate, 0.05, "fraction") for rate in rates),
    )


def _about(value: float, share: float, unit: Unit) -> Estimate:
    return between(value, value * (1.0 - share), value * (1.0 + share), unit, estimator="expected")
