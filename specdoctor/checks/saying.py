"""What a check of files says, in the three forms it can take: proved, suspected, excluded."""

from __future__ import annotations

from typing import Literal

from specdoctor.core.hypothesis import NO_FAULT, Observation
from specdoctor.core.server import Source
from specdoctor.knowledge.table import CAUSES

About = Literal["symptom", "accept_length", "cycle"]


def proved(
    check: str, cause: str, claim: str, *sources: Source, about: About = "symptom", explains: bool = True, fix: str = ""
) -> Observation:
    """The fault stands in what is cited. `explains`: it accounts for what was complained about, by arithmetic."""
    return Observation(
        check=check,
        cause=cause,
        stance="supports",
        claim=claim,
        binds=True,
        explains=explains,
        about=about,
        sources=sources,
        decides=CAUSES[cause].check,
        decided_by="load",
        fix=fix or CAUSES[cause].fix,
    )


def suspected(check: str, cause: str, claim: str, *sources: Source, about: About = "symptom") -> Observation:
    """What was read makes it possible; the knowledge base's test decides."""
    return Observation(
        check=check,
        cause=cause,
        stance="suggests",
        claim=claim,
        about=about,
        sources=sources,
        decides=CAUSES[cause].check,
        decided_by="load",
        fix=CAUSES[cause].fix,
    )


def excluded(
    check: str, cause: str | None, claim: str, *sources: Source, against: str = NO_FAULT, about: About = "symptom"
) -> Observation:
    """What was read contradicts `against`: a cause by its id, or that anything is broken (in what `about` names)."""
    return Observation(
        check=check, cause=cause, stance="refutes", claim=claim, sources=sources, against=against, about=about
    )
