"""Does every drafter lose, the more the larger it is and the longer it drafts?"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence

from specdoctor.analysis.measured_rows import Arm, ms_per_token, paired
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*([bm])(?![a-z0-9])", re.IGNORECASE)

WHOLE_MODEL = re.compile(r"draft[-_]?model|standalone|draft[-_]simple|draft[-_]target", re.IGNORECASE)


class DraftCost:
    """A drafter's cost grows with its size and with each token it drafts; weak drafts alone make it grow with
    neither.
    """

    name = "draft-cost"
    summary = "See from measured rows whether the loss grows with the draft length and with the size of the drafter."
    causes = ("LOAD-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        found = paired(scene)
        by_drafter: dict[str, dict[int, Arm]] = defaultdict(dict)
        for arm in found:
            if arm.row.draft_steps and (arm.row.topk or 1) == 1:
                by_drafter[_drafter(arm, scene)].setdefault(arm.row.draft_steps, arm)
        series = {name: arms for name, arms in by_drafter.items() if len(arms) > 1}
        if not series:
            return no_data(self.name, "LOAD-4", "no rows of one drafter at several draft lengths beside a baseline")
        rising = [name for name, arms in series.items() if _rises(arms)]
        losing = [arm for arms in series.values() for arm in arms.values() if (arm.speedup or 0.0) < 1.0]
        measured = sum(len(arms) for arms in series.values())
        sized = sorted((size, name) for name in series if (size := _size(name)) is not None)
        by_size = len(sized) > 1 and _rises_with_size([series[name] for _, name in sized])
        if len(rising) < len(series) or len(losing) < measured or not (by_size or sized):
            return silent(self.name, "LOAD-4", "the loss does not grow with both draft length and drafter")
        shortest = min((a for arms in series.values() for a in arms.values()), key=_time)
        longest = max((a for arms in series.values() for a in arms.values()), key=_time)
        what = "with the drafter's size and with the draft length" if by_size else "with the draft length"
        claim = (
            f"all {measured} settings lose and the loss grows {what}: {shortest.speedup:.2f} times the "
            f"baseline's speed "
            f"at {shortest.row.draft_steps} tokens of {_drafter(shortest, scene)}, {longest.speedup:.2f} at "
            f"{longest.row.draft_steps} of {_drafter(longest, scene)}"
        )
        kept = f"{shortest.row.draft_steps} tokens of {_drafter(shortest, scene)}"
        fix = f"at most {kept}, or a head (EAGLE, MTP) in its place"
        sources = (*shortest.sources, longest.row.source)
        return (proved(self.name, "LOAD-4", claim, *sources, about="cycle", fix=fix),)


def _drafter(arm: Arm, scene: Scene) -> str:
    """The name of what drafts, without the draft length; a whole model that drafts is known by its folder."""
    named = next((c for h, c in arm.row.columns.items() if re.search(r"draft\w*_?model|drafter", h, re.I) and c), "")
    label = named or re.sub(r"[ _-]?k?\d+$", "", arm.row.label)
    spec = scene.view.spec or scene.view.asked_spec
    whole = spec is not None and WHOLE_MODEL.search(str(spec.algorithm)) is not None
    path = (scene.view.draft_path or "").rstrip("/").rpartition("/")[2] if whole else ""
    return label if _size(label) is not None else path or label or "the drafter"


def _size(name: str) -> float | None:
    match = SIZE.search(name.replace("_", " "))
    return float(match[1]) * (1e3 if match[2].lower() == "b" else 1.0) if match else None


def _time(arm: Arm) -> float:
    return ms_per_token(arm.row) or 0.0


def _rises(arms: dict[int, Arm]) -> bool:
    times = [_time(arms[k]) for k in sorted(arms)]
    return all(a < b for a, b in itertools.pairwise(times))


def _rises_with_size(series: Sequence[dict[int, Arm]]) -> bool:
    """Smallest first: each length costs more with each larger drafter."""
    lengths = set.intersection(*(set(arms) for arms in series))
    return bool(lengths) and all(
        _time(small[k]) < _time(large[k]) for k in lengths for small, large in itertools.pairwise(series)
    )


check = DraftCost()
