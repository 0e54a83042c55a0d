"""Why does speculation lose although tokens are accepted: what does a cycle cost, and what part of it pays for what?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.logged_rows import all_paired
from specdoctor.analysis.measured_rows import Arm, at_least_load, busiest, rarely_together
from specdoctor.checks.reading import EXPERT_KEYS, config_of, config_source, experts_of, no_data, silent, windows
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

FAST_TARGET_MS = 3.5
"""A baseline step below this is short against some milliseconds of host and launch work in a cycle (public reports
of such losses begin at some 300 tok/s; named heuristic)."""
HEALTHY_RATIO = 1.8
"""Cycles of chains on dense targets take 1.3 to 1.8 baseline steps in public figures."""
NOTHING_ACCEPTED = 1.05
"""An accept length below this loses whatever a cycle costs (named heuristic)."""
DEAR_RATIO = 2.0
"""Above this a cycle without a big tree asks for its cause (knowledge base)."""
WORTH = 1.2
"""A gain below this lies near what equal launches differ by, and asks for an explanation (named heuristic)."""
LINEAR_SHARE = 0.6
"""Verifying n tokens at this share of n single steps, or more, is called linear in n (named heuristic)."""
STATISTICS = re.compile(
    r"statistics\s+[\w-]+:\s*#calls(?:\(b,g,a\))?\s*=\s*\d+\s+(?P<calls>\d+).*?dur\(b,g,a\)\s*=\s*[\d.]+,\s*(?P<ms>[\d.]+)"
)
FOR_ONE_REQUEST = frozenset({"LOAD-3", "LOAD-5", "GRAPH-3"})
"""What costs at one request already, by definition: figures of many at once alone do not prove it."""
DRAFT_SHARE = 0.35
"""Drafting that takes this share of a cycle makes the drafter a main cost (named heuristic)."""


class VerifyCost:
    """The accept length says what a cycle brings, the step ratio what it costs; the cost has several possible
    owners.
    """

    name = "verify-cost"
    summary = "Work out from measured rows what a cycle costs in baseline steps, and which part of it costs that."
    causes = ("LOAD-3", "LOAD-5", "LOAD-4", "GRAPH-3", "LOAD-2", "LOAD-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        found = [arm for arm in all_paired(scene) if arm.step_ratio is not None]
        if not found:
            return no_data(self.name, None, "no rows give speed and accept length with and without speculation")
        small = at_least_load(found)
        losing = [arm for arm in small if (arm.speedup or 0.0) < 1.0]
        gaining = [arm for arm in small if (arm.speedup or 0.0) >= 1.0]
        if not losing or len(gaining) > len(losing):
            compared = max((w.running for w in windows(scene.view)), default=0) <= busiest(found)
            if compared and _ordinary(found) and not set(scene.complaints) - {"slow"}:
                return (self._pays(found),)
            best = max(small, key=lambda arm: arm.speedup or 0.0)
            said = f"at the smallest load speculation gives {best.speedup:.2f} times the speed"
            return silent(self.name, None, said, *best.sources)
        owners = self._owners(scene, losing)
        return owners if rarely_together(small[0]) else _or_the_batch(owners, small[0])

    def _pays(self, found: Sequence[Arm]) -> Observation:
        least = min(found, key=lambda arm: arm.speedup or 0.0)
        dearest = max(found, key=lambda arm: arm.step_ratio or 0.0)
        claim = (
            f"at least {least.speedup:.2f} times the baseline's speed at {least.accept_length:.2f} tokens a cycle, "
            f"which takes {dearest.step_ratio:.2f} baseline steps at most: an ordinary gain"
        )
        return excluded(self.name, None, claim, *least.sources, about="cycle")

    def _owners(self, scene: Scene, losing: Sequence[Arm]) -> tuple[Observation, ...]:
        costly = [a for a in losing if (a.step_ratio or 0.0) >= HEALTHY_RATIO]
        arm = _plainest(costly or losing)
        ratio, length, tokens = arm.step_ratio or 0.0, arm.accept_length or 1.0, arm.tokens
        said = f"a cycle costs {ratio:.2f} baseline steps and brings {length:.2f} tokens"
        if ratio < HEALTHY_RATIO:
            return silent(self.name, None, f"{said}: the accept length, not the cost, is what is low", *arm.sources)
        if length < NOTHING_ACCEPTED:
            return silent(self.name, None, f"{said}: nothing that is drafted is accepted", *arm.sources)
        base_ms = (arm.step_ms or 0.0) / ratio
        drafting = _drafting_ms(scene)
        if drafting is not None and arm.step_ms and drafting / arm.step_ms >= DRAFT_SHARE:
            share = f"drafting takes {drafting:.1f} of {arm.step_ms:.1f} ms"
            return (self._cost("LOAD-4", f"{said}; {share}", arm),)
        experts = experts_of(config_of(scene, "target")[0])
        if experts is not None:
            active, total = experts
            touched = total * (1 - (1 - active / total) ** (tokens or 4)) / active
            claim = (
                f"{said} at {_load(arm)}, on a target with {active} of {total} experts per token: "
                f"{tokens or 'several'} verified tokens wake up to {touched:.1f} times as many{_growth(losing)}"
            )
            wide = config_source(scene, "target", *EXPERT_KEYS)
            return (self._cost("LOAD-3", claim, arm, *(() if wide is None else (wide,))),)
        if base_ms < FAST_TARGET_MS:
            fixed = self._fixed(arm, said, base_ms, losing)
            eager = any(w.graph is False for w in windows(scene.view))
            return (_only_suspected(fixed) if eager else fixed,)
        if tokens and tokens <= 16 and (ratio - (drafting or 0.0) / base_ms) >= LINEAR_SHARE * tokens:
            aside = f", drafting being {drafting:.1f} of {arm.step_ms:.1f} ms" if drafting is not None else ""
            claim = f"{said}: verifying {tokens} tokens costs almost {tokens} single steps{aside}"
            proved = self._cost("GRAPH-3", claim, arm)
            return (proved if drafting is not None else _only_suspected(proved),)
        if tokens and tokens > 16:
            claim = f"{said}: {tokens} tokens are verified for each request"
            return (self._cost("LOAD-2", claim, arm),)
        return silent(self.name, None, f"{said}; nothing measured tells what costs it", *arm.sources)

    def _fixed(self, arm: Arm, said: str, base_ms: float, losing: Sequence[Arm]) -> Observation:
        most = (arm.tokens or 0) if arm.row.topk in (None, 1) else 0
        bound = f", more than the {most} that can ever be accepted" if most and (arm.step_ratio or 0) > most else ""
        claim = f"{said}{bound}; the target alone takes {base_ms:.2f} ms: a fixed cost per cycle outweighs the gain"
        return self._cost("LOAD-5", claim + _growth(losing), arm)

    def _cost(self, cause: str, claim: str, arm: Arm, *more: Source) -> Observation:
        return proved(self.name, cause, claim, *arm.sources, *more, about="cycle")


def _or_the_batch(said: tuple[Observation, ...], least: Arm) -> tuple[Observation, ...]:
    """What rows of many requests at once show: a cost that is there for one request too, or the batch's."""
    named = [o for o in said if o.cause in FOR_ONE_REQUEST and o.stance in ("supports", "suggests")]
    if not named:
        return said
    both = f"at {_load(least)}, the fewest measured, nothing tells a cost of each cycle from the batch's"
    told = [suspected(VerifyCost.name, o.cause or "", f"{o.claim}; {both}", *o.sources, about="cycle") for o in named]
    claim = f"{both}: the batch alone makes verification compute, and then it pays for one request"
    return (*told, suspected(VerifyCost.name, "LOAD-1", claim, *least.sources, about="cycle"))


