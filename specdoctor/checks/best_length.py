"""Is the draft length in use the best of those that were measured?"""

from __future__ import annotations

from collections import defaultdict

from specdoctor.analysis.measured_rows import Arm, arms, ms_per_token
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import excluded, proved
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene

WORTH = 0.03
"""Time per token above the best by less than this says nothing from one launch each (launches of a host differ by 5 %,
rows of one table by less; named heuristic)."""


class BestLength:
    """Accept length grows with every token drafted; the time per token has a minimum, and that is what counts."""

    name = "best-length"
    summary = "Find the draft length with the least time per token among measured rows, and compare the one in use."
    causes = ("CFG-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        series = _series(scene)
        if len(series) < 3:
            return no_data(self.name, "CFG-4", "no rows of one load at three draft lengths")
        best = min(series.values(), key=_time)
        gains = [arm.speedup for arm in series.values() if arm.speedup is not None]
        if gains and max(gains) < 1.0:
            said = (
                f"no measured length reaches the baseline; the best, {best.row.draft_steps}, is {max(gains):.2f} of it"
            )
            return silent(self.name, "CFG-4", said, *best.sources)
        near = sorted(k for k, arm in series.items() if _time(arm) <= (1 + WORTH) * _time(best))
        used = _in_use(scene)
        arm = series.get(used) if used is not None else None
        if arm is None or used in near:
            return self._fine(best, near, used, series)
        excess = _time(arm) / _time(best) - 1
        claim = (
            f"{used} draft tokens take {_time(arm):.3g} ms a token, {best.row.draft_steps} take {_time(best):.3g} "
            f"({excess:.1%} less work for the same text){_bought(arm, best)}"
        )
        setting = scene.view.spec
        chain = setting is not None and setting.on and setting.topk in (0, 1)
        length = best.row.draft_steps or 0
        changed = setting.model_copy(update={"draft_steps": length, "draft_tokens": length + 1}) if setting else None
        fix = f"draft {length} tokens at this load" + (f"; {_listed(near)} are within noise" if near[1:] else "")
        sources = (best.row.source, arm.row.source, *best.sources[1:])
        found = proved(self.name, "CFG-4", claim, *sources, fix=fix)
        remedy = Remedy(label=f"{length} draft tokens", setting=changed) if chain else None
        return (found.model_copy(update={"remedy": remedy}),)

    def _fine(self, best: Arm, near: list[int], used: int | None, series: dict[int, Arm]) -> tuple[Observation, ...]:
        gain = best.speedup
        if gain is None or gain < 1 + WORTH:
            return silent(self.name, "CFG-4", f"{_listed(near)} draft tokens are best, within noise", *best.sources)
        first = series[min(series)]
        said = f"{used} is among the best ({_listed(near)})" if used in near else f"{_listed(near)} are best"
        claim = (
            f"{gain:.2f} times the baseline's speed at {best.row.draft_steps} draft tokens, {said}; "
            f"each further token is "
            f"accepted less often, so that the curve flattens from {first.speedup or 0:.2f}: the ordinary course"
        )
        return (excluded(self.name, "CFG-4", claim, best.row.source, *best.sources[1:], first.row.source),)


def _series(scene: Scene) -> dict[int, Arm]:
    """Rows of the load with most draft lengths, by length; chains only."""
    loads: dict[tuple[object, ...], dict[int, Arm]] = defaultdict(dict)
    for arm in arms(scene):
        row = arm.row
        if row.draft_steps and (row.topk or 1) == 1 and ms_per_token(row) is not None:
            load = (row.source.where, row.concurrency, row.request_rate, row.prompt, row.input_tokens, _drafter(arm))
            loads[load].setdefault(row.draft_steps, arm)
    used = _in_use(scene)
    return max(loads.values(), key=lambda found: (len(found), used in found), default={})


def _drafter(arm: Arm) -> str:
    """What else a row names, apart from its length."""
    named = [c for h, c in arm.row.columns.items() if any(w in h.lower() for w in ("draft_model", "drafter", "p_min"))]
    return " ".join(named)


def _in_use(scene: Scene) -> int | None:
    spec = scene.view.spec or scene.view.asked_spec
    return spec.draft_steps if spec is not None and spec.on else None


def _time(arm: Arm) -> float:
    return ms_per_token(arm.row) or 0.0


def _listed(lengths: list[int]) -> str:
    return " and ".join(filter(None, (", ".join(map(str, lengths[:-1])), str(lengths[-1]))))


def _bought(arm: Arm, best: Arm) -> str:
    """What the longer draft brought and cost, where the accept lengths say."""
    more, less = arm.accept_length, best.accept_length
    if more is None or less is None or arm.step_ms is None or best.step_ms is None:
        return ""
    return f": {more - less:+.2f} accepted tokens a cycle for {arm.step_ms - best.step_ms:+.1f} ms"


check = BestLength()
