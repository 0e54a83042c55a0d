"""Are two rates of acceptance compared that have different denominators?"""

from __future__ import annotations

from specdoctor.analysis.measured_rows import own_rows
from specdoctor.checks.reading import log_source, no_data, silent, windows
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

SAME = 0.03
"""Two means of one run lie this close together; a definition moves the rate by 0.1 and more."""


class TwoRates:
    """Older SGLang prints accept length / draft tokens, the root counted: a quarter for nothing accepted of four."""

    name = "two-rates"
    summary = "See whether the rate that the log prints and one in a table are the same figure in two definitions."
    causes = ("MEAS-2",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        seen = [w for w in windows(scene.view) if w.accept_rate is not None and w.strict_rate is not None]
        if not seen:
            return no_data(self.name, "MEAS-2", "the log prints no rate of acceptance")
        printed = sum(w.accept_rate or 0.0 for w in seen) / len(seen)
        strict = sum(w.strict_rate or 0.0 for w in seen) / len(seen)
        place = log_source(scene.view, seen[0].shows_acceptance, "")
        said = (
            f"the log prints {printed:.2f} (accept length / draft tokens), of the drafts alone "
            f"{strict:.2f} are accepted"
        )
        if abs(printed - strict) <= SAME:
            return silent(self.name, "MEAS-2", f"the log's rate {printed:.2f} is that of the drafts alone", place)
        twin = next(
            (r for r in own_rows(scene) if r.acceptance is not None and abs(r.acceptance - strict) <= SAME), None
        )
        if twin is None:
            return silent(self.name, "MEAS-2", said, place)
        claim = f"{said}, which is what the other tool says ({twin.acceptance:.2f}): one figure in two definitions"
        asked = "low-acceptance" in scene.complaints or not scene.complaints
        return (proved(self.name, "MEAS-2", claim, place, twin.source, about="accept_length", explains=asked),)


check = TwoRates()
