"""Is the first drafted token accepted as often as sound drafters of its kind have it accepted?"""

from __future__ import annotations

import math
import re
from statistics import stdev

from specdoctor.analysis.acceptance import equal_rate
from specdoctor.analysis.dumped_drafts import counts_by_position
from specdoctor.analysis.logged_rows import acceptance_place, logged_row
from specdoctor.analysis.measured_rows import accept_length_of, arms
from specdoctor.checks.reading import no_data, no_files, silent, windows
from specdoctor.checks.saying import suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

HEADS = re.compile(r"eagle|mtp|nextn|dspark|dflash|medusa", re.IGNORECASE)
PLAIN = re.compile(r"standalone|draft[-_]?(?:simple|model)", re.IGNORECASE)
HEAD_FLOOR = 0.68
"""Heads of seven public models have 0.78 to 0.93 of first tokens accepted on code; a tenth below that range
is out of it."""
PLAIN_FLOOR = 0.4
"""Plain draft models of one family stay above this in public figures, whatever the text (named heuristic)."""
PLAIN_FIX = "a draft model of the target's own family and generation, or a head trained for this target"
PLAIN_TEST = "one launch with another draft model of the target's own family (same prompts)"


class FirstPosition:
    """Below the range of its kind a drafter is weak or wrongly fed; the figure does not say which of the two."""

    name = "first-position"
    summary = (
        "Compare the rate at which first drafted tokens are accepted with the range of sound drafters of that kind."
    )
    causes = ("WIRE-1", "TRAIN-2", "MIS-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, None, "no files were given to be judged")
        spec = scene.view.spec or scene.view.asked_spec
        algorithm = str(spec.algorithm) if spec is not None and spec.on else ""
        head = bool(HEADS.search(algorithm))
        if not head and not PLAIN.search(algorithm):
            return silent(self.name, None, "no learned drafter is in force")
        found = _rate(scene, spec.draft_steps if spec is not None else 0, spec.topk if spec is not None else 1)
        if found is None:
            return no_data(self.name, None, "nothing tells how often first tokens are accepted")
        rate, how, source = found
        floor = HEAD_FLOOR if head else PLAIN_FLOOR
        said = f"first drafted tokens are accepted {rate:.0%} of the time ({how})"
        if rate >= floor:
            return silent(self.name, None, said, source)
        either = "weak, or not fed what it was trained on" if head else "no pair with this target, or too weak for it"
        claim = f"{said}, {floor:.0%} or more is usual: {either}; the figure does not say which"
        rivals = ("WIRE-1", "TRAIN-2") if head else ("MIS-1", "TRAIN-2")
        said_of = [suspected(self.name, cause, claim, source, about="accept_length") for cause in rivals]
        plain = {} if head else {"TRAIN-2": {"fix": PLAIN_FIX, "decides": PLAIN_TEST}}
        return tuple(o.model_copy(update={"binds": True, **plain.get(o.cause or "", {})}) for o in said_of)


def _rate(scene: Scene, steps: int, topk: int) -> tuple[float, str, Source] | None:
    """As counted by position, else the equal rate that gives the accept length of a chain; two errors are
    allowed for.
    """
    row, seen = logged_row(scene.view), acceptance_place(scene.view)
    counted = counts_by_position(scene)
    if counted is not None and (drafts := counted[0].drafts):
        counts, place = counted
        share = counts.per_position[0]
        place = seen if seen is not None and seen.where == place.where else place
        return share + 2 * math.sqrt(share * (1 - share) / drafts), f"{drafts} drafts counted", place
    if row is not None:
        lengths = [w.accept_length for w in windows(scene.view) if w.accept_length is not None]
        error = stdev(lengths) / math.sqrt(len(lengths)) if len(lengths) > 1 else math.inf
    else:
        measured = [arm.row for arm in arms(scene) if arm.accept_length is not None and (arm.row.topk or 1) == 1]
        row, error = next((r for r in measured if r.draft_steps in (None, steps)), None), 0.0
    length = accept_length_of(row) if row is not None else None
    if row is None or length is None or steps < 1 or topk > 1 or math.isinf(error):
        return None
    rate = equal_rate(min(max(length + 2 * error, 1.0), steps + 1.0), steps)
    how = f"the equal rate that gives {length:.2f} tokens at {steps} draft tokens, two standard errors up"
    place = seen if seen is not None and seen.where == row.source.where else row.source
    return (rate, how, place) if rate is not None else None


check = FirstPosition()
