"""Runs put together: with their store, host, planner, screen and whoever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specdoctor.assembly.catalogue import all_checks, engines_named
from specdoctor.assembly.clock import WallClock
from specdoctor.assembly.connections import who_asks
from specdoctor.assembly.planning import planner_for, with_person
from specdoctor.assembly.stores import stored_start

if TYPE_CHECKING:
    from specdoctor.app.run import Run
    from specdoctor.core.desk import Desk
    from specdoctor.core.operations import Clock, Operations
    from specdoctor.core.ports import Approver, Onlooker
    from specdoctor.core.run_settings import RunSettings
    from specdoctor.render.live import LiveConsole
    from specdoctor.store.mirrored import MirroredStore


def onlooker_for(*, live: bool) -> LiveConsole | Onlooker:
    """The live screen on a terminal, else plain lines; both write to standard error."""
    if live:
        from specdoctor.render.live import LiveConsole

        return LiveConsole()
    from specdoctor.render.plain import PlainConsole

    return PlainConsole()


def approver_for(*, terminal: bool) -> Approver:
    """Somebody who asks on the terminal; without one nobody is asked, and the run waits for a resume."""
    from specdoctor.render.approval import NobodyToAsk, TerminalApprover

    return TerminalApprover() if terminal else NobodyToAsk()


def new_run(
    *,
    store: MirroredStore,
    operations: Operations,
    settings: RunSettings,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None = None,
    desk: Desk | None = None,
) -> Run:
    """A run under a fresh id with its first event written."""
    from specdoctor.app.investigation import start

    run = _run(store.store.free_run_id(), store, operations, settings, onlooker, approver, clock, desk)
    start(run, settings, by=who_asks())
    return run


def resumed_run(
    run_id: str,
    *,
    store: MirroredStore,
    operations: Operations,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None = None,
    desk: Desk | None = None,
) -> Run:
    """A run to go on with: nothing is loaded or done yet, that is `investigation.resume`."""
    settings = stored_start(store, run_id).settings
    return _run(run_id, store, operations, settings, onlooker, approver, clock, desk)


def _run(
    run_id: str,
    store: MirroredStore,
    operations: Operations,
    settings: RunSettings,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None,
    desk: Desk | None,
) -> Run:
    from specdoctor.app.run import Run
    from specdoctor.core.desk import EmptyDesk

    return Run(
        id=run_id,
        store=store,
        operations=operations,
        engines=engines_named(settings.engine),
        checks=all_checks(),
        planner=with_person(planner_for(settings, clock=clock), settings),
        approver=approver,
        onlooker=onlooker,
        clock=clock or WallClock(),
        desk=desk or EmptyDesk(),
    )
