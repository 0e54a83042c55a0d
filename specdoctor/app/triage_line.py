"""The launch line to try next: the one that removes the first fault that a flag removes, else the best row measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specdoctor.app.triage_fact import Fact
from specdoctor.core.engine import Engine
from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.launch_shape import Shape, on_its_lines, reshaped
from specdoctor.core.launch_text import Command, commands_in
from specdoctor.core.model import Frozen
from specdoctor.core.redact import MASK, redact_argv
from specdoctor.core.server import ServerView, SpecSetting


class LineToTry(Frozen):
    """A launch to paste in the shape in which it was given, what it changes, and in place of what it stands.

    `line` is a command line for a shell, or lines of a unit or of YAML, `shape` says which. `where` names the file and
    the lines that it replaces, empty where no file holds the launch. `remarks` say what else is to be done. An empty
    `line` is none to try: the launch as it was given is that already, and `remarks` say so.
    """

    label: str
    line: str
    shape: Shape = "shell"
    where: str = ""
    remarks: tuple[str, ...] = ()


def line_to_try(
    view: ServerView,
    engines: Sequence[Engine],
    observations: Sequence[Observation],
    facts: dict[str, Fact],
    *,
    texts: Mapping[str, str],
    named: Mapping[str, str],
) -> LineToTry | None:
    """None where the launch line was not given, or nothing that was found is undone by a flag.

    `texts` are those that the launch was read from, `named` the given file behind a part of one.
    """
    engine = next((e for e in engines if e.name == view.engine), None)
    if engine is None or not view.argv:
        return None
    found = [o.remedy for o in observations if o.stance == "supports" and o.remedy is not None]
    ranked = sorted((o for o in observations if o.remedy in found), key=lambda o: (not o.explains, not o.binds))
    remedies = [o.remedy for o in ranked if o.remedy is not None] + _best(view, facts)
    for remedy in remedies:
        try:
            change = _change(engine, view, remedy)
            line = _line(engine, view, change, texts, named)
            as_given = _line(engine, view, ORIGINAL.model_copy(update={"label": change.label}), texts, named)
            return line if line != as_given else _not_of_this_line(line, remedy)
        except (SpecdoctorError, ValueError):
            continue
    return None


def _not_of_this_line(line: LineToTry, remedy: Remedy) -> LineToTry:
    """A fault of the server that its line does not have."""
    gone = " and ".join((*remedy.remove_flags, *remedy.remove_env))
    has = "asks for it already" if remedy.setting is not None or remedy.set_flags else f"does not have {gone}"
    why = (
        f"this line {has}: the server that ran was started with another, or took it from a file of arguments or its "
        "environment"
    )
    return line.model_copy(update={"line": "", "shape": "shell", "remarks": (why,)})


def _line(
    engine: Engine, view: ServerView, change: LaunchChange, texts: Mapping[str, str], named: Mapping[str, str]
) -> LineToTry:
    """The changed launch as it was given; a launch that stands in no text is given as the engine's own line."""
    command = _command(view, texts)
    if command is None or view.asked_source is None:
        return LineToTry(label=change.label, line=engine.paste_line(view, change))
    shaped = reshaped(command, change, prefix=engine.name.upper())
    shaped = on_its_lines(shaped, command, texts[view.asked_source.where])
    file = named.get(view.asked_source.where, view.asked_source.where)
    lines = f"{shaped.line}" if shaped.line == shaped.last_line else f"{shaped.line}-{shaped.last_line}"
    remarks = [f"take {name} out of its environment" for name in shaped.left]
    if MASK in shaped.text:
        remarks.append(f"{MASK} stands for a secret: leave what stands there")
    if shaped.shape == "unit":
        remarks.append("then systemctl daemon-reload, and restart the unit")
    return LineToTry(
        label=change.label, line=shaped.text, shape=shaped.shape, where=f"{file}:{lines}", remarks=tuple(remarks)
    )


def _command(view: ServerView, texts: Mapping[str, str]) -> Command | None:
    """The command that the view's launch was read from, with all that stood around it."""
    source = view.asked_source
    if source is None or source.line is None or source.where not in texts:
        return None
    for command in commands_in(texts[source.where]):
        words = redact_argv(command.words)
        both = min(len(words), len(view.argv))
        if command.line <= source.line <= command.last_line and words[-both:] == view.argv[-both:]:
            return command
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
