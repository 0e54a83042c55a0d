"""A result that is withheld, with the reason: an analysis that must not be done on these figures."""

from __future__ import annotations

from typing import Literal

from specdoctor.core.model import Frozen

RefusalKind = Literal[
    "too-few",
    "one-draft-length",
    "states-differ",
    "two-states",
    "identity-gap",
    "negative-slope",
    "intercept-below-baseline",
    "mixed-load",
    "mixed-steps",
    "tail-unsure",
    "no-limit",
]


class Refusal(Frozen):
    """Why a figure is not given. `reason` is one sentence for a reader; `kind` is for code."""

    kind: RefusalKind
    reason: str
