"""How many steps of a lookup drafter carry a draft at all?"""

from __future__ import annotations

import re

from specdoctor.analysis.measured_rows import paired
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Counters
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LOOKUP = re.compile(r"n-?gram|lookup|suffix|\[gram\]", re.IGNORECASE)
LITTLE = 1.2
"""Tokens a forward over all steps below this: drafting can bring a fifth at the very most."""
_NAMES = {"tokens": "generation_tokens_total", "drafts": "num_drafts_total", "accepted": "num_accepted_tokens_total"}


class LookupDrafts:
    """The engine's mean counts only steps with a draft; over all steps lookup on fresh text gives hardly more
    than one.
    """

    name = "lookup-drafts"
    summary = "Work out the tokens a forward of a lookup drafter over all steps, those without a draft included."
    causes = ("LOAD-6",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        spec = scene.view.spec or scene.view.asked_spec
        if spec is None or not spec.on or not LOOKUP.search(str(spec.algorithm)):
            return silent(self.name, "LOAD-6", "no lookup drafter is in force")
        dumps = sorted(scene.material.counters, key=lambda c: _total(c, "tokens")[0])
        if len(dumps) < 2 and scene.material.files and "slow" in scene.complaints:
            said = (
                "drafts are looked up in the text so far: where it does not repeat they bring nothing; no counters tell"
            )
            place = scene.view.asked_source
            return (suspected(self.name, "LOAD-6", said, *((place,) if place is not None else ())),)
        if len(dumps) < 2:
            return no_data(self.name, "LOAD-6", "no two dumps of counters tell tokens and drafts apart")
        first, last = dumps[0], dumps[-1]
        tokens, drafts, accepted = (_total(last, n)[0] - _total(first, n)[0] for n in ("tokens", "drafts", "accepted"))
        forwards = tokens - accepted
        if tokens <= 0 or forwards <= 0 or drafts <= 0:
            return no_data(self.name, "LOAD-6", "the counters stood still or began anew")
        line = _total(last, "drafts")[1]
        place = Source(where=last.where, line=line)
        said = (
            f"{drafts:.0f} of about {forwards:.0f} steps carried a draft, {tokens / forwards:.2f} "
            f"tokens a step over all "
            f"({1 + accepted / drafts:.2f} where there was a draft)"
        )
        if tokens / forwards >= LITTLE:
            return silent(self.name, "LOAD-6", said, place)
        gains = [arm.speedup for arm in paired(scene) if arm.speedup is not None]
        if gains and max(gains) < 1.0 and "slow" in scene.complaints:
            return (proved(self.name, "LOAD-6", said, place, about="accept_length", explains=False),)
        return (suspected(self.name, "LOAD-6", said, place, about="accept_length"),)


def _total(dump: Counters, name: str) -> tuple[float, int | None]:
    """A counter added up over its labels, and the line of its first sample."""
    keys = [k for k in dump.samples if _NAMES[name] in k.partition("{")[0]]
    return sum(dump.samples[k] for k in keys), dump.lines.get(keys[0]) if keys else None


check = LookupDrafts()
