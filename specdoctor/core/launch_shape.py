"""A changed launch in the shape it was given in: a shell line with all that wraps it, a unit, keys of a container."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Literal

from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.core.launch_text import KEPT as SHELL_WORDS
from specdoctor.core.launch_text import Command, Part, Script, Typed
from specdoctor.core.model import Frozen
from specdoctor.core.redact import MASK, redact, secret_name
from specdoctor.core.shell_quoting import quoted, retyped, variable

Shape = Literal["shell", "unit", "yaml"]
_REFERENCE = re.compile(r"[\"']?\$(?:\w+|\{\w+\}|\(\w+\))[\"']?")
_PLAIN = re.compile(r"(?:--?[A-Za-z]|[A-Za-z/])[\w./=@%+-]*")
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


class ShapedLaunch(Frozen):
    """What stands in place of the lines `line` to `last_line`: one line for a shell or a unit, some lines of YAML.

    A secret is a variable in a shell line and `***` elsewhere. `left` names variables that the change takes out and
    that stand where this does not reach.
    """

    shape: Shape
    text: str
    line: int
    last_line: int
    left: tuple[str, ...] = ()


class _Word(str):
    """A word that knows how it was typed; what a change adds is an ordinary one."""

    __slots__ = ("typed",)
    typed: str


def _word(pair: Typed) -> _Word:
    word = _Word(pair[0])
    word.typed = pair[1]
    return word


def _typed(word: str) -> str:
    return word.typed if isinstance(word, _Word) else shlex.quote(word)


def reshaped(command: Command, change: LaunchChange, *, prefix: str) -> ShapedLaunch:
    """`command` after `change`, with everything that stood around it; `prefix` begins the names of variables."""
    where = {"line": command.line, "last_line": command.last_line}
    if command.parts:
        return ShapedLaunch(shape="yaml", text=_yaml(command, change), left=change.remove_env, **where)
    outer = _outermost(command.script)
    first = (outer.before if outer is not None else command.typed)[0][0]
    shape: Shape = "unit" if first.startswith("ExecStart") else "shell"
    own = _changed(command, change, prefix=prefix if shape == "shell" and outer is None else "")
    if outer is not None and command.script is not None:
        own = _around(command.script, " ".join(own), prefix=prefix if shape == "shell" else "")
    left = change.remove_env if outer is not None else ()
    if shape == "shell" and command.carrier != "docker" and first not in SHELL_WORDS:
        own = [*_environment(command, change, prefix), *own]
    else:
        left = tuple(name for name in change.remove_env if not any(_sets(word, name) for word, _ in command.typed))
    return ShapedLaunch(shape=shape, text=" ".join(own), left=left, **where)


def on_its_lines(shaped: ShapedLaunch, command: Command, text: str) -> ShapedLaunch:
    """The same with what stands before and after the command on its lines of `text`: `source env && ...`, `| tee`."""
    if shaped.shape == "yaml" or not command.end:
        return shaped
    begin = text.rfind("\n", 0, command.start) + 1
    stop = text.find("\n", command.end)
    before, after = text[begin : command.start], text[command.end : stop if stop >= 0 else len(text)]
    kept = re.search(r"[;&|]\s*$", before) is not None
    around = f"{redact(before.lstrip()) if kept else ''}{shaped.text}{redact(after.rstrip())}"
    return shaped.model_copy(update={"text": around})


def _outermost(script: Script | None) -> Script | None:
    while script is not None and script.outer is not None:
        script = script.outer
    return script


def _sets(word: str, name: str) -> bool:
    return word.removeprefix("--env=").startswith(f"{name}=")


def _environment(command: Command, change: LaunchChange, prefix: str) -> list[str]:
    """The variables that the script set before the command, those that the change sets, those that it takes out."""
    gone = [part for name in sorted(change.remove_env) for part in ("-u", shlex.quote(name))]
    given = {name: value for name, value in command.exported.items() if name not in change.remove_env}
    given |= change.set_env
    words = [_word((f"{name}={value}", f"{name}={retyped('', value)}")) for name, value in given.items()]
    return [*(["env", *gone] if gone else []), *_shown(words, prefix=prefix)]


def _changed(command: Command, change: LaunchChange, *, prefix: str) -> list[str]:
    """The statement with its own words changed, as a shell takes it."""
    typed = [_word(pair) for pair in command.typed]
    begin = len(typed) - (len(command.words) - command.aside)
    before = _without_variables(typed[:begin], change.remove_env)
    own = [_word((word, shlex.quote(word))) for word in command.words[: command.aside]] + typed[begin:]
    after = [_word(pair) for pair in command.redirected]
    return _shown([*before, *apply_change(tuple(own), change)[command.aside :], *after], prefix=prefix)


def _without_variables(words: Sequence[_Word], names: Sequence[str]) -> list[_Word]:
    """The words without assignments of these variables, and without the option that gives them to a container."""
    kept: list[_Word] = []
    for word in words:
        if not any(_sets(word, name) for name in names):
            kept.append(word)
        elif kept and kept[-1] in ("-e", "--env"):
            kept.pop()
    return kept


def _around(script: Script, inner: str, *, prefix: str) -> list[str]:
    """The statement that gives a shell this script, with one command of it replaced; secrets in it are masked."""
    text = _rewritten(script, inner)
    typed = [_word(pair) for pair in script.before]
    after = _shown([_word(pair) for pair in script.after], prefix=prefix)
    if script.outer is not None:
        line = " ".join([*_shown(typed, prefix=""), shlex.quote(text), *after])
        return _around(script.outer, line, prefix=prefix)
    return [*_shown(typed, prefix=prefix), _script_word(script, text), *after]


def _rewritten(script: Script, inner: str) -> str:
    return f"{redact(script.text[: script.start])}{inner}{redact(script.text[script.end :])}"


def _script_word(script: Script, text: str) -> str:
    """The script quoted so that the outer shell replaces the variables that it would have replaced."""
    if "$" not in text or not script.text_typed.startswith('"'):
        return shlex.quote(text)
    typed = retyped("", text)
    for name in set(re.findall(r"\\\$(\{?\w+)", script.text_typed)):
        typed = re.sub(rf"(?<!\\)\${re.escape(name)}\b", lambda m: "\\" + m[0], typed)
    return typed


def _shown(words: Sequence[str], *, prefix: str | None) -> list[str]:
    """The words as typed; a secret is a variable, or masked where `prefix` has no name for one (None: unquoted)."""
    out: list[str] = []
    flag = ""
    for word in words:
        name, equals, _ = word.partition("=")
        of, value = "", ""
        if flag and secret_name(flag) and not word.startswith("--"):
            clean, of, value = MASK, flag, _typed(word)
        elif word.startswith("-") and equals and secret_name(name):
            clean, of, value = f"{name}={MASK}", name, _typed(word).partition("=")[2]
        else:
            clean = redact(word)
        flag = word if word.startswith("-") and not equals else ""
        kept = clean == word or _REFERENCE.fullmatch(value) is not None
        out.append(_typed(word) if kept else _hidden(clean, of, prefix))
    return out


def _hidden(word: str, flag: str, prefix: str | None) -> str:
    """A masked word; with a prefix the shell variable that stands for what is masked."""
    if not prefix:
        return word if prefix is None or word == MASK else shlex.quote(word)
    named = re.search(r"([A-Za-z_]\w*)=\*\*\*", word)
    name = variable(flag, prefix) if flag or named is None else named[1]
    head, equals, rest = word.rpartition("=")
    return f'{shlex.quote(head)}="${name}"' if equals and rest == MASK else quoted(word, name)


def _yaml(command: Command, change: LaunchChange) -> str:
    """The keys of a container with its words changed, lists as lists."""
    outer = _outermost(command.script)
    if outer is not None and command.script is not None:
        script = command.script
        joint = " \\\n  " if "\n" in script.text[script.start : script.end] else " "
        inner = joint.join(_grouped(_changed(command, change, prefix="")))
        while script.outer is not None:
            inner, script = " ".join(_around(script, inner, prefix="")), script.outer
        new = _rewritten(outer, inner)
        return "\n".join(
            _key(p, [_scripted(w, outer.text, new, listed=p.listed) for w in p.words]) for p in command.parts
        )
    here = [
        {flag for word, _ in part.words if (flag := word.partition("=")[0]) in change.set_flags}
        for part in command.parts
    ]
    anywhere = set().union(*here)
    keys: list[str] = []
    for number, part in enumerate(command.parts, start=1):
        wanted = here[number - 1] | (set(change.set_flags) - anywhere if number == len(command.parts) else set())
        own = change.model_copy(update={"set_flags": {f: v for f, v in change.set_flags.items() if f in wanted}})
        keys.append(_key(part, apply_change(tuple(_word(pair) for pair in part.words), own)))
    return "\n".join(keys)


def _scripted(pair: Typed, old: str, new: str, *, listed: bool) -> _Word:
    """A word of a container, the script replaced by the new one as it has to be typed there."""
    return _word(pair) if pair[0] != old else _word((new, new if listed else shlex.quote(new)))


def _key(part: Part, words: Sequence[str]) -> str:
    """One key of YAML with these words."""
    if not part.listed:
        return "\n".join([f"{part.key}: >-", *(f"  {line}" for line in _grouped(_shown(words, prefix="")))])
    plain = [_word((word, word.typed if isinstance(word, _Word) else word)) for word in words]
    return "\n".join([f"{part.key}:", *(_item(text) for text in _shown(plain, prefix=None))])


def _item(text: str) -> str:
    if "\n" in text:
        return "\n".join(["  - |", *(f"    {line}".rstrip() for line in text.strip("\n").split("\n"))])
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _YAML_WORDS
    single = '"' in text and "'" not in text
    return f"  - {text if plain else chr(39) + text + chr(39) if single else json.dumps(text, ensure_ascii=False)}"


def _grouped(words: Sequence[str]) -> list[str]:
    """A flag with its values on a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and not word.startswith("-") and lines[-1].startswith("-"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
