"""Do two versions of an engine print one acceptance in two definitions?"""

from __future__ import annotations

import re
from itertools import combinations

from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.measured_rows import LAUNCH_NOISE, own_rows
from specdoctor.checks.reading import no_data, no_files, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Row
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source

LINE = re.compile(
    r"Mean acceptance length: (?P<length>\d+\.\d+),.{0,120}?Per-position acceptance rate: "
    r"(?P<list>(?:\d+(?:\.\d+)?, ?)*\d+(?:\.\d+)?)"
)
ROUNDED = 0.03
"""Lengths are printed with two decimals, shares with three: the sum of the shares lies this close (rounding)."""


class TwoLengths:
    """A length without the root's token is lower by exactly one; a rate with it has another denominator."""

    name = "two-lengths"
    summary = (
        "See by the shares of each position whether lengths or rates that differ are one figure in two definitions."
    )
    causes = ("MEAS-2",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, "MEAS-2", "no files were given to be judged")
        found = _by_lines(scene) or _by_rows(scene) or _by_logs(scene)
        if found is None:
            return no_data(self.name, "MEAS-2", "no two figures of acceptance in two definitions")
        said, places, same = found
        if not same:
            return silent(self.name, "MEAS-2", said, *places)
        return (proved(self.name, "MEAS-2", said, *places, about="accept_length"),)


def _by_lines(scene: Scene) -> tuple[str, tuple[Source, ...], bool] | None:
    """Logged lengths with and without the root, told by the sum over positions."""
    kinds: dict[bool, tuple[Source, float, list[float]]] = {}
    for place, match in found_lines(scene, LINE):
        shares = [float(s) for s in match["list"].split(",") if s.strip()]
        length = float(match["length"])
        for rooted in (False, True):
            if abs(length - rooted - sum(shares)) <= ROUNDED:
                kinds.setdefault(rooted, (place, length, shares))
    if len(kinds) < 2:
        return None
    (bare_place, bare, low), (full_place, full, high) = kinds[False], kinds[True]
    if bare_place.where == full_place.where:
        return None
    alike = len(low) == len(high) and abs(sum(low) - sum(high)) <= 2 * LAUNCH_NOISE * max(sum(high), 0.1)
    said = (
        f"{bare:.2f} leaves out the target's own token, {full:.2f} counts it; the shares by position add up to "
        f"{sum(low):.2f} and {sum(high):.2f}"
    )
    return said, (bare_place, full_place), alike


def _by_rows(scene: Scene) -> tuple[str, tuple[Source, ...], bool] | None:
    """Rows of one accept length with two rates: accept length / draft tokens, and that of the drafts alone."""
    spec = scene.view.spec or scene.view.asked_spec
    tokens = spec.draft_tokens if spec is not None and spec.on else 0
    rows = [r for r in own_rows(scene) if r.accept_length and r.acceptance is not None]
    for one, other in combinations(rows, 2):
        for old, new in ((one, other), (other, one)):
            count = old.draft_tokens or tokens
            if count > 1 and _alike(old, new) and _rooted(old, count) and _strict(new, count):
                said = (
                    f"one accept length ({old.accept_length:.2f} and {new.accept_length:.2f}), two rates: "
                    f"{old.acceptance:.2f} is accept length / {count} draft tokens, {new.acceptance:.2f} that of the "
                    f"{count - 1} drafts alone"
                )
                return said, (old.source, new.source), True
    return None


def _by_logs(scene: Scene) -> tuple[str, tuple[Source, ...], bool] | None:
    """The same of two servers' logs; how many draft tokens there are the older form gives itself."""
    means = [mean for view in (scene.view, *scene.others) if (mean := _printed(view)) is not None]
    for one, other in combinations(means, 2):
        for (length, rate, place), (same, strict, there) in ((one, other), (other, one)):
            count = round(length / rate) if rate else 0
            near = abs(length - same) <= LAUNCH_NOISE * length and count > 1
            rooted = near and abs(rate - length / count) <= ROUNDED / 2
            if rooted and abs(strict - (same - 1) / (count - 1)) <= ROUNDED / 2 and rate - strict > ROUNDED:
                said = (
                    f"one accept length ({length:.2f} and {same:.2f}), two rates: {rate:.2f} is accept length / "
                    f"{count} draft tokens, {strict:.2f} that of the {count - 1} drafts alone"
                )
                return said, (place, there), True
    return None


def _printed(view: ServerView) -> tuple[float, float, Source] | None:
    """Mean accept length and mean rate as a log prints them, and its first such line."""
    lines = view.log.decode if view.log is not None else ()
    seen = [w for w in lines if w.accept_length is not None and w.accept_rate is not None and w.running > 0]
    if not seen or view.log is None:
        return None
    length = sum(w.accept_length or 0.0 for w in seen) / len(seen)
    rate = sum(w.accept_rate or 0.0 for w in seen) / len(seen)
    return length, rate, Source(where=view.log.where, line=seen[0].shows_acceptance)


def _alike(one: Row, other: Row) -> bool:
    a, b = one.accept_length or 0.0, other.accept_length or 0.0
    return abs(a - b) <= LAUNCH_NOISE * max(a, b)


def _rooted(row: Row, count: int) -> bool:
    return abs((row.acceptance or 0.0) - (row.accept_length or 0.0) / count) <= ROUNDED / 2


def _strict(row: Row, count: int) -> bool:
    return abs((row.acceptance or 0.0) - ((row.accept_length or 0.0) - 1) / (count - 1)) <= ROUNDED / 2


check = TwoLengths()
