"""The launch line to try next: the one that removes the first fault that a flag removes, else the best row measured."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.app.triage_fact import Fact
from specdoctor.core.engine import Engine
from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Frozen
from specdoctor.core.server import ServerView, SpecSetting


class LineToTry(Frozen):
    """A launch line to paste, and what it changes."""

    label: str
    line: str


def line_to_try(
    view: ServerView, engines: Sequence[Engine], observations: Sequence[Observation], facts: dict[str, Fact]
) -> LineToTry | None:
    """None where the launch line was not given, or nothing that was found is undone by a flag."""
    engine = next((e for e in engines if e.name == view.engine), None)
    if engine is None or not view.argv:
        return None
    found = [o.remedy for o in observations if o.stance == "supports" and o.remedy is not None]
    ranked = sorted((o for o in observations if o.remedy in found), key=lambda o: (not o.explains, not o.binds))
    remedies = [o.remedy for o in ranked if o.remedy is not None] + _best(view, facts)
    for remedy in remedies:
        try:
            change = _change(engine, view, remedy)
            return LineToTry(label=remedy.label, line=engine.paste_line(view, change))
        except (SpecdoctorError, ValueError):
            continue
    return None


def _change(engine: Engine, view: ServerView, remedy: Remedy) -> LaunchChange:
    if remedy.setting is not None:
        return engine.change_spec(view, remedy.setting, label=remedy.label)
    change = engine.change_flags(label=remedy.label, set_flags=remedy.set_flags, remove_flags=remedy.remove_flags)
    return change.model_copy(update={"remove_env": remedy.remove_env})


def _best(view: ServerView, facts: dict[str, Fact]) -> list[Remedy]:
    """The steps of the best measured row, where others are in force."""
    spec = view.spec or view.asked_spec
    best = facts["best_draft_steps"].value if "best_draft_steps" in facts else None
    if spec is None or not spec.on or not isinstance(best, int) or best == spec.draft_steps or spec.topk > 1:
        return []
    setting = SpecSetting(algorithm=spec.algorithm, draft_steps=best, topk=spec.topk, draft_tokens=best + 1)
    return [Remedy(label=f"{best} draft steps, the best that was measured", setting=setting)]
