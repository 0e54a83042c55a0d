"""All commands, and what a typed line comes to."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.render.layout import labels
from specdoctor.session import commands as room
from specdoctor.session.command import Command, Outcome
from specdoctor.session.sentence import said
from specdoctor.session.view import View

ORDER = ("why", "evidence", "hypotheses", "add", "drop", "undrop", "prior", "run", "relaunch")
"""Those that come first in the help; the others follow by name."""
SHORT = {"y": "approve once", "k": "approve kind", "a": "approve run", "n": "deny", "c": "commands"}
"""Single letters, understood while a question stands."""
BARE = {
    **dict.fromkeys(("quit", "exit", "q"), "quit"),
    **dict.fromkeys(("help", "?"), "help"),
    **dict.fromkeys(("yes", "y"), "approve once"),
    **dict.fromkeys(("no", "n"), "deny"),
}
"""Words that stand alone on a line and mean a command, always."""
_BARE_LINE = re.compile(r"(?:please[\s,]+)?([a-z]+|\?)\??(?:[\s,]+please)?[\s.!,]*", re.I)
PLAIN = "a plain sentence says what you see, or claims what would be measured"


def _help(view: View, typed: str) -> Outcome:
    wanted = typed.strip().lstrip("/")
    chosen = [c for c in COMMANDS.values() if wanted in ("", c.name)] or list(COMMANDS.values())
    rows = [(c.usage, c.help) for c in chosen]
    told = labels(rows, label_width=max(len(usage) for usage, _ in rows) + 2, width=view.width)
    return Outcome(told + ("" if wanted else f"\n{PLAIN}"))


def _after_help(view: View, words: Sequence[str]) -> Sequence[str]:
    return list(COMMANDS) if len(words) <= 1 else ()


HELP = Command("help", "/help [COMMAND]", "Every command.", _help, _after_help)


def _commands() -> dict[str, Command]:
    modules = [importlib.import_module(f"{room.__name__}.{m.name}") for m in pkgutil.iter_modules(room.__path__)]
    found = {HELP.name: HELP, **{module.command.name: module.command for module in modules}}
    return {name: found[name] for name in (*ORDER, *sorted(set(found) - set(ORDER)))}


COMMANDS = _commands()


def outcome_of(view: View, line: str) -> Outcome:
    """What a line comes to: a command, a word or letter that means one, or a sentence. Raises UsageError."""
    line = line.strip()
    if view.question is not None and line.lower() in SHORT:
        line = f"/{SHORT[line.lower()]}"
    if not line:
        return Outcome()
    line = _bare(line) or line
    if not line.startswith("/"):
        return said(view, line)
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        raise UsageError(unknown_word("command", f"/{name}", [f"/{n}" for n in COMMANDS]), next_step="/help lists them")
    return command.run(view, rest)


def _bare(line: str) -> str:
    """The command that a word on its own means, politeness and punctuation aside; a doubtful `yes?` means none."""
    found = _BARE_LINE.fullmatch(line)
    command = BARE.get(found.group(1).lower()) if found else None
    doubtful = "?" in line and command != "help"
    return f"/{command}" if command and not doubtful else ""


def completions_of(view: View, line: str) -> list[str]:
    """What may stand in place of the last word of a line that is being typed."""
    if not line.startswith("/"):
        return []
    words = line[1:].split(" ")
    if len(words) == 1:
        return [f"/{name}" for name in COMMANDS if name.startswith(words[0].lower())]
    command = COMMANDS.get(words[0].lower())
    if command is None:
        return []
    return [c for c in command.complete(view, words[1:]) if c.lower().startswith(words[-1].lower())]
