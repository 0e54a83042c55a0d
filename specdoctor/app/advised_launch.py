"""The launch that a verdict advises, to be pasted: the line itself, what is to be made before it, and the way back."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from specdoctor.core.conclusions import Recommendation
from specdoctor.core.copy_line import making
from specdoctor.core.engine import Engine
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.server import ServerView


def advised_launch(
    engine: Engine,
    view: ServerView,
    change: LaunchChange,
    *,
    expected: dict[str, JsonValue],
    basis: Literal["measured", "predicted"],
    why: str,
    then: tuple[str, ...] = (),
) -> Recommendation:
    """A launch to paste with the way back; a folder that a run kept is there already, any other is still to be made."""
    copies = change.copies
    return Recommendation(
        launch=engine.paste_line(view, change),
        first=making(copies) if copies is not None and not copies.kept else "",
        where=f"in a container of {change.image}" if change.image is not None else "",
        rollback=engine.paste_line(view, ORIGINAL),
        expected=expected,
        basis=basis,
        why=why,
        then=then,
    )
