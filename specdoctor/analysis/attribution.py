"""Why two measurements differ: the parts that changed, and which differences of their surroundings could explain it.

log(T2/T1) = log(AL2/AL1) - log(c2/c1) for decode throughput T, accept length AL and cycle c. What slows the GPU as a
whole slows the step without speculation and the cycle by the same factor; what costs time per launch or per message
(processors, memory binding, lost graphs, links) slows the cycle more, because a cycle launches more. So the two
factors together rank the suspects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from specdoctor.analysis.interval import NORMAL_95, Estimate, between, ratio
from specdoctor.analysis.stats import DEFAULT_LAUNCH_SD
from specdoctor.core.model import Frozen

DETAILED = ("model.config", "draft.config", "draft.tensors")
"""Files whose entries are facts too; of older measurements only the digest is known."""
MOST_NAMED = 6
"""Names in a sentence."""
NOT_JUDGED = "one figure each, no interval"
UNIFORM_WITHIN = 0.10
"""Cycle and baseline step count as slowed alike when their factors differ by less than this (heuristic)."""
WIDEST_FOR_NONE = 0.20
"""A ratio whose interval holds 1 and is wider than this says "inconclusive", not "no difference" (heuristic)."""

PartName = Literal["throughput", "accept length", "cycle", "baseline step"]
Change = Literal["higher", "lower", "no clear change", "not judged"]
Kind = Literal["workload", "state", "software", "settings", "marker"]
Shape = Literal["uniform", "cycle more", "no clear change", "unknown"]
Outcome = Literal["no difference", "attributable", "not attributable", "unexplained", "inconclusive"]


class Arm(Frozen):
    """One measurement with the state it was taken in. `baseline` is the throughput without speculation, same state.

    `fingerprint` names facts of host, GPUs, software, settings and workload; it is empty for figures from memory.
    `one_run`: its figures are of one run of another tool, which gives no interval with them.
    """

    label: str
    one_run: bool = False
    throughput: Estimate | None = None
    accept_length: Estimate | None = None
    step: Estimate | None = None
    baseline: Estimate | None = None
    fingerprint: dict[str, str] = Field(default_factory=dict)


class Part(Frozen):
    """One figure of both arms: `ratio` is second over first, with an interval that holds the spread between starts.

    Where a side gives one figure without an interval, the part is not judged, and the ratio has none either.
    """

    name: PartName
    first: Estimate
    second: Estimate
    ratio: Estimate
    change: Change

    @property
    def changed(self) -> bool:
        """Whether it is clearly higher or lower."""
        return self.change in ("higher", "lower")


class Suspect(Frozen):
    """A fact that differs, what it can explain, and how well that fits the parts that changed (more is better)."""

    key: str
    first: str | None
    second: str | None
    kind: Kind
    fit: float
    why: str


def not_known(suspect: Suspect, first: Arm, second: Arm) -> bool:
    """Whether a fact is simply not recorded on one side: it says nothing of facts of its kind, or is another tool's.

    A file's entries are facts only where both sides name some: one that a side lacks there is a difference.
    """
    if None not in (suspect.first, suspect.second) or suspect.key.startswith(tuple(f"{whole}." for whole in DETAILED)):
        return False
    lacking = first if suspect.first is None else second
    kind = f"{suspect.key.partition('.')[0]}."
    return first.one_run or second.one_run or not any(key.startswith(kind) for key in lacking.fingerprint)


class Attribution(Frozen):
    """The comparison as a whole. `shape` tells whether baseline and cycle were slowed alike."""

    outcome: Outcome
    reason: str
    shape: Shape
    parts: tuple[Part, ...]
    suspects: tuple[Suspect, ...]


class _Family(Frozen):
    """Facts by the beginning of their name, and the parts that they can change."""

    prefixes: tuple[str, ...]
    kind: Kind
    explains: Literal["all alike", "cycle more", "accept length", "anything", "nothing by itself"]
    why: str


_FAMILIES = (
    _Family(
        prefixes=("workload.",),
        kind="workload",
        explains="accept length",
        why="other requests give other accept lengths and speeds",
    ),
    _Family(
        prefixes=("draft.", "model."),
        kind="settings",
        explains="accept length",
        why="another checkpoint accepts otherwise",
    ),
    _Family(
        prefixes=(
            "gpu.power",
            "gpu.clock",
            "gpu.throttle",
            "gpu.name",
            "gpu.uuid",
            "gpu.ecc",
            "gpu.mig",
            "gpu.neighbour",
        ),
        kind="state",
        explains="all alike",
        why="a slower GPU slows baseline and cycle by the same factor",
    ),
    _Family(
        prefixes=("server.cpu", "server.numa", "server.nice", "host.cpu_governor", "host.kernel", "host.numa"),
        kind="state",
        explains="cycle more",
        why="host time counts more in a cycle, which launches more",
    ),
    _Family(
        prefixes=("env.NCCL", "gpu.pcie", "gpu.driver", "gpu.topology"),
        kind="state",
        explains="cycle more",
        why="links between GPUs count more in a cycle, which sends more small messages",
    ),
    _Family(
        prefixes=("host.boot", "container.", "server.started"),
        kind="marker",
        explains="nothing by itself",
        why="a restart of it loses settings that no file keeps",
    ),
    _Family(
        prefixes=("engine.", "package."),
        kind="software",
        explains="anything",
        why="other code can change every part",
    ),
    _Family(prefixes=("args.", "env."), kind="settings", explains="anything", why="a setting that was changed"),
    _Family(prefixes=("host.",), kind="state", explains="anything", why="another machine"),
)
_OTHER = _Family(prefixes=("",), kind="state", explains="anything", why="it differs")


def attribute(first: Arm, second: Arm, *, launch_sd: float = DEFAULT_LAUNCH_SD) -> Attribution:
    """Split the difference between two arms and rank what could explain it.

    `launch_sd` is the relative spread between two starts of the same server (this host's history, else 5 %); it widens
    the ratios of speeds unless both arms come from the same start.
    """
    spread = 0.0 if _same_start(first, second) else launch_sd
    parts = _parts(first, second, spread)
    shape = _shape(parts)
    suspects = _suspects(first.fingerprint, second.fingerprint, parts, shape)
    outcome, reason = _outcome(first, second, parts, suspects)
    return Attribution(outcome=outcome, reason=reason, shape=shape, parts=parts, suspects=suspects)


def _same_start(first: Arm, second: Arm) -> bool:
    started = first.fingerprint.get("server.started")
    return started is not None and started == second.fingerprint.get("server.started")


def _parts(first: Arm, second: Arm, spread: float) -> tuple[Part, ...]:
    pairs: tuple[tuple[PartName, Estimate | None, Estimate | None, float], ...] = (
        ("throughput", first.throughput, second.throughput, spread),
        ("accept length", first.accept_length, second.accept_length, 0.0),
        ("cycle", first.step, second.step, spread),
        ("baseline step", _step_of(first.baseline), _step_of(second.baseline), spread),
    )
    found: list[Part] = []
    for name, before, after, between_starts in pairs:
        if before is None or after is None or before.value <= 0.0:
            continue
        plain = ratio(after, before, unit="ratio", estimator=f"{name}, second over first")
        flat = any(_flat(side) for side in (before, after))
        if flat and (between_starts <= 0.0 or first.one_run or second.one_run):
            found.append(Part(name=name, first=before, second=after, ratio=_alone(plain), change="not judged"))
            continue
        change = _widened(plain, between_starts)
        found.append(Part(name=name, first=before, second=after, ratio=change, change=_change(change)))
    return tuple(found)


def _flat(figure: Estimate) -> bool:
    """Whether a measured figure has no interval; without speculation a cycle has exactly one token."""
    return figure.width == 0.0 and not (figure.unit == "tokens/cycle" and figure.value == 1.0)


def _alone(found: Estimate) -> Estimate:
    return between(found.value, found.value, found.value, found.unit, estimator=found.estimator, n=found.n)


def _step_of(baseline: Estimate | None) -> Estimate | None:
    """The step in ms of a throughput without speculation."""
    if baseline is None or baseline.low <= 0.0:
        return None
    low, high = 1000.0 / baseline.high, 1000.0 / baseline.low
    return between(1000.0 / baseline.value, low, high, "ms", estimator=baseline.estimator, n=baseline.n)


def _widened(found: Estimate, spread: float) -> Estimate:
    """With the spread of two starts added, each of them independent."""
    if spread <= 0.0:
        return found
    half = NORMAL_95 * spread * 2.0**0.5 * found.value
    below = ((found.value - found.low) ** 2 + half**2) ** 0.5
    above = ((found.high - found.value) ** 2 + half**2) ** 0.5
    estimator = f"{found.estimator}, {spread:.1%} between starts"
    low, high = max(found.value - below, 0.0), found.value + above
    return between(found.value, low, high, found.unit, estimator=estimator, n=found.n)


def _change(found: Estimate) -> Change:
    return "higher" if found.low > 1.0 else "lower" if found.high < 1.0 else "no clear change"


def _part(parts: tuple[Part, ...], name: PartName) -> Part | None:
    return next((part for part in parts if part.name == name), None)


def _shape(parts: tuple[Part, ...]) -> Shape:
    """By the factors themselves: the spread between starts hits baseline and cycle of one state alike.

    Where neither has changed clearly, factors near one would name a shape of noise.
    """
    cycle, step = _part(parts, "cycle"), _part(parts, "baseline step")
    if cycle is None or step is None or "not judged" in (cycle.change, step.change):
        return "unknown"
    if cycle.change == step.change == "no clear change":
        return "no clear change"
    if abs(cycle.ratio.value / step.ratio.value - 1.0) < UNIFORM_WITHIN:
        return "uniform"
    return "cycle more" if cycle.ratio.value > step.ratio.value else "unknown"


def _suspects(
    first: Mapping[str, str], second: Mapping[str, str], parts: tuple[Part, ...], shape: Shape
) -> tuple[Suspect, ...]:
    """Facts that differ or that one side lacks, best fit first; none where one side has no fingerprint at all."""
    if not first or not second:
        return ()
    found: list[Suspect] = []
    for key in _compared(first, second):
        before, after = first.get(key), second.get(key)
        family = next((f for f in _FAMILIES if key.startswith(f.prefixes)), _OTHER)
        fit = _fit(family, parts, shape) * (1.0 if before is not None and after is not None else 0.5)
        found.append(Suspect(key=key, first=before, second=after, kind=family.kind, fit=fit, why=family.why))
    return tuple(sorted(found, key=lambda s: (-s.fit, s.key)))


def _compared(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """The facts to tell apart by: an entry of a file where both sides know them by name, else the file's digest."""
    differ = [key for key in sorted(first.keys() | second.keys()) if first.get(key) != second.get(key)]
    for whole in DETAILED:
        within = f"{whole}."
        if all(any(key.startswith(within) for key in side) for side in (first, second)):
            named = any(key.startswith(within) for key in differ)
            differ = [key for key in differ if not (named and key == whole)]
        else:
            differ = [key for key in differ if not key.startswith(within)]
    return differ


def _fit(family: _Family, parts: tuple[Part, ...], shape: Shape) -> float:
    """How well a family explains what changed: 3 every part, 2 most of it, 1 possibly, 0 not at all."""
    length = _part(parts, "accept length")
    moved = length is not None and length.changed
    if family.explains == "accept length":
        return 3.0 if moved else 0.5
    if moved and family.explains in ("all alike", "cycle more", "nothing by itself"):
        return 0.5
    if family.explains == "all alike":
        return {"uniform": 3.0, "cycle more": 1.0}.get(shape, 2.0)
    if family.explains == "cycle more":
        return {"uniform": 1.0, "cycle more": 3.0}.get(shape, 2.0)
    return 2.5 if family.explains == "nothing by itself" else 2.0


def _outcome(first: Arm, second: Arm, parts: tuple[Part, ...], suspects: tuple[Suspect, ...]) -> tuple[Outcome, str]:
    if not parts:
        return "inconclusive", "the two sides have no figure in common"
    if not first.fingerprint or not second.fingerprint:
        side = first.label if not first.fingerprint else second.label
        return "not attributable", f"nothing is known of the state of the system of {side}"
    workload = [s.key.partition(".")[2] for s in suspects if s.kind == "workload"]
    if workload:
        return "not attributable", f"the requests differ ({', '.join(workload)}): measure both with the same"
    clear = [part for part in parts if part.changed]
    open_ = [part.name for part in parts if part.change == "not judged"]
    if len(open_) == len(parts):
        return "inconclusive", f"{NOT_JUDGED}: not judged ({', '.join(open_)})"
    left = f"; {NOT_JUDGED}: not judged ({', '.join(open_)})" if open_ else ""
    if not clear:
        outcome, reason = _unclear(tuple(part for part in parts if part.change != "not judged"))
        return outcome, reason + left
    changed = ", ".join(f"{part.name} {part.change}" for part in clear) + left
    state = [s.key for s in suspects if s.kind in ("state", "marker") and s.key != "server.started"]
    if state:
        return "not attributable", f"{changed}; the system state changed ({_listed(state)})"
    own = [s.key for s in suspects if s.kind in ("software", "settings")]
    if own:
        return "attributable", f"{changed}; what differs: {_listed(own)}"
    return "unexplained", f"{changed}, and nothing that was recorded differs"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unclear(parts: tuple[Part, ...]) -> tuple[Outcome, str]:
    widest = max((part.ratio.width for part in parts), default=0.0)
    if widest <= WIDEST_FOR_NONE:
        return "no difference", "every ratio's interval holds 1"
    return "inconclusive", f"the intervals hold 1, and are up to {widest:.0%} wide: measure more starts or requests"
