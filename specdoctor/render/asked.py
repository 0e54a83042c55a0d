"""What was asked for against what is in force, as far as a run's events hold it."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from specdoctor.core.ledger import Ledger
from specdoctor.core.server import Rewrite, Source

REWRITES = "rewrites"
"""The key under which an evidence's data holds a list of `core.server.Rewrite`."""

_rewrites: TypeAdapter[tuple[Rewrite, ...]] = TypeAdapter(tuple[Rewrite, ...])


class KeyedQuote(NamedTuple):
    """A place that speaks of one argument, with the evidence that cites it."""

    key: str
    source: Source
    evidence: str


def rewrites_of(ledger: Ledger) -> tuple[Rewrite, ...]:
    """The rewrites that the latest evidence to hold any has; none if no evidence holds them in a known form."""
    for evidence in reversed(ledger.evidence.values()):
        if REWRITES in evidence.data:
            try:
                return _rewrites.validate_python(evidence.data[REWRITES], strict=False)
            except ValidationError:
                continue
    return ()


def keyed_quotes(ledger: Ledger) -> tuple[KeyedQuote, ...]:
    """Every place that an observation cites under an argument's name, in the order of arguments."""
    found = [
        KeyedQuote(source.key, source, observed.evidence)
        for observed in ledger.observations
        for source in observed.observation.sources
        if source.key
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda q: q.key))
