"""Two launches of one server measured in turns, each several times started: what the second one is."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from specdoctor.core.launch import ORIGINAL, START_MARK, LaunchChange
from specdoctor.core.model import Frozen

Arm = Literal["first", "second"]


class Turns(Frozen):
    """The launch that runs against another one, `starts` of each in the order A B B A A B ...

    The second is without speculation (`off`), from the other installation that the targets file names
    (`other_install`), the running line with other flags, or a whole launch line (`line`). The server
    as found is the first start of its side.
    """

    off: bool = False
    other_install: bool = False
    set_flags: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    line: tuple[str, ...] = ()
    starts: int = Field(default=3, ge=1, le=12)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum((self.off, self.other_install, bool(self.set_flags), bool(self.line))) != 1:
            raise ValueError("name one other launch: off, other_install, flags or a launch line")
        return self

    def order(self, second: LaunchChange) -> tuple[tuple[Arm, LaunchChange], ...]:
        """Every start with its side; `second` is the other launch's change."""
        out: list[tuple[Arm, LaunchChange]] = []
        for number in range(1, self.starts + 1):
            pair: list[tuple[Arm, LaunchChange]] = [
                ("first", marked(ORIGINAL, number)),
                ("second", marked(second, number)),
            ]
            out += pair if number % 2 else reversed(pair)
        return tuple(out)


def marked(change: LaunchChange, number: int) -> LaunchChange:
    """Start `number` of a launch; the first one needs no mark."""
    if number == 1:
        return change
    env = {**change.set_env, START_MARK: str(number)}
    return change.model_copy(update={"label": f"{change.label}, start {number}", "set_env": env})
