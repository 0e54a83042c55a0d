"""Is one slow line of the log only that which spans the idle time before it?"""

from __future__ import annotations

from statistics import median

from specdoctor.analysis.measured_rows import flat
from specdoctor.checks.reading import log_source, no_data, no_files, silent, windows
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

FEWEST = 5
FAR_BELOW = 0.5
STEADY = 0.15
"""Speeds of the other lines lie this close to their mean, accept lengths of single intervals included (heuristic)."""


class FirstLine:
    """A line's speed is its tokens over the time since the line before: after idling it says nothing."""

    name = "first-line"
    summary = "See whether only lines that span prefill or idle time are slow while all others run alike."
    causes = ("MEAS-5",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, "MEAS-5", "no files were given to be judged")
        seen = windows(scene.view)
        clean = [w for w in seen if w.clean and w.throughput_tok_s > 0]
        if len(clean) < FEWEST:
            return no_data(self.name, "MEAS-5", f"fewer than {FEWEST} steady decode lines")
        usual = median(w.throughput_tok_s / w.running for w in clean)
        low = [w for w in seen if w.throughput_tok_s / w.running < FAR_BELOW * usual]
        if not low or any(w.clean for w in low) or not flat((w.throughput_tok_s / w.running for w in clean), STEADY):
            return silent(self.name, "MEAS-5", "no line is slow for spanning other time alone")
        said = (
            f"{len(low)} of {len(seen)} lines span prefill or idle time ({low[0].throughput_tok_s:g} tok/s); all "
            f"{len(clean)} others run at about {usual:.0f} a request"
        )
        asked = bool({"queueing", "varies"} & set(scene.complaints)) and "slow" not in scene.complaints
        place = log_source(scene.view, low[0].line, "")
        if not asked:
            return silent(self.name, "MEAS-5", said, place)
        return (proved(self.name, "MEAS-5", said, place, log_source(scene.view, clean[0].line, "")),)


check = FirstLine()
