"""What a person at the keyboard wants of a run, as types: asked for by commands, carried out only as policy allows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, TypeAdapter

from specdoctor.core.model import Frozen

Words = Annotated[str, Field(max_length=500)]
MOST_WORDS = 500
"""Characters of a person's sentence that the record keeps."""


class LaunchWish(Frozen):
    """Speculation of another launch; what is left out stays as it is. `speculation` false: none."""

    speculation: bool = True
    draft_steps: Annotated[int, Field(ge=1, le=32)] | None = None
    topk: Annotated[int, Field(ge=1, le=16)] | None = None
    draft_tokens: Annotated[int, Field(ge=2, le=128)] | None = None

    @property
    def words(self) -> str:
        """The launch as it is typed."""
        if not self.speculation:
            return "speculation=off"
        named = {"draft_steps": self.draft_steps, "topk": self.topk, "draft_tokens": self.draft_tokens}
        return " ".join(f"{name}={value}" for name, value in named.items() if value is not None)


class Foretelling(Frozen):
    """What will be measured if a claim is true; `launch` None: with the server as found."""

    metric: Literal["throughput_tok_s", "accept_length", "step_ms"]
    op: Literal[">=", ">", "<=", "<"]
    value: Annotated[FiniteFloat, Field(gt=0)]
    launch: LaunchWish | None = None


class ClaimWish(Frozen):
    """A claim to be tested: what it foretells, or a cause of the list."""

    do: Literal["claim"] = "claim"
    text: str
    foretold: Foretelling | None = None
    cause: str | None = None


class CheckWish(Frozen):
    """watch (`seconds`), bench (`concurrency`), or a check by its name."""

    do: Literal["check"] = "check"
    check: str
    seconds: Annotated[FiniteFloat, Field(ge=1, le=30)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=64)] | None = None


class RelaunchWish(Frozen):
    """A restart with another speculation setting, and its measurement."""

    do: Literal["relaunch"] = "relaunch"
    launch: LaunchWish


Wish = Annotated[ClaimWish | CheckWish | RelaunchWish, Field(discriminator="do")]
wish_adapter: TypeAdapter[Wish] = TypeAdapter(Wish)


class Note(Frozen):
    """A remark for the record."""

    text: Words


class Told(Frozen):
    """A sentence about what is seen: it joins the symptom."""

    text: Words


class Prior(Frozen):
    """How likely the person holds a claim to be; it changes the order of tests and nothing else."""

    hypothesis: str
    prior: Annotated[FiniteFloat, Field(ge=0, le=1)]


class Drop(Frozen):
    """Set a claim aside, undecided."""

    hypothesis: str
    why: Words = ""


class TakeUp(Frozen):
    """Take a claim up again that was set aside."""

    hypothesis: str


class Hold(Frozen):
    """Pause (`on`) or go on."""

    on: bool


class Asked(Frozen):
    """A claim, a check or a restart is wanted; `text` is how it was typed."""

    text: str
    wish: Wish


class Reply(Frozen):
    """The answer to the question `batch`."""

    batch: str
    granted: bool
    scope: Literal["once", "kind", "run"] = "once"


Request = Note | Told | Prior | Drop | TakeUp | Hold | Asked | Reply
