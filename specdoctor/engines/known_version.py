"""The version of a server with what shows it."""

from __future__ import annotations

from dataclasses import dataclass

from specdoctor.core.server import Source


@dataclass(frozen=True)
class KnownVersion:
    """A version with its source; `doubts` say why behaviour may differ from that release."""

    text: str | None = None
    source: Source | None = None
    doubts: tuple[str, ...] = ()
