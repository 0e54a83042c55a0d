"""Does the accept length drop where the drafter's positions end?"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.measured_rows import accept_length_of, own_rows
from specdoctor.checks.reading import config_of, config_source, log_source, no_data, silent, text_config, whole, windows
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

DROP = 0.7
"""Beyond the limit the accept length is at most this share of what it is below it (public reports: 0.4 to 0.6; figures
of different prompts differ by less; named heuristic)."""
LENGTHS = ("max_position_embeddings", "original_max_position_embeddings")


class _Point(Frozen):
    at: float
    accept_length: float
    source: Source


class LengthSplit:
    """A table or a log that runs through the drafter's limit shows the drop; where the limit is, the config says."""

    name = "length-split"
    summary = "Split measured accept lengths at the drafter's last position and see whether they drop there."
    causes = ("TRAIN-4", "WIRE-6")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        points = _points(scene)
        if len(points) < 2:
            return no_data(self.name, "TRAIN-4", "no accept lengths by prompt length or position")
        limit = whole(text_config(config_of(scene, "draft")[0]).get("max_position_embeddings"))
        place = config_source(scene, "draft", "max_position_embeddings")
        cut = float(limit) if limit is not None and points[0].at < limit <= points[-1].at else None
        if cut is None:
            return self._no_limit_between(scene, points, limit)
        below = [p for p in points if p.at < cut]
        above = [p for p in points if p.at >= cut]
        before, beyond = _mean(below), _mean(above)
        said = f"accept length {before:.2f} below token {cut:.0f} and {beyond:.2f} beyond it"
        sources = (below[-1].source, above[0].source, *((place,) if place is not None else ()))
        if beyond > DROP * before:
            claim = f"{said}: the drafter goes on past its {limit} positions"
            return (excluded(self.name, "TRAIN-4", claim, *sources, against="TRAIN-4"),)
        if min(p.accept_length for p in below) < DROP * max(p.accept_length for p in below):
            claim = f"{said}; it falls below the limit as well"
            return (suspected(self.name, "TRAIN-4", claim, *sources, about="accept_length"),)
        claim = f"{said}: {limit} is the max_position_embeddings of the drafter's config"
        return (proved(self.name, "TRAIN-4", claim, *sources, about="accept_length"),)

    def _no_limit_between(self, scene: Scene, points: Sequence[_Point], limit: int | None) -> tuple[Observation, ...]:
        third = max(len(points) // 3, 1)
        first, last = _together(points[:third]), _together(points[-third:])
        said = (
            f"accept length {first.accept_length:.2f} at {first.at:.0f} tokens and "
            f"{last.accept_length:.2f} at {last.at:.0f}"
        )
        sources = (first.source, last.source)
        if last.accept_length > DROP * first.accept_length:
            return silent(self.name, "TRAIN-4", said, *sources)
        if limit is not None and limit > last.at:
            rope = _rope_differs(scene)
            if rope:
                claim = f"{said}, within the drafter's {limit} positions, and its RoPE is not the target's ({rope})"
                place = config_source(scene, "draft", *LENGTHS, "rope_theta", "rope_scaling")
                more = (place,) if place is not None else ()
                return (proved(self.name, "WIRE-6", claim, *sources, *more, about="accept_length"),)
        claim = f"{said}; the drafter's config does not say where its positions end" if limit is None else said
        return (suspected(self.name, "TRAIN-4", claim, *sources, about="accept_length"),)


def _points(scene: Scene) -> list[_Point]:
    """Accept lengths by position, shortest first: from rows, else from decode lines of a single request."""
    out = []
    for row in own_rows(scene):
        at = row.position_from if row.position_from is not None else row.input_tokens
        length = accept_length_of(row)
        if at is not None and length is not None and row.speculative is not False:
            out.append(_Point(at=at, accept_length=length, source=row.source))
    if len({p.at for p in out}) < 2:
        out = [
            _Point(at=w.tokens, accept_length=w.accept_length, source=log_source(scene.view, w.shows_acceptance, ""))
            for w in windows(scene.view)
            if w.running == 1 and w.tokens and w.accept_length is not None
        ]
    return sorted(out, key=lambda p: p.at)


def _together(points: Sequence[_Point]) -> _Point:
    """Several points as one, at their middle."""
    middle = points[len(points) // 2]
    return middle.model_copy(update={"accept_length": _mean(points)})


def _mean(points: Sequence[_Point]) -> float:
    return sum(p.accept_length for p in points) / len(points)


def _rope_differs(scene: Scene) -> str:
    """The first rope field in which the two configurations differ, in words; empty if none or unknown."""
    draft, target = text_config(config_of(scene, "draft")[0]), text_config(config_of(scene, "target")[0])
    if not draft or not target:
        return ""
    for key in ("rope_theta", "rope_scaling"):
        if draft.get(key) != target.get(key):
            return f"{key} {draft.get(key)} against {target.get(key)}"
    return ""


check = LengthSplit()
