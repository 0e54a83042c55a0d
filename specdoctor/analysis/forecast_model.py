"""Cycle and acceptance of every setting as functions of few unknowns, with what is believed of these beforehand.

Cycle, in units of the baseline step t0 at the same concurrency:

    c(k, topk, n) / t0 = F + (k - 1) * d * (1 + w * (topk - 1)) + V(n) + o [topk > 1]

F is the cycle's fixed part, d one draft forward, w what a branch adds to it, o what trees cost beside (building them,
schedulers that cannot overlap with one), and V the extra of verifying n tokens: linear between 1, 2, 4, 8, 16 and 32
tokens with slopes that may rise (computing begins to bind) or fall (experts that are hit twice). V has two parts: the
target's, which a launch without speculation tells too when r clients are decoded together,

    c(r) / t0 = 1 + V_target(r) * alike + (r - 1) * q

with q what each request costs beside the forward (its context, the host) and `alike` near 1, for r requests are not
quite r tokens of one; and e * (n - 1), the drafter's own pass over what was verified. Without such steps d and V are
told apart only by a tree. o is held on the plain scale: it is nothing where the scheduler overlaps with neither, and a
tenth or more of a short step where trees alone forgo the overlap.

Acceptance: draft i is accepted, given those before it, with odds of its own. A chain that was accepted whole is
followed by one that starts in an easy stretch of text, one that ended at a miss by one that starts in a hard stretch.
With M_i and G_i the prefix acceptance after a miss and after a whole chain, and the share of whole chains s:

    S_i = (1 - s) * M_i + s * G_i,    s = S_k = M_k / (1 - G_k + M_k)

so that S_i of a long run understates a short one; `boost`, the log-odds between the two kinds of start, is what a
second chain tells. With w branches a miss is repaired: 1 - a becomes (1 - a) * exp(-gain(w)), gain rising with log2 w.
The candidates of level i are topk for the first draft, later min(topk, (n - 1) / k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from specdoctor.analysis.draft_setting import DraftSetting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

POSITIONS = 15
_KNOTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_STRETCH_FADES = 0.9


class _Places:
    """Where each unknown stands in the vector."""

    def __init__(self) -> None:
        self.size = 0
        self.baseline = self._take(1)
        self.fixed = self._take(1)
        self.draft = self._take(1)
        self.branch = self._take(1)
        self.tree = self._take(1)
        self.verify = self._take(len(_KNOTS) - 1)
        self.extend = self._take(1)
        self.alike = self._take(1)
        self.request = self._take(1)
        self.odds = self._take(POSITIONS)
        self.boost = self._take(1)
        self.gain = self._take(4)
        self.deeper = self._take(1)

    def _take(self, count: int) -> slice:
        self.size += count
        return slice(self.size - count, self.size)


AT = _Places()


def prior(*, step_ms: float, concurrency: int) -> tuple[Array, Array]:
    """Mean and covariance of the unknowns before any measurement; `step_ms` is the scale of a decode step.

    Wide guesses on purpose: a factor of 2 to 3 either way on each cost, the acceptance of a first draft anywhere.
    """
    mean, parts = np.zeros(AT.size), np.zeros((AT.size, AT.size))

    def set_to(place: slice, value: float, spread: float) -> None:
        mean[place] = value
        parts[place, place] = np.diag([spread**2] * (place.stop - place.start))

    set_to(AT.baseline, math.log(step_ms), 1.0)
    set_to(AT.fixed, math.log(1.25), 0.35)
    set_to(AT.draft, math.log(0.045), 0.8)
    set_to(AT.branch, math.log(0.02), 1.2)
    set_to(AT.tree, 0.05, 0.08)
    set_to(AT.extend, math.log(0.001), 1.3)
    set_to(AT.alike, 0.0, 0.1)
    set_to(AT.request, math.log(0.001), 1.0)
    set_to(AT.boost, 0.4, 0.5)
    set_to(AT.deeper, 0.0, 0.3)
    mean[AT.verify], parts[AT.verify, AT.verify] = _walk(
        len(_KNOTS) - 1, start=math.log(0.015 * math.sqrt(concurrency)), spread=1.0, step=0.0, wander=0.45
    )
    mean[AT.odds], parts[AT.odds, AT.odds] = _walk(POSITIONS, start=0.8, spread=1.0, step=-0.15, wander=0.3)
    mean[AT.gain] = [math.log(0.15), 0.0, -0.1, -0.2]
    parts[AT.gain, AT.gain] = np.diag([0.8**2, 0.3**2, 0.3**2, 0.3**2])
    return mean, parts


def _walk(count: int, *, start: float, spread: float, step: float, wander: float) -> tuple[Array, Array]:
    """A random walk: the first value within `spread`, each next one `step` further and within `wander` of that."""
    index = np.arange(count, dtype=np.float64)
    return start + step * index, spread**2 + wander**2 * np.minimum(index[:, None], index[None, :])


class Settings:
    """Settings as arrays, the baseline (no speculation) among them where `on` is False."""

    def __init__(self, settings: Sequence[DraftSetting]) -> None:
        self.all = tuple(settings)
        self.steps = np.array([max(s.draft_steps, 1) for s in settings], dtype=float)
        self.topk = np.array([max(s.topk, 1) for s in settings], dtype=float)
        self.tokens = np.array([max(s.draft_tokens, 1) for s in settings], dtype=float)
        self.on = np.array([s.on for s in settings])
        deeper = np.minimum(self.topk, np.maximum((self.tokens - 1.0) / self.steps, 1.0))
        self.width = np.where(np.arange(POSITIONS)[None, :] == 0, self.topk[:, None], deeper[:, None])
        lengths = [min(s.draft_steps, POSITIONS) for s in settings]
        self.last = np.array([max(length - 1, 0) for length in lengths])
        self.inside = np.arange(POSITIONS)[None, :] < np.array(lengths)[:, None]


def log_cycle(theta: Array, at: Settings) -> Array:
    """Logarithm of the cycle in ms (of the decode step without speculation): one row a theta, one column a setting."""
    fixed, draft = np.exp(theta[:, AT.fixed]), np.exp(theta[:, AT.draft])
    branch, tree = np.exp(theta[:, AT.branch]), theta[:, AT.tree]
    verify = _wider(theta, at.tokens) + np.exp(theta[:, AT.extend]) * (at.tokens - 1.0)
    forwards = (at.steps - 1.0) * draft * (1.0 + branch * (at.topk - 1.0))
    relative = np.where(at.on, fixed + forwards + verify + tree * (at.topk > 1.0), 1.0)
    result: Array = theta[:, AT.baseline] + np.log(relative)
    return result


def _wider(theta: Array, tokens: Array) -> Array:
    """What verifying so many tokens costs beyond one: one row a theta, one column a number of tokens."""
    spans = [np.clip(tokens - low, 0.0, high - low) for low, high in pairwise(_KNOTS)]
    result: Array = np.exp(theta[:, AT.verify]) @ np.array(spans)
    return result


def log_wide(theta: Array, requests: Array) -> Array:
    """Logarithm of a decode step without speculation of so many requests, over that of one."""
    forward = _wider(theta, requests) * np.exp(theta[:, AT.alike])
    result: Array = np.log(1.0 + forward + np.exp(theta[:, AT.request]) * (requests - 1.0))
    return result


def marginals(theta: Array, at: Settings) -> Array:
    """S_i of each setting's own run: one row a theta, then settings, then positions (0 beyond the last)."""
    gain = _gain(theta, at)
    fading = _STRETCH_FADES ** np.arange(POSITIONS)
    odds, boost = theta[:, None, AT.odds], theta[:, None, AT.boost] * fading
    after_miss = _prefixes(odds, gain, at)
    after_whole = _prefixes(odds + boost, gain, at)
    index = at.last[None, :, None]
    miss_last = np.take_along_axis(after_miss, np.broadcast_to(index, (len(theta), len(at.all), 1)), axis=2)
    whole_last = np.take_along_axis(after_whole, np.broadcast_to(index, (len(theta), len(at.all), 1)), axis=2)
    whole = miss_last / np.maximum(1.0 - whole_last + miss_last, 1e-9)
    result: Array = ((1.0 - whole) * after_miss + whole * after_whole) * at.inside[None]
    return result


