"""Where a server's log says which states it takes, and for whom only a range of versions is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from specdoctor.core.server import ServerView, Source
from specdoctor.drafter.capture import Capture, TargetShape, configured
from specdoctor.drafter.comparison import Column, EngineChoice, column_for
from specdoctor.drafter.rules.rule import Release
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.states import at_entries

_AT_ENTRY = re.compile(r"(?:at entry of target layers|EAGLE3 extract_layers =) \[([\d, ]+)\]")
_BY_ID = re.compile(r"auxiliary layers from (?:speculative config|config|model): \(([\d, ]+)\)")
_BOUND = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")
_END: Release = (9999, 0, 0)


def said_entries(text: str) -> tuple[int, ...] | None:
    """The entries that a log line says are captured; None for any other line.

    vLLM prints the ids as configured and takes each once, in ascending order; an id is the layer at whose input it is.
    """
    match = _AT_ENTRY.search(text)
    if match is not None:
        return tuple(int(number) for number in re.findall(r"\d+", match[1]))
    ids = _BY_ID.search(text)
    return tuple(sorted({int(number) for number in re.findall(r"\d{1,6}", ids[1])})) if ids is not None else None


def choice_of(view: ServerView) -> EngineChoice:
    """The engine of a server as it serves, with the model runner where the server or its log named it."""
    runner = view.effective.get("model_runner")
    known = runner if isinstance(runner, str) and runner in ENGINES[view.engine].runners else None
    return EngineChoice(name=view.engine, version=view.version or "", runner=known)


def logged_column(choice: EngineChoice, entries: tuple[int, ...], cited: Source, config: Mapping[str, Any]) -> Column:
    """What the log says is captured: no rule is needed for it."""
    ids = next(iter(configured(config)), None)
    capture = Capture(states=at_entries(entries), source=ids)
    return Column(
        label=choice.label,
        choice=choice,
        capture=capture,
        rule=ENGINES[choice.name].rules[-1],
        source=f"line {cited.line} of {cited.where}",
        logged=cited,
    )


def column_in_range(name: str, versions: str, config: Mapping[str, Any], target: TargetShape) -> Column | None:
    """What every version of a range such as ">=0.5.11,<0.5.14" captures; a doubt where they do not agree."""
    bounds = {sign: tuple(int(n) for n in text.split(".")) for sign, text in _BOUND.findall(versions)}
    low, high = bounds.get(">=", (0,)), bounds.get("<", _END)
    found: list[Column] = []
    for rule in ENGINES[name].rules:
        if rule.last < low or rule.first >= high:
            continue
        version = ".".join(map(str, max(low, rule.first)))
        column = column_for(EngineChoice(name=name, version=version, runner=rule.runner), config, target)
        found += [column] if column is not None else []
    if not found or high is _END:
        return None
    choice = EngineChoice(name=name, version=versions)
    if all(one.capture == found[0].capture and not one.doubt for one in found):
        return found[0].model_copy(update={"label": choice.label})
    doubt = "the versions that the log allows do not agree"
    return found[0].model_copy(update={"label": choice.label, "doubt": found[0].doubt or doubt})
