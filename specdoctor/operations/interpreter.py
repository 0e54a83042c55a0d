"""Which Python on the host runs our programs, found without a round trip of its own."""

from __future__ import annotations

from collections.abc import Sequence

OPTIONS = ("-I", "-S", "-B")
"""Isolated: no site packages, no user settings, nothing written beside the sources."""

NO_PYTHON = 86
"""Exit code when the host has no usable Python and no fall-back was given."""

# Takes the first Python 3.6 or later and becomes it, leaving standard input untouched: the one named, the usual names,
# then that of any process (an engine's own). Without any it becomes the fall-back script, if there is one.
_PICK = """
for each in "$1" python3 python "${HOST_USR-/usr}/bin/python3" "${HOST_USR-/usr}/local/bin/python3"; do
    [ -n "$each" ] && command -v "$each" >/dev/null 2>&1 || continue
    "$each" -I -S -B -c 'import sys; sys.exit(sys.version_info < (3, 6))' </dev/null >/dev/null 2>&1 || continue
    exec "$each" -I -S -B -
done
seen=
for link in "${HOST_PROC:-/proc}"/[0-9]*/exe; do
    each=$(readlink "$link" 2>/dev/null)
    case $each in "$seen") continue ;; */python[3-9]*) seen=$each ;; *) continue ;; esac
    "$each" -I -S -B -c 'import sys; sys.exit(sys.version_info < (3, 6))' </dev/null >/dev/null 2>&1 || continue
    exec "$each" -I -S -B -
done
[ -n "$2" ] || exit 86
script=$2
shift 2
exec sh -c "$script" specdoctor-probe "$@"
"""

_PICK_AS_ROOT = _PICK[: _PICK.index("seen=")] + _PICK[_PICK.index('[ -n "$2" ]') :]


def picking(configured: str | None, *, fallback: str = "", arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """A command that runs the program on its standard input with the best Python of the host.

    `fallback` is a shell script run with `arguments` where there is none; without it the exit code is `NO_PYTHON`.
    """
    return ("sh", "-c", _PICK, "specdoctor-probe", configured or "", fallback, *arguments)


def picking_as_root(configured: str | None, *, fallback: str = "", arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """As `picking`, for a command that runs as root: no Python that another user could have put there is taken."""
    return ("sh", "-c", _PICK_AS_ROOT, "specdoctor-probe", configured or "", fallback, *arguments)


def running(interpreter: str) -> tuple[str, ...]:
    """A command that runs the program on its standard input with this Python."""
    return (interpreter, *OPTIONS, "-")
