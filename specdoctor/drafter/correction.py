"""What was found wrong in a drafter's config.json as one launch on a corrected copy of its folder."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.core.launch import CorrectedCopy, LaunchChange, launch_flags
from specdoctor.core.model import Frozen
from specdoctor.core.redact import MASK
from specdoctor.core.server import ServerView

LABEL = "drafter's config corrected"


class Correction(Frozen):
    """The causes that it corrects, the launch (None: it cannot be made, `why_not` says why), and the edits in words."""

    causes: tuple[str, ...]
    words: str
    change: LaunchChange | None = None
    why_not: str = ""


def correction(view: ServerView, found: Sequence[Observation], *, kept: str | None = None) -> Correction | None:
    """One launch for all that was read to be wrong and costs acceptance; None where no configuration repairs it."""
    faults = [o for o in found if o.stance == "supports" and o.binds and o.explains and o.edits and o.remedy is None]
    edits = tuple({edit.key: edit for o in reversed(faults) for edit in o.edits}.values())[::-1]
    if not faults:
        return None
    causes = tuple(dict.fromkeys(str(o.cause) for o in faults))
    words = ", ".join(edit.words for edit in edits)
    why_not = _obstacle(view, edits)
    if why_not:
        return Correction(causes=causes, words=words, why_not=why_not)
    copies = CorrectedCopy(source=str(view.draft_path).rstrip("/"), edits=edits, kept=kept)
    flags = _flags(view, copies)
    if not flags:
        return Correction(
            causes=causes, words=words, why_not="no argument of the launch line names the drafter's folder"
        )
    return Correction(causes=causes, words=words, change=LaunchChange(label=LABEL, set_flags=flags, copies=copies))


def _obstacle(view: ServerView, edits: Sequence[ConfigEdit]) -> str:
    """Why a corrected copy cannot be served by this server; empty where nothing speaks against it."""
    later = next((edit.needs for edit in edits if edit.needs), "")
    if later:
        return f"{view.engine} {view.version or view.version_range or ''} cannot serve it; {later} or later can"
    keeper = view.keeper.through.kind
    if keeper != "plain":
        return f"the server is kept by {keeper}, which may not see a folder of ours"
    path = str(view.draft_path)
    if not path.startswith("/") or path == view.model_path:
        return f"{path} is no folder of its own on the host"
    if "general.architecture" in (view.draft_config or {}):
        return "the configuration is inside a GGUF file"
    return ""


def _flags(view: ServerView, copies: CorrectedCopy) -> dict[str, tuple[str, ...]]:
    """The arguments that name the drafter's folder, by themselves or in a JSON value, with the copy in its place."""
    out: dict[str, tuple[str, ...]] = {}
    for flag, values in launch_flags(view.argv).items():
        new = tuple(_named(value, copies) for value in values)
        if new != values and not any(MASK in value for value in values):
            out[flag] = new
    return out


def _named(value: str, copies: CorrectedCopy) -> str:
    if value.rstrip("/") == copies.source:
        return copies.place
    for end in ("", "/"):
        value = value.replace(f'"{copies.source}{end}"', f'"{copies.place}"')
    return value
