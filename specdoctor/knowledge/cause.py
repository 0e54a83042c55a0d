"""One cause of trouble with speculative decoding, as the knowledge base holds it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from specdoctor.core.model import Frozen

EngineName = Literal["sglang", "vllm", "llamacpp", "trtllm"]
ALL: tuple[EngineName, ...] = ("sglang", "vllm", "llamacpp", "trtllm")
Severity = Literal["wrong output", "does not start", "loses speed", "misleads"]


class Cause(Frozen):
    """What can be wrong, how it shows, and the test that tells it from its rivals.

    `seen` is what people notice; `check` the cheapest test that decides, `predicts` what that test shows if this is the
    cause; `versions` is empty where no version is known to be exempt. `severity` is the worst that it does. `reports`
    counts the public reports read behind the entry (0: from the engines' source or from live servers alone), `sources`
    names those of them that can be looked up.
    """

    id: Annotated[str, Field(pattern=r"^[A-Z]+-[0-9]+$")]
    title: str
    seen: str
    check: str
    predicts: str
    fix: str
    engines: tuple[EngineName, ...] = ALL
    versions: str = ""
    severity: Severity = "loses speed"
    reports: int = 0
    sources: tuple[str, ...] = ()


class Group(Frozen):
    """Causes of one kind; `prefix` begins each one's id."""

    prefix: str
    title: str
    causes: tuple[Cause, ...]
