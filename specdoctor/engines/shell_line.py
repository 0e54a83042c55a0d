"""A command line as it can be pasted into a shell: quoted, secrets as `$NAME`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from specdoctor.core.launch import LaunchChange
from specdoctor.core.redact import MASK
from specdoctor.core.shell_quoting import quoted, variable


def shell_line(argv: Sequence[str], change: LaunchChange, *, flags_from: int, prefix: str) -> str:
    """`argv` (already changed and redacted) with the environment of `change`: variables that it sets stand before the
    command, those it removes as `env -u NAME`. It is a command and nothing else: another image, and the copy of a
    folder that is to be made before, are told beside it. Flags begin at `flags_from`; `prefix` begins the names of
    variables.
    """
    parts: list[str] = []
    if change.remove_env:
        parts += ["env", *(part for name in sorted(change.remove_env) for part in ("-u", shlex.quote(name)))]
    parts += [f"{name}={quoted(value, variable(name, prefix))}" for name, value in sorted(change.set_env.items())]
    flag = ""
    for index, word in enumerate(argv):
        if index >= flags_from and word.startswith("--"):
            flag, equals, value = word.partition("=")
            masked = equals and MASK in value
            parts.append(f"{flag}={quoted(value, variable(flag, prefix))}" if masked else shlex.quote(word))
        else:
            parts.append(quoted(word, variable(flag, prefix)))
    return " ".join(parts)
