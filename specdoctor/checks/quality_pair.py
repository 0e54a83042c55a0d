"""Are the answers bad only where two switches are on together, or only with one state of a cache?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.analysis.factors import best_of, cell, plain, quality_of, switches
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import excluded, proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene

CACHE = re.compile(r"(?:prefix|radix|kv_reuse|block_reuse|mamba)\w*|^cache|cach(?:e|ing)$")
GRAMMAR = re.compile(r"grammar|json|schema|structured|response_format|guided|tools?(?:_|$)|tool_call")
OFF = re.compile(r"^(?:off|false|no|0|disabled?|none|-|)$", re.IGNORECASE)
FAR_BELOW = 0.7
"""Answers of a broken run score at most this share of the others' (named heuristic; public cases: a third)."""


class QualityPair:
    """Speculation alone and the cache alone leave the answers as they are: what breaks them is the pair."""

    name = "quality-pair"
    summary = "Look in tables of answer quality for runs that are bad only with speculation and prefix cache together."
    causes = ("CORR-1", "CORR-2", "CORR-3", "CORR-5")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        for table in scene.material.tables:
            scored = [(row, q) for row in table.rows if (q := quality_of(table, row)) is not None]
            if len(scored) > 1:
                return self._table(scene, table, scored)
        return no_data(self.name, "CORR-1", "no table says how good the answers were")

    def _table(self, scene: Scene, table: Table, scored: Sequence[tuple[Row, float]]) -> tuple[Observation, ...]:
        values = [q for _, q in scored]
        best, worst = max(values), min(values)
        bad = [row for row, q in scored if _broken(q, best)]
        good = [row for row, q in scored if not _broken(q, best)]
        if not bad or not good:
            claim = f"the answers score alike in all {len(scored)} runs ({worst:g} to {best:g})"
            sides = {row.speculative for row, _ in scored}
            if "wrong-output" in scene.complaints and {True, False} <= sides:
                said = f"{claim}, with speculation and without: other words of equal quality are rounding"
                return (proved(self.name, "CORR-3", said, *(row.source for row, _ in scored)),)
            return silent(self.name, "CORR-1", claim, scored[0][0].source)
        spec_off_bad = [row for row in bad if row.speculative is False]
        if spec_off_bad:
            claim = "the answers are bad without speculation too"
            return (excluded(self.name, "CORR-1", claim, spec_off_bad[0].source, against="CORR-1"),)
        sources = (bad[0].source, *(row.source for row in good))
        grammar = next((h for h in switches(table) if GRAMMAR.search(plain(h)) and _separates(h, bad, good)), None)
        if grammar is not None and any(cell(row, grammar) == cell(bad[0], grammar) for row in good):
            claim = (
                f"answers are broken in {len(bad)} of {len(scored)} runs: only with speculation and {grammar} "
                f"'{cell(bad[0], grammar)}' together"
            )
            return (proved(self.name, "CORR-5", claim, *sources),)
        caches = [h for h in switches(table) if CACHE.search(plain(h))]
        cured = any(OFF.match(cell(row, h)) for row in good if row.speculative for h in caches)
        state = next((h for h in (*caches, *(switches(table) if cured else ())) if _separates(h, bad, good)), None)
        if state is None:
            return self._speculation_alone(bad, good, sources)
        narrow = [row for row in good if row.speculative and not OFF.match(cell(row, _first(caches)))]
        way = best_of([row for row in good if row.speculative] or good)
        cheaper = f"; the quickest sound run is '{way.label or cell(way, state) or 'cache off'}'" if narrow else ""
        claim = (
            f"answers are broken in {len(bad)} of {len(scored)} runs: only with speculation and "
            f"{state} '{cell(bad[0], state)}' together{cheaper}"
        )
        fix = f"run as in '{way.source.quote}'" if narrow else "prefix caching off for this model, or a newer version"
        return (proved(self.name, "CORR-1", claim, *sources, fix=fix),)

    def _speculation_alone(
        self, bad: Sequence[Row], good: Sequence[Row], sources: Sequence[object]
    ) -> tuple[Observation, ...]:
        if any(row.speculative for row in good):
            return silent(self.name, "CORR-1", "no cache switch goes with the broken runs", bad[0].source)
        claim = "answers are broken with speculation and sound without; which part breaks them no run tells"
        return (proved(self.name, "CORR-2", claim, bad[0].source, good[0].source),)


def _broken(quality: float, best: float) -> bool:
    """For scores: far below the best. For shares of failures (kept negative): clearly more than the least."""
    if best > 0:
        return quality < FAR_BELOW * best
    return quality < best - (1 - FAR_BELOW) * max(1.0 if quality >= -1 else 100.0, abs(best))


def _separates(heading: str, bad: Sequence[Row], good: Sequence[Row]) -> bool:
    """Whether no sound run with speculation has a value of that switch that a broken one has."""
    broken = {cell(row, heading) for row in bad}
    return all(cell(row, heading) not in broken for row in good if row.speculative)


def _first(headings: Sequence[str]) -> str:
    return headings[0]


check = QualityPair()
