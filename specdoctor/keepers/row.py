"""What every kind of keeper has to say: how it is recognised, and what it means for a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.facts import Facts, KeptFacts, ProcessFacts
from specdoctor.core.server import Keeper, KeeperKind, LaunchTraits
from specdoctor.keepers.hand import HandLines, by_shell


@dataclass(frozen=True)
class Seen:
    """One server process among the facts, with its ancestors (parent first) and what its engine knows of it."""

    facts: Facts
    process: ProcessFacts
    ancestors: tuple[ProcessFacts, ...]
    traits: LaunchTraits
    port: int


@dataclass(frozen=True)
class Row:
    """One kind of keeper. The sentences are those of docs/keepers.md; `recognise` returns None where it is another.

    `hand` makes the lines to paste for a launch that specdoctor does not make itself.
    """

    kind: KeeperKind
    title: str
    recognised_by: str
    restart: str
    way_back: str
    refused_when: str
    by_hand: str
    recognise: Callable[[Seen], Keeper | None]
    hand: HandLines = by_shell


NOT_RESTARTED = "not restarted"
NOTHING_CHANGED = "nothing is changed"


def refused(
    kind: KeeperKind, detail: str, reason: str, by_hand: str, known: Mapping[str, JsonValue] | None = None
) -> Keeper:
    """A keeper whose server specdoctor leaves alone, with the reason and what a person is to do."""
    found = dict(known or {})
    return Keeper(kind=kind, detail=detail, restartable=False, reason=reason, by_hand=by_hand, known=found)


def kept_by(seen: Seen, kind: str, name: str) -> KeptFacts | None:
    """What the keeper itself said about the server; None where it was not asked."""
    of_this = [kept for kept in seen.facts.kept if kept.pid == seen.process.pid]
    return next((kept for kept in of_this if (kept.kind, kept.name) == (kind, name)), None)


def ancestors_of(facts: Facts, process: ProcessFacts) -> Iterator[ProcessFacts]:
    """From the parent up, as far as the facts show."""
    by_pid = {p.pid: p for p in facts.processes}
    seen = {process.pid}
    parent = by_pid.get(process.ppid)
    while parent is not None and parent.pid not in seen:
        seen.add(parent.pid)
        yield parent
        parent = by_pid.get(parent.ppid)
