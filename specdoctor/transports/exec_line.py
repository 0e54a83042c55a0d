"""The one line an SSH server hands to the login shell, written so that every shell reads it the same way.

An SSH `exec` request carries a single string, and the account's login shell parses it, whichever that is. POSIX shells,
csh and fish disagree about `!`, backslashes, newlines and non-ASCII text inside quotes, so none of these is sent as
itself: the command is spelt with octal escapes inside single quotes, and a POSIX `sh` puts it together again.

Login scripts may print before the command begins. Its own output starts after a line with a mark on each stream; that
line on standard error also tells the process it runs under.
"""

from __future__ import annotations

import secrets
import shlex
import string
from collections.abc import Sequence

from specdoctor.core.errors import SpecdoctorError

MAX_LINE_BYTES = 128 * 1024 - 1
"""Linux accepts no single argument longer than this (MAX_ARG_STRLEN), and the login shell gets the line as one."""

# What bourne shells, csh and fish all leave alone between single quotes: no quote, backslash, `!` or control byte.
_SENT_AS_ITSELF = frozenset((string.ascii_letters + string.digits + ' _./:=,@%+-"$&()*;<>?[]{}|~`#^').encode("ascii"))

_RESERVED_WORDS = frozenset(
    "case coproc do done elif else end esac fi for foreach function if in namespace repeat select then time until "
    "while".split()
)

# A limit on the host itself ends what outlives a broken connection, and what a server will not signal for us (OpenSSH
# signals no session of root). It is used where `timeout` knows -k and fractions, and `exec` makes it the process that
# the server signals. The blank before $( keeps a program whose name starts with a dash from being an option of eval.
# The mark is put together on the host, so that a shell that echoes the line does not write it.
_WRAPPER = (
    'exec sh -c \'s=" $(printf %b "$1")"; echo "$3$4"; echo "$3$4 $$" >&2; '
    'timeout -k {kill_after_s} 9.5 true 2>/dev/null && exec timeout -k {kill_after_s} "$2" sh -c "$s" "$4"; '
    "eval \"$s\"' sh '{escaped}' {limit_s} {first} {token}"
)
# Signals the process only while it is the very one that was started for this token.
_SIGNAL = "exec sh -c 'grep -q {token} /proc/{pid}/cmdline && kill -{name} -{pid}'"
_MARK = "sd-begun-"
# The trap keeps this shell waiting for a command that ignores TERM, so that the limit goes on to KILL.
_SCRIPT = "trap : TERM; {command}; exit $?"

HOST_LIMIT_MARGIN_S = 0.5
"""The host's own limit comes this much after the caller's, so that the caller's is the one that is reported."""

HOST_KILL_AFTER_S = 2


def new_token() -> str:
    """A word that the output of no command contains by chance."""
    return secrets.token_hex(8)


def mark_of(token: str) -> str:
    """How the line begins after which the output of a command sent with this token begins."""
    return f"{_MARK}{token}"


def signal_line(pid: int, token: str, name: str) -> str:
    """A line that signals the process group of `pid`, if that is still what was started with `token`."""
    return _SIGNAL.format(pid=pid, token=token, name=name)


def checked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The argument list as a tuple.

    Raises SpecdoctorError for what no system can run: no program at all, or a NUL inside an argument.
    """
    words = tuple(argv)
    if not words or not words[0]:
        raise SpecdoctorError(
            "a command without a program cannot be run",
            tried=f"argv {list(words)!r}",
            next_step="This is a fault in specdoctor; please report it.",
        )
    if any("\0" in word for word in words):
        raise SpecdoctorError(
            "an argument contains a NUL byte, which no command line can carry",
            tried=f"an argument of {program_name(words)}",
            next_step="Send binary data on standard input.",
        )
    return words


def exec_line(argv: Sequence[str], *, timeout_s: float, token: str) -> str:
    """One ASCII line that runs `argv` with each element as exactly one argument, under any login shell.

    Both output streams begin with the line of `mark_of(token)`, the one on standard error with a process id after it.
    The exit status is the command's, 128 + n after a signal. The host ends the command a moment after `timeout_s`, if
    it has the means. Raises SpecdoctorError when the line would be longer than a host accepts.
    """
    words = checked_argv(argv)
    command = " ".join([_quoted_program(words[0]), *(shlex.quote(word) for word in words[1:])])
    script = _SCRIPT.format(command=command)
    escaped = "".join(
        chr(byte) if byte in _SENT_AS_ITSELF else f"\\0{byte:03o}"
        for byte in script.encode("utf-8", errors="surrogateescape")
    )
    limit_s = f"{timeout_s + HOST_LIMIT_MARGIN_S:.1f}"
    line = _WRAPPER.format(escaped=escaped, limit_s=limit_s, kill_after_s=HOST_KILL_AFTER_S, first=_MARK, token=token)
    if len(line) > MAX_LINE_BYTES:
        raise SpecdoctorError(
            f"the command line of {program_name(words)} is too long: {len(line)} bytes, at most {MAX_LINE_BYTES}",
            tried=f"{len(words) - 1} arguments, {len(script)} characters before escaping",
            next_step="Send the data on standard input.",
        )
    return line


def program_name(argv: Sequence[str]) -> str:
    """What to call a command in a message: its program only, since arguments may hold keys and tokens."""
    name = argv[0].rsplit("/", 1)[-1]
    count = len(argv) - 1
    return f"`{name}` ({count} argument{'' if count == 1 else 's'})"


def _quoted_program(word: str) -> str:
    # Unquoted, a reserved word would be syntax and NAME=value an assignment.
    if word in _RESERVED_WORDS or ("=" in word and shlex.quote(word) == word):
        return f"'{word}'"
    return shlex.quote(word)
