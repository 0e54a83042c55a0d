"""The one place where errors become messages and exit codes."""

from __future__ import annotations

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
from specdoctor.core.errors import EXIT_BUG, EXIT_INTERRUPTED, SpecdoctorError

_LABEL = 11


class Guarded(TyperGroup):
    """A command line whose failures are messages: an expected one says what now, any other is reported as a bug."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; leaves by SystemExit, as typer's own does."""
        with lasting_stderr(), told():
            return super().main(*args, **kwargs)


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
