"""Does greedy text differ as any change of the batch makes it differ, at a near tie and at equal quality?"""

from __future__ import annotations

import re

from specdoctor.analysis.factors import quality_of
from specdoctor.analysis.given_lines import found_lines
from specdoctor.checks.reading import no_data, no_files, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

GAP = re.compile(
    r"\b(?:log-?prob\w*|top-?2|logits?)\b.{0,80}?\b(?:gap|difference|margin|apart)\b\D{0,20}(?P<n>\d*\.\d+)", re.I
)
REPEATED = re.compile(
    r"\b(?:without|no) spec\w*\b.{0,80}\b(?:differ\w*|not identical|other text|diverge\w*)\b|"
    r"\bbaseline\b.{0,60}\b(?:differs?|diverges?)\b.{0,40}\b(?:itself|too|batch)",
    re.I,
)
SCORES = re.compile(
    r"\b(?:gsm8k|mmlu|humaneval|accuracy|score|eval)\w*\b.{0,40}?(?P<a>\d+(?:\.\d+)?)\s*%.{0,40}?(?P<b>\d+(?:\.\d+)?)\s*%",
    re.I,
)
NEAR = 0.05
"""A gap of log-probabilities below this is within what the order of sums in bf16 moves (named heuristic)."""
SAME_SCORE = 1.0
"""Scores this close, in points, are equal for a thousand questions (standard error of a share: 0.8 to 1.6 points)."""
ENOUGH = 2


class NearTie:
    """Other batch shapes round otherwise: that moves a near tie, and nothing else."""

    name = "near-tie"
    summary = "See in notes whether text differs at a near tie, with equal scores, and without speculation as well."
    causes = ("CORR-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, "CORR-3", "no files were given to be judged")
        signs = [s for s in (_gap(scene), _repeated(scene), _scores(scene)) if s is not None]
        if not signs:
            return no_data(self.name, "CORR-3", "no gap at the first difference, repeat or pair of scores was given")
        claim = "; ".join(said for said, _ in signs)
        places = [place for _, place in signs]
        if "wrong-output" not in scene.complaints:
            return silent(self.name, "CORR-3", claim, *places)
        if len(signs) >= ENOUGH:
            return (proved(self.name, "CORR-3", f"{claim}: rounding, no fault", *places),)
        return (suspected(self.name, "CORR-3", claim, *places),)


def _gap(scene: Scene) -> tuple[str, Source] | None:
    for place, match in found_lines(scene, GAP):
        if float(match["n"]) <= NEAR:
            return f"the first difference is at a near tie (gap {match['n']})", place
    return None


def _repeated(scene: Scene) -> tuple[str, Source] | None:
    place = next((s for s, _ in found_lines(scene, REPEATED, "notes", "table", "text")), None)
    return ("the text differs without speculation too", place) if place is not None else None


def _scores(scene: Scene) -> tuple[str, Source] | None:
    for place, match in found_lines(scene, SCORES, "notes", "table", "text"):
        if abs(float(match["a"]) - float(match["b"])) <= SAME_SCORE:
            return f"scores are equal ({match['a']} and {match['b']} %)", place
    for table in scene.material.tables:
        scored = [(q, row) for row in table.rows if (q := quality_of(table, row)) is not None and q > 0]
        values = [q if q > 1 else 100 * q for q, _ in scored]
        if len(values) > 1 and max(values) - min(values) <= SAME_SCORE:
            return f"scores are equal ({min(values):g} to {max(values):g} %)", scored[0][1].source
    return None


check = NearTie()
