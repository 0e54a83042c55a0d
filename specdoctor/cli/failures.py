"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer import Abort, Exit
from typer.core import TyperGroup

from specdoctor.cli.lasting import lasting_stderr
from specdoctor.core.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OUTSIDE, SpecdoctorError

_LABEL = 11
WHOLE = 1000
"""Letters of a command's summary before it is cut off: none ever is."""
NO_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
SQLITE_NO_STORAGE = ("disk I/O error", "disk is full", "readonly database", "unable to open database file")


class Guarded(TyperGroup):
    """A command line whose failures are messages: an expected one says what now, any other is reported as a bug."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; leaves by SystemExit, as typer's own does."""
        with lasting_stderr(), told():
            return super().main(*args, **kwargs)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with their whole first sentence, wrapped and never cut off."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=WHOLE)) for name, command in named if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@contextmanager
def told() -> Iterator[None]:
    """Turn whatever is raised inside into a message on standard error and an exit code."""
    try:
        yield
    except SpecdoctorError as error:
        tell(message(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        tell("interrupted")
        sys.exit(EXIT_INTERRUPTED)
    except (Abort, Exit):
        raise
    except BrokenPipeError:
        close_output()
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last resort: nobody else may catch everything
        full = storage_message(error)
        if full:
            tell(full)
            sys.exit(EXIT_OUTSIDE)
        tell(bug_message(error))
        sys.exit(EXIT_BUG)


def tell(text: str) -> None:
    """One message on standard error, without secrets and without anything a terminal would act on."""
    from specdoctor.core.redact import redact
    from specdoctor.render.clean import clean

    print(clean(redact(text)), file=sys.stderr, flush=True)


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
                "meanwhile", "a server that was changed is put back by its guard; specdoctor status TARGET tells"
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
