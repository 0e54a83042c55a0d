"""One figure that files give: its value, how it was come by, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from specdoctor.core.model import Frozen
from specdoctor.core.server import Source


class Fact(Frozen):
    """A named value. `estimator` says how it was got from what is written, empty where it was read as it stands."""

    name: str
    value: JsonValue
    estimator: str = ""
    sources: tuple[Source, ...] = ()

    @property
    def place(self) -> str:
        """Where it stands, for a person: "bench.csv:4, server.log"."""
        named = (f"{s.where}:{s.line}" if s.line is not None else s.where for s in self.sources)
        return ", ".join(dict.fromkeys(named))


class Facts:
    """Facts by name; the first who gives a name is believed, so the better source comes first."""

    def __init__(self, found: Iterable[Fact] = ()) -> None:
        self._by_name: dict[str, Fact] = {}
        self.add(found)

    def add(self, found: Iterable[Fact]) -> None:
        for fact in found:
            self._by_name.setdefault(fact.name, fact)

    def number(self, name: str) -> float | None:
        """The value of a fact that is a number."""
        fact = self._by_name.get(name)
        value = fact.value if fact is not None else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def get(self, name: str) -> Fact | None:
        return self._by_name.get(name)

    def all(self) -> tuple[Fact, ...]:
        return tuple(self._by_name.values())
