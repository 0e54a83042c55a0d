"""What a rule of an engine says: where it looks for layer ids, what an id means there, which states it can take."""

from __future__ import annotations

import re
from typing import Literal

from specdoctor.core.model import Frozen

Release = tuple[int, ...]
_FIXED = re.compile(r"(\d+)")
_SHARE = re.compile(r"L//(\d+)([+-]\d+)?")
_FROM_END = re.compile(r"L-(\d+)")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.post\d+)?(?:\+(?:cu|cpu|rocm|xpu)[\w.]*)?")
_BUILD = re.compile(r"b?(\d+)(?:-[0-9a-f]{6,40})?")


class Lookup(Frozen):
    """One place in a drafter's configuration. `shift` is added to each id found, before the convention.

    With `ends`, an object that holds the key ends the search even where the key itself is missing.
    """

    key: str
    shift: int = 0
    ends: bool = False


class Convention(Frozen):
    """Explicit id v stands for entry v + `shift`; for entry v + `otherwise` where `unless` holds of the list.

    `reaches_end`: with `otherwise`, the state after the last layer can be taken too.
    """

    shift: int
    unless: Literal["first id is not 1", "largest id is L"] | None = None
    otherwise: int = 0
    reaches_end: bool = False


class Family(Frozen):
    """Targets, by architecture or model type, that an engine treats in a way of their own."""

    name: str
    architectures: frozenset[str] = frozenset()
    model_types: frozenset[str] = frozenset()
    convention: Convention | None = None
    defaults: tuple[str, ...] | None = None


class Rule(Frozen):
    """How versions `first` to `last` of an engine (both read) pick states; `runner` where it has several.

    `defaults` are entries as "2", "L//2", "L-3" of a target of L layers. `first_entry` and `last_entry` bound what can
    be taken (`last_entry` counts from the end: 0 is the state after the last layer, -1 the one before it); beyond it
    the engine captures nothing and says nothing, below it the forward fails with `below_fails`.
    """

    first: Release
    last: Release
    runner: str | None = None
    lookups: tuple[Lookup, ...] = ()
    convention: Convention = Convention(shift=0)
    families: tuple[Family, ...] = ()
    defaults: tuple[str, ...] = ("2", "L//2", "L-3")
    ascending: bool = True
    count: int | None = None
    first_entry: int = 0
    below_fails: str = ""
    last_entry: int = 0
    file: str = ""
    says: str


class EngineRules(Frozen):
    """The rules of one engine, oldest first. `paper`: read on paper only, so nothing of it is certain."""

    name: str
    title: str
    rules: tuple[Rule, ...]
    runners: tuple[str, ...] = ()
    paper: bool = False
    builds: bool = False
    from_checkpoint: bool = True
    """Whether the ids come from the drafter's checkpoint at all, rather than from the engine's own settings."""
    runner_defaults: tuple[tuple[Release, Release, str], ...] = ()
    """From which version to which a runner is the one used unless somebody chooses; in between the model decides."""

    def default_runner(self, version: str) -> str | None:
        """The runner of a version unless somebody chooses; None where it is not that simple."""
        read = self.release(version)
        if read is None:
            return None
        release = _padded(read[0])
        return next((r for first, last, r in self.runner_defaults if _padded(first) <= release <= _padded(last)), None)

    @property
    def newest(self) -> str:
        release = max(rule.last for rule in self.rules)
        return ("b" if self.builds else "") + ".".join(map(str, release))

    @property
    def known(self) -> str:
        """From which version to which the rules are known."""
        oldest = min(rule.first for rule in self.rules)
        return f"{'b' if self.builds else ''}{'.'.join(map(str, oldest))} to {self.newest}"

    def release(self, version: str) -> tuple[Release, bool] | None:
        """A version as numbers, and whether it is a published release as it stands; None for what is no version."""
        text = version.strip()
        match = (_BUILD if self.builds else _RELEASE).fullmatch(text)
        if match is not None:
            return tuple(int(n) for n in match[1].split(".")), True
        begin = re.match(r"b?v?(\d+(?:\.\d+)*)", text)
        return None if begin is None else (tuple(int(n) for n in begin[1].split(".")), False)


class Chosen(Frozen):
    """The rule for a version. `doubt` says why it may not hold there; empty where it was read."""

    rule: Rule
    doubt: str = ""


def rule_for(engine: EngineRules, version: str, runner: str | None) -> Chosen | None:
    """The rule that a version follows, or the nearest older one with a doubt; None if none is known."""
    read = engine.release(version)
    if read is None:
        return None
    release, published = _padded(read[0]), read[1]
    fitting = [r for r in engine.rules if runner is None or r.runner in (None, runner)]
    inside = [r for r in fitting if _padded(r.first) <= release <= _padded(r.last)]
    if inside:
        doubt = "" if published else f"{version} is not a release as published: its source may differ"
        if engine.paper:
            doubt = "read in its source only, never seen at work"
        return Chosen(rule=inside[-1], doubt=doubt)
    older = [r for r in fitting if _padded(r.last) < release]
    if not older:
        return None
    nearest = max(older, key=lambda r: _padded(r.last))
    doubt = f"the rule of {version} is not known; that of {'.'.join(map(str, nearest.last))} is taken"
    return Chosen(rule=nearest, doubt=doubt)


def _padded(release: Release) -> Release:
    return (*release, 0, 0, 0)[:3]


def entry_from(formula: str, layers: int) -> int:
    """An entry written as "2", "L//2", "L//2+1" or "L-3" for a target of `layers` layers. Raises ValueError."""
    if match := _FIXED.fullmatch(formula):
        return int(match[1])
    if match := _SHARE.fullmatch(formula):
        return layers // int(match[1]) + int(match[2] or 0)
    if match := _FROM_END.fullmatch(formula):
        return layers - int(match[1])
    raise ValueError(f"{formula!r} names no layer")