def _gain(theta: Array, at: Settings) -> Array:
    """Logarithm by which branches shrink the share of misses, by setting and position."""
    common, own = theta[:, AT.gain][:, :1], theta[:, AT.gain][:, 1:]
    doublings = np.exp(common + own)
    level = np.log2(at.width)
    parts = np.stack([np.clip(level - i, 0.0, 1.0) for i in range(3)])
    total: Array = np.asarray(np.tensordot(doublings, parts, axes=1), dtype=np.float64)
    total[:, :, 1:] *= np.exp(theta[:, AT.deeper])[:, :, None]
    return total


def _prefixes(odds: Array, gain: Array, at: Settings) -> Array:
    missed = 1.0 / (1.0 + np.exp(odds)) * np.exp(-gain)
    kept = np.where(at.inside[None], 1.0 - missed, 1.0)
    result: Array = np.asarray(np.cumprod(kept, axis=2), dtype=np.float64)
    return result


def accept_lengths(theta: Array, at: Settings) -> Array:
    """1 + sum of S_i: one row a theta, one column a setting; 1 without speculation."""
    result: Array = 1.0 + marginals(theta, at).sum(axis=2)
    return result


def conditional_odds(theta: Array, at: Settings) -> Array:
    """Log-odds of the conditional acceptance by position in each setting's own run."""
    falling = marginals(theta, at)
    before = np.concatenate([np.ones_like(falling[:, :, :1]), falling[:, :, :-1]], axis=2)
    rate = np.clip(falling / np.maximum(before, 1e-12), 1e-6, 1.0 - 1e-6)
    result: Array = np.log(rate / (1.0 - rate))
    return result


def derivative(function: Any, theta: Array) -> tuple[Array, Array]:
    """Value (flattened) and Jacobian of a function of one theta, by central differences in one call."""
    step = 1e-4
    shifts = np.concatenate([np.zeros((1, theta.size)), step * np.eye(theta.size), -step * np.eye(theta.size)])
    values = function(theta[None] + shifts).reshape(2 * theta.size + 1, -1)
    rise: Array = (values[1 : theta.size + 1] - values[theta.size + 1 :]).T / (2.0 * step)
    return values[0], rise
