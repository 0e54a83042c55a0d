"""Student's t distribution with the standard library alone, so that starting costs no import of scipy."""

from __future__ import annotations

import math

_TINY = 1e-300
_PRECISION = 1e-15


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, evaluated by the modified Lentz method."""
    c = 1.0
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    result = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + numerator / c
            c = c if abs(c) > _TINY else _TINY
            result *= d * c
        if abs(d * c - 1.0) < _PRECISION:
            break
    return result


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b) for 0 <= x <= 1."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _continued_fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _continued_fraction(b, a, 1.0 - x) / b


def two_sided_p(t: float, df: float) -> float:
    """Probability of a |t| at least this large with `df` degrees of freedom."""
    return _incomplete_beta(df / 2.0, 0.5, df / (df + t * t))


def _density(t: float, df: float) -> float:
    log_scale = math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0) - 0.5 * math.log(df * math.pi)
    return math.exp(log_scale - (df + 1.0) / 2.0 * math.log1p(t * t / df))


def t_quantile(level: float, df: float) -> float:
    """The t with `level` (for example 0.95) of the distribution between -t and t.

    Newton's steps from below: the two-sided probability falls and is convex, so they never pass the root.
    """
    target = 1.0 - level
    t = 1.0
    while two_sided_p(2.0 * t, df) > target:
        t *= 2.0
    if two_sided_p(t, df) < target:
        t = 0.0
    for _ in range(100):
        step = (two_sided_p(t, df) - target) / (2.0 * _density(t, df))
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t
