"""Driving a run from the command line: lock, screen, interrupts, and what is left when it is over."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.cli.interrupts import LeftAtOnce, interrupts
from specdoctor.cli.lasting import hang_up_when_lost
from specdoctor.cli.output import say
from specdoctor.core.errors import EXIT_INTERRUPTED, StoreError
from specdoctor.core.resuming import resume_line

if TYPE_CHECKING:
    from specdoctor.app.run import Run
    from specdoctor.store.mirrored import MirroredStore


def drive(
    run: Run,
    store: MirroredStore,
    *,
    take_up: Callable[[], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> int:
    """Take a run to its end and return its exit code. Its report is written whatever happens.

    `take_up` resumes a run that was begun before, ahead of everything else.

    A changed server is put back on every way out, except when somebody interrupts that too; then it is said how to
    go on, through `tell` where the terminal is somebody else's.
    """
    from specdoctor.app.run import Run as RunType
    from specdoctor.assembly.stores import checkpoints_of

    words = interrupts(
        first=lambda: _first_words(run),
        then=lambda: _last_words(run),
        whole=RunType.emit.__code__,
        tell=tell,
    )
    try:
        with store.store.lock(run.id):
            return _then_told(run, lambda: _within(words, run, checkpoints_of(store), take_up))
    except (KeyboardInterrupt, LeftAtOnce):
        return EXIT_INTERRUPTED
    finally:
        run.onlooker.close()
        write_report(run.id, store)


def _within(
    words: AbstractContextManager[None], run: Run, checkpoints: Path, take_up: Callable[[], None] | None
) -> int:
    with words, hang_up_when_lost():
        return _driven(run, checkpoints, take_up)


def _then_told(run: Run, work: Callable[[], int]) -> int:
    """Do `work`; however it ends, the host is told that nobody steers the run any more.

    It comes after the signals are as they were: whoever asks to stop once more is not kept.
    """
    exit_code: int | None = None
    words = ""
    try:
        exit_code = work()
        words = run.ledger.ended.reason if run.ledger.ended is not None else ""
    except (KeyboardInterrupt, LeftAtOnce):
        exit_code, words = EXIT_INTERRUPTED, "left at once"
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise
    finally:
        run.onlooker.close()
        with suppress(KeyboardInterrupt):
            _tell_host(run, exit_code, words)
    return exit_code


def _tell_host(run: Run, exit_code: int | None, words: str) -> None:
    from specdoctor.app.leaving import tell_host

    if told := tell_host(run, exit_code=exit_code, words=words):
        say(told)


def _driven(run: Run, checkpoints: Path, take_up: Callable[[], None] | None) -> int:
    from specdoctor.app import investigation

    def work() -> int:
        if take_up is not None:
            take_up()
        return investigation.investigate(run, checkpoints=checkpoints)

    return _put_back_on_failure(run, work)


def _put_back_on_failure(run: Run, work: Callable[[], int]) -> int:
    """Run `work`; if it fails in a way the investigation does not know, the server is put back before the failure."""
    from specdoctor.app.investigation import put_back
    from specdoctor.core.errors import ConnectionLost

    try:
        return work()
    except ConnectionLost:
        raise
    except Exception as error:
        if run.ledger.changed and not run.back_unrecorded:
            say(f"{type(error).__name__}: {error}; putting the server back first")
            put_back(run, why="specdoctor failed")
        raise


def _first_words(run: Run) -> str:
    pause = getattr(run.onlooker, "pause", None)
    if pause is not None:
        pause()
    if run.ledger.changed:
        return (
            "interrupted: putting the server back; Ctrl-C again leaves at once, "
            f"and the guard on the host puts it back after {run.ledger.settings.grace_s:.0f} s"
        )
    return "interrupted: the server was not changed; ending"


def _last_words(run: Run) -> str:
    state = "the server may not be as it was, which its guard on the host puts right"
    if not any(a.started.what == "relaunch" for a in run.ledger.actions.values()):
        state = "the server was not changed"
    return f"left at once; {state}. Go on with:  {resume_line(run.ledger)}"


def write_report(run_id: str, store: MirroredStore) -> Path | None:
    """report.md of a run beside its events, as far as it got; None for a run without events."""
    from specdoctor.render.report import report_markdown

    try:
        events = [store.store.redactor.event(event) for event in store.events(run_id)]
        written = store.transcript.put_report(run_id, report_markdown(events)) if events else None
    except StoreError as error:
        say(f"no report was written: {error.message}")
        return None
    if store.lagging is not None:
        say(f"the transcript is behind the run database, which has everything: {store.lagging}")
    return written
