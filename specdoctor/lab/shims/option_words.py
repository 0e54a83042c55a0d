"""The options of a tool that the practice host stands in for, read as getopt reads them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple


class Options(NamedTuple):
    """`given` by the names that the tool's options stand for; `unknown` is the first word that is no option of it."""

    given: dict[str, str]
    switches: set[str]
    unknown: str | None = None


def read_options(words: Sequence[str], *, named: Mapping[str, str], switches: Container[str]) -> Options:
    """Options with a value (`named`: --name=value, --name value, -nvalue) and switches, up to the first other word."""
    left = list(words)
    found = Options({}, set())
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in named and equals:
            found.given[named[name]] = value
        elif word in named:
            found.given[named[word]] = left.pop(0) if left else ""
        elif word[:2] in named and not word.startswith("--"):
            found.given[named[word[:2]]] = word[2:]
        elif word in switches:
            found.switches.add(word)
        else:
            return found._replace(unknown=word)
    return found
