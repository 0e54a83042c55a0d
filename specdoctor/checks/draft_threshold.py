"""Does a drafter go on where it is not sure, because its threshold of confidence is low or was defaulted?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.measured_rows import own_rows
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

IN_FORCE = re.compile(r"n_max\s*=\s*(?P<n>\d+).{0,40}?p_min\s*=\s*(?P<p>\d+(?:\.\d+)?|\.\d+)")
ASKED = re.compile(r"--(?:spec-)?draft-p-min[= ](?P<p>\d+(?:\.\d+)?|\.\d+)")
ASKED_MOST = re.compile(r"--(?:spec-)?draft(?:-n)?(?:-max)?[= ](?P<n>\d+)")
PRINTED = re.compile(
    r"draft acceptance(?: rate)?\s*=\s*[\d.]+\s*\(\s*(?P<accepted>\d+) accepted /\s*(?P<drafted>\d+) generated"
)
FEW = 0.35
"""Less than this share of the drafted tokens accepted: more than half of the drafting is thrown away whatever it costs
(public cases that a threshold cured: 0.07 and 0.19; named heuristic)."""
NONE = 0.03
"""Below this next to nothing is accepted: no threshold is known to have cured that (half of the lowest share that one
did cure; named heuristic)."""
SURE = 0.75
"""Default threshold of older llama.cpp builds, and the lower end of what maintainers advise for prose."""
NO_DEFAULT = 1e-9


class DraftThreshold:
    """A draft model says how sure it is; without a threshold it fills every draft to its end, needed or not."""

    name = "draft-threshold"
    summary = "Compare how much of what was drafted is accepted with the draft length and the confidence asked for."
    causes = ("CFG-1", "CFG-4", "MEAS-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        force = next(iter(found_lines(scene, IN_FORCE, "server log")), None)
        asked = next(iter(found_lines(scene, ASKED, "launch line")), None)
        first = force or asked
        if first is None:
            return no_data(self.name, "CFG-4", "no threshold of confidence is asked for or in force")
        counted = _counted(scene)
        if counted is None:
            return no_data(self.name, "CFG-4", "nothing counts drafted and accepted tokens")
        accepted, drafted, place = counted
        source, match = first
        threshold = float(match["p"])
        share = f"{accepted:.0f} of {drafted:.0f} drafted tokens accepted ({accepted / drafted:.0%})"
        said = f"{share} at a threshold of {threshold:g}"
        if accepted / drafted >= FEW or threshold >= SURE:
            return silent(self.name, "CFG-4", said, source, place)
        if accepted / drafted < NONE:
            claim = f"{said}: next to nothing is accepted, which no threshold brings about"
            return silent(self.name, "CFG-4", claim, source, place)
        fix = f"a threshold of {SURE:g} to 0.9 for this text, then fewer draft tokens"
        length = proved(
            self.name, "CFG-4", f"{said}{_most(scene)}: most of the drafting is thrown away", source, place, fix=fix
        )
        if force is not None and asked is None and threshold <= NO_DEFAULT:
            claim = f"{said}; nobody asked for that threshold: this build's default is 0, older builds' {SURE:g}"
            default = proved(self.name, "CFG-1", claim, source, place, fix=f"ask for it: --spec-draft-p-min {SURE:g}")
            return (default, length)
        claim = (
            "older builds count drafts that were skipped for being too short, so the printed share is lower than it is"
        )
        return (length, suspected(self.name, "MEAS-2", claim, place))


def _counted(scene: Scene) -> tuple[float, float, Source] | None:
    """Accepted and drafted tokens with their place: of an answer's timings, of the log, else of a row."""
    for exchange in scene.material.exchanges:
        timings = exchange.content.get("timings")
        if isinstance(timings, dict):
            accepted, drafted = timings.get("draft_n_accepted"), timings.get("draft_n")
            if isinstance(accepted, int) and isinstance(drafted, int) and drafted:
                place = Source(where=exchange.where, key="draft_n_accepted", quote=str(accepted))
                return float(accepted), float(drafted), place
    lines = list(found_lines(scene, PRINTED))
    if lines:
        total = [sum(float(m[key]) for _, m in lines) for key in ("accepted", "drafted")]
        return (total[0], total[1], lines[0][0]) if total[1] else None
    row = next((r for r in own_rows(scene) if r.drafted_tokens and r.accepted_tokens is not None), None)
    return (row.accepted_tokens or 0.0, row.drafted_tokens or 1.0, row.source) if row is not None else None


def _most(scene: Scene) -> str:
    found = next((m["n"] for _, m in found_lines(scene, ASKED_MOST, "launch line")), None)
    return f", up to {found} a draft" if found is not None else ""


check = DraftThreshold()
