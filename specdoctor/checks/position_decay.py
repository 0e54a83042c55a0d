"""What do the accepted shares by draft position say: ordinary decay, positions that pay nothing, or a collapse?"""

from __future__ import annotations

import itertools
import re

from specdoctor.analysis.dumped_drafts import counts_by_position
from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.measured_rows import own_rows, paired
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LIST = re.compile(
    r"(?:per[- ]position acceptance rate|"
    r"acceptance rate per position|acc rate/pos)\s*[:=]\s*\(?(?P<list>[01]?\.\d+(?:,\s*[01]?\.\d+)*)",
    re.IGNORECASE,
)
SOUND_FIRST = 0.6
"""A first position accepted as often as this is not the sign of a broken head (public EAGLE-3 heads show 0.6
to 0.9)."""
PAYS = 0.2
"""A position reached and accepted less often than this share of cycles seldom pays: in public sweeps a further draft
token costs 7 to 10 % of a cycle that yields 2 to 3.5 tokens (named heuristic)."""
COLLAPSE = 0.5
"""A second position accepted at less than this share of the first one's rate is no ordinary decay (named heuristic)."""
AT_LEAST = 2


class PositionDecay:
    """A rate averaged over positions falls with the draft length by itself; position by position it says more."""

    name = "position-decay"
    summary = (
        "Read the accepted share of each draft position: ordinary decay, late positions that pay nothing, collapse."
    )
    causes = ("CFG-4", "MEAS-2", "WIRE-4", "TRAIN-5")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        found = _shares(scene)
        if found is None:
            return no_data(self.name, None, "nothing gives the accepted share by draft position")
        shares, source = found
        listed = ", ".join(f"{s:.2f}" for s in shares)
        if shares[0] < SOUND_FIRST:
            return silent(self.name, None, f"accepted by position: {listed}; the first is low already", source)
        if len(shares) > 1 and shares[1] / shares[0] < COLLAPSE * shares[0]:
            return self._collapse(scene, listed, source)
        idle = [s for s in shares if s < PAYS]
        if len(idle) >= AT_LEAST:
            return self._too_long(scene, shares, idle, listed, source)
        gains = [arm.speedup or 0.0 for arm in paired(scene)]
        if gains and max(gains) < 1.0:
            return silent(self.name, None, f"accepted by position: {listed}, an ordinary decay", source)
        rates = [b / a for a, b in itertools.pairwise(shares) if a > 0]
        smooth = f", each {min(rates):.2f} to {max(rates):.2f} of the one before" if rates else ""
        length = 1 + sum(shares)
        claim = (
            f"the first position is accepted {shares[0]:.0%} of the time{smooth} ({listed}): "
            f"{length:.2f} tokens a cycle"
        )
        return (excluded(self.name, None, f"{claim}, an ordinary decay", source, about="accept_length"),)

    def _collapse(self, scene: Scene, listed: str, source: Source) -> tuple[Observation, ...]:
        said = f"the second position falls off at once ({listed})"
        spec = scene.view.spec
        own = (
            scene.view.draft_path in (None, scene.view.model_path)
            or "mtp" in str(spec.algorithm if spec else "").lower()
        )
        if own:
            claim = f"{said}: the target's own head is used again for each further token"
            return (suspected(self.name, "TRAIN-5", claim, source, about="accept_length"),)
        claim = f"{said}: what the drafter feeds itself (positions, its KV, its states) may be wrong"
        return (suspected(self.name, "WIRE-4", claim, source, about="accept_length"),)

    def _too_long(
        self, scene: Scene, shares: list[float], idle: list[float], listed: str, source: Source
    ) -> tuple[Observation, ...]:
        kept, mean = len(shares) - len(idle), sum(shares) / len(shares)
        claim = (
            f"positions {kept + 1} to {len(shares)} add {sum(idle):.2f} of {1 + sum(shares):.2f} tokens "
            f"a cycle ({listed}); "
            f"the first is accepted {shares[0]:.0%} of the time"
        )
        if "low-acceptance" not in scene.complaints:
            said = suspected(self.name, "CFG-4", claim, source)
            return (said.model_copy(update={"binds": len(idle) * 2 >= len(shares)}),)
        mixed = f"{mean:.0%} is the mean over {len(shares)} positions; the first alone stands at {shares[0]:.0%}"
        return (
            proved(self.name, "CFG-4", claim, source, fix=f"draft {kept} tokens, then compare the time per token"),
            proved(self.name, "MEAS-2", mixed, source),
        )


def _shares(scene: Scene) -> tuple[list[float], Source] | None:
    """Accepted share by position: by the log's counts, else the mean of its lines, else a row's list."""
    lines = [
        (source, [float(s) for s in match["list"].split(",")])
        for source, match in found_lines(scene, LIST)
        if scene.view.log is None or source.where == scene.view.log.where or len(scene.material.files) < 2
    ]
    longest = max((len(shares) for _, shares in lines), default=0)
    whole = [(source, shares) for source, shares in lines if len(shares) == longest]
    counts = scene.view.log.counts if scene.view.log is not None else None
    if counts is not None and counts.per_position and whole:
        return list(counts.per_position), whole[0][0]
    if whole:
        return [sum(column) / len(whole) for column in zip(*(s for _, s in whole), strict=True)], whole[0][0]
    counted = counts_by_position(scene)
    if counted is not None:
        return list(counted[0].per_position), counted[1]
    row = next((r for r in own_rows(scene) if r.per_position), None)
    return (list(row.per_position), row.source) if row is not None else None


check = PositionDecay()
