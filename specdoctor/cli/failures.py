"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
import termios
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from typer import Abort, Exit
from typer.core import TyperGroup

from specdoctor.cli.completing_bash import whole_words
from specdoctor.cli.lasting import lasting_stderr
from specdoctor.core.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_MISMATCH,
    EXIT_OK,
    EXIT_STORAGE,
    EXIT_UNREAD,
    SpecdoctorError,
)

ERROR_SCHEMA = "specdoctor.error/1"
JSON = "--json"
_LABEL = 11
WHOLE = 1000
"""Letters of a command's summary before it is cut off: none ever is."""
NO_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
SQLITE_NO_STORAGE = ("disk I/O error", "disk is full", "readonly database", "unable to open database file")


class Listed(TyperGroup):
    """A group of commands whose help tells each by its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with their whole first sentence, wrapped and never cut off."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=WHOLE)) for name, command in named if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Guarded(Listed):
    """A command line whose failures are messages: an expected one says what now, any other is reported as a bug.

    With --json, one that ends otherwise than with 0 and has printed no document prints that of the error.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; leaves by SystemExit, as typer's own does."""
        given = args[0] if args else kwargs.get("args")
        words = list(sys.argv[1:] if given is None else given)
        with whole_words(), lasting_stderr(), told(as_json=JSON in words):
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
            _leave(code if isinstance(code, int) else EXIT_OK, as_json=JSON in words)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _while_read():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        with _while_read():
            return super().invoke(*args, **kwargs)


@contextmanager
def _while_read() -> Iterator[None]:
    """Whoever read our output and has gone ends the command quietly."""
    try:
        yield
    except BrokenPipeError:
        close_output()
        note_product()
        raise Exit(EXIT_UNREAD) from None


@contextmanager
def told(*, as_json: bool = False) -> Iterator[None]:
    """Turn whatever is raised inside into a message on standard error and an exit code."""
    _said.product, _said.last = False, ""
    try:
        yield
    except SpecdoctorError as error:
        tell(message(error))
        code = _unless_hung_up(error.exit_code)
        _leave(code, error.message, error.tried, error.next_step, as_json=as_json)
    except KeyboardInterrupt:
        tell("interrupted")
        _leave(EXIT_INTERRUPTED, "interrupted", as_json=as_json)
    except Abort:
        tell("Aborted!")
        _leave(EXIT_MISMATCH, "aborted", as_json=as_json)
    except Exception as error:  # noqa: BLE001  the last resort: nobody else may catch everything
        if _of_the_command_line(error):
            error.show()  # type: ignore[attr-defined]
            usage = error.format_message()  # type: ignore[attr-defined]
            _leave(error.exit_code, usage, next_step="see --help", as_json=as_json)  # type: ignore[attr-defined]
        full = storage_message(error)
        if full:
            tell(full)
            _leave(_unless_hung_up(EXIT_STORAGE), full, as_json=as_json)
        said = bug_message(error)
        tell(said)
        _leave(EXIT_BUG, said, as_json=as_json)


def _unless_hung_up(code: int) -> int:
    """A terminal that was closed takes no more output: that is an interruption, no want of room."""
    return EXIT_INTERRUPTED if code == EXIT_STORAGE and hung_up() else code


def hung_up(descriptors: tuple[int, ...] = (1, 2)) -> bool:
    """Whether one of these was a terminal that is gone."""
    for descriptor in descriptors:
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                return True
    return False


def _of_the_command_line(error: Exception) -> bool:
    """Whether typer refused the words of the command line; it has no public name for all of these errors."""
    return hasattr(error, "format_message") and hasattr(error, "show")


class _Said:
    """What this command has printed so far: whether a product, and its last message."""

    product = False
    last = ""


_said = _Said()


def note_product() -> None:
    """The command's product goes to standard output: no other document may follow."""
    _said.product = True


def _leave(code: int, error: str = "", tried: str = "", next_step: str = "", *, as_json: bool) -> NoReturn:
    """End with this code; a reader of JSON is told of an error by a document, where no other was printed."""
    if as_json and code != EXIT_OK and not _said.product:
        said = error or _said.last or f"ended with exit code {code}"
        try:
            print(error_json(code, said, tried, next_step), flush=True)
        except OSError:  # nobody reads, or there is no room: the exit code tells
            close_output()
    sys.exit(code)


def error_json(code: int, error: str, tried: str = "", next_step: str = "") -> str:
    """The document of an error, without secrets; what there is nothing to say of is null."""
    from specdoctor.core.redact import redact

    document = {
        "schema": ERROR_SCHEMA,
        "error": redact(error),
        "tried": redact(tried) or None,
        "next": redact(next_step) or None,
        "exit_code": code,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def tell(text: str) -> None:
    """One message on standard error, without secrets and without anything a terminal would act on."""
    from specdoctor.core.redact import redact
    from specdoctor.render.clean import clean

    _said.last = clean(redact(text))
    print(_said.last, file=sys.stderr, flush=True)


def message(error: SpecdoctorError) -> str:
    """An expected failure: what it is, what was tried, what to do next."""
    lines = [error.message]
    if error.tried:
        lines += _labelled("tried", error.tried)
    if error.next_step:
        lines += _labelled("next", error.next_step)
    return "\n".join(lines)


def _labelled(label: str, text: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"  {label:<{_LABEL - 2}}{first}", *(" " * _LABEL + line for line in rest)]


def storage_message(error: BaseException) -> str:
    """Where nothing can be written any more (disk full, quota, read-only): that it is so; "" for another failure."""
    import sqlite3

    each: BaseException | None = error
    while each is not None:
        full = isinstance(each, OSError) and each.errno in NO_STORAGE
        if full or (isinstance(each, sqlite3.OperationalError) and any(w in str(each) for w in SQLITE_NO_STORAGE)):
            step = "free space or quota for the working directory and your home, then go on: investigate --resume RUN"
            place = f" ({each.filename})" if isinstance(each, OSError) and each.filename else ""
            lines = [f"what this run learns can no longer be kept: {str(each).splitlines()[0]}{place}"]
            lines += _labelled(
                "server", "one that was changed is put back by its guard: specdoctor status TARGET tells"
            )
            return "\n".join([*lines, *_labelled("next", step)])
        each = each.__cause__ or each.__context__
    return ""


def bug_message(error: BaseException) -> str:
    """A failure nobody expected: where its traceback was written, and that it is ours."""
    place = _write_trace(error)
    where = f"its traceback is in {place}" if place else "its traceback could not be written"
    text = str(error).split("\n", 1)[0]
    return "\n".join(
        [
            f"specdoctor failed in a way it should not: {type(error).__name__}" + (f": {text}" if text else ""),
            *_labelled("this is", "a bug of specdoctor, not of your server"),
            *_labelled("next", f"{where}; report it with that file"),
        ]
    )


def _write_trace(error: BaseException) -> Path | None:
    """The traceback, free of secrets, in the user's log folder or else among the temporary files."""
    import platformdirs

    from specdoctor.core.redact import redact

    text = redact("".join(traceback.format_exception(error)))
    name = f"failure-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (platformdirs.user_log_path("specdoctor"), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return path
    return None


def close_output() -> None:
    """Whoever read our output has gone: nothing more can be written, not even by the interpreter's last flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