def _ordinary(found: Sequence[Arm]) -> bool:
    """Whether every setting gains clearly, with a cycle of a cost that public figures show."""
    return all((a.speedup or 0.0) >= WORTH and (a.step_ratio or 9.0) <= DEAR_RATIO for a in found)


def _only_suspected(o: Observation) -> Observation:
    """Another part of the cycle may be what costs: drafting whose time is not known, steps without graphs."""
    return o.model_copy(update={"stance": "suggests", "binds": False, "explains": False})


def _plainest(losing: Sequence[Arm]) -> Arm:
    """The arm that verifies fewest tokens: what even that costs is least open to doubt."""
    return min(losing, key=lambda a: (a.tokens or 99, a.row.topk or 1))


def _growth(losing: Sequence[Arm]) -> str:
    """How the cost grows with what is verified, where several widths were measured."""
    widest = max(losing, key=lambda a: a.tokens or 0)
    least = _plainest(losing)
    if not widest.tokens or not least.tokens or widest.tokens <= least.tokens:
        return ""
    return f"; {widest.tokens} tokens cost {widest.step_ratio:.1f}"


def _load(arm: Arm) -> str:
    return f"{arm.row.concurrency:g} at once" if arm.row.concurrency else "this load"


def _drafting_ms(scene: Scene) -> float | None:
    """Drafting time of one cycle by the engine's own statistics: totals since its start, so that the last counts."""
    last = None
    for _, match in found_lines(scene, STATISTICS):
        last = match
    calls = float(last["calls"]) if last is not None else 0.0
    return float(last["ms"]) / calls if last is not None and calls else None


check = VerifyCost()
