"""specdoctor tune: the fastest draft setting of a server, with very few restarts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from specdoctor.app.tune_outcome import TuneOutcome
    from specdoctor.core.operations import Operations
    from specdoctor.core.run_settings import RunSettings
    from specdoctor.store.mirrored import MirroredStore

_STARTS = 7


def tune(
    target: opt.Target = None,
    concurrency: Annotated[
        str | None,
        typer.Option(
            "--concurrency",
            metavar="N[,N...]",
            help="Numbers of clients to find the best setting for, such as 1,8.  [default: 1]",
            show_default=False,
        ),
    ] = None,
    allow: opt.Allow = None,
    max_restarts: Annotated[
        int | None,
        typer.Option(
            "--max-restarts",
            metavar="N",
            help="At most this many starts of the server, the one that puts it back included.  [default: 7]",
            min=0,
            max=1000,
            show_default=False,
        ),
    ] = None,
    max_minutes: opt.MaxMinutes = None,
    spread: opt.LaunchSpread = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Search anew, even if an earlier search in this state has the answer.")
    ] = False,
    grace: opt.Grace = None,
    requests: opt.Requests = None,
    prompts: opt.Prompts = None,
    form: opt.PromptForm = None,
    with_traffic: opt.WithTraffic = False,
    server_port: opt.ServerPort = None,
    log: opt.Logs = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    via: opt.Via = None,
    sudo: opt.Sudo = False,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Find the fastest draft length or tree of a server, or that speculation is better off.

    Measures the server as found and without speculation, then a few launches chosen by what they are expected to
    tell; predicts all others; starts the winner anew before it is believed; and puts the server back. It asks, guards
    and restores as `investigate` does, and goes on after a stop with `investigate --resume RUN`.

    Exit code: 0 with an answer at every concurrency, 3 without, 4 waiting for permission, 5 server down or unreachable.

    \b
    Examples:
      specdoctor tune ssh://gpu-7 --allow restart
      specdoctor tune eagle-a --allow restart --concurrency 1,8 --max-restarts 5
      specdoctor tune eagle-a --json
    """
    given = {
        "planner": "tune",
        "concurrencies": _numbers(concurrency),
        "launch_spread": spread,
        "allow": allow,
        "max_restarts": _STARTS if max_restarts is None else max_restarts,
        "max_minutes": max_minutes,
        "grace": grace,
        "requests": requests,
        "prompts": prompts,
        "form": form,
        "with_traffic": with_traffic,
        "server_port": server_port,
        "log": log,
        "ssh_config": ssh_config,
        "ssh_transport": ssh,
        "via": via,
        "sudo": sudo or None,
        "interpreter": interpreter,
    }
    raise typer.Exit(_tuned(target, targets, given, accept_new=accept_new_host_key, fresh=fresh, as_json=json))


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """The numbers of clients asked for, each once, the smallest first. Raises UsageError."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and len(word) < 5 and 0 < int(word) <= 4096 for word in words):
        raise UsageError(
            f"--concurrency {text!r} is no list of numbers", next_step="write for example: --concurrency 1,8"
        )
    return tuple(sorted({int(word) for word in words}))


def _tuned(
    wanted: str | None,
    targets_file: Path | None,
    given: dict[str, Any],
    *,
    accept_new: bool,
    fresh: bool,
    as_json: bool,
) -> int:
    from specdoctor.assembly.stores import close_store, open_store
    from specdoctor.assembly.tuned import tune_outcome
    from specdoctor.cli.investigate import operations_for, to_its_end
    from specdoctor.cli.settings import settings_of
    from specdoctor.cli.targets import resolve

    target = resolve(wanted, targets_file)
    settings = settings_of(target, given)
    say(f"specdoctor: logging in to {target.transport}")
    operations = operations_for(target.transport, settings, accept_new=accept_new)
    store = open_store()
    try:
        earlier = None if fresh else _earlier(store, operations, settings)
        if earlier is not None:
            say(f"specdoctor: run {earlier.run} searched here in the same state; --fresh searches anew")
            _show(earlier, as_json=as_json)
            return EXIT_OK
        code, run_id = to_its_end(store, operations, settings)
        found = tune_outcome(store, run_id)
        _show(found, as_json=as_json)
        _point_at(store, run_id)
        return code
    finally:
        operations.close()
        close_store(store)


def _earlier(store: MirroredStore, operations: Operations, settings: RunSettings) -> TuneOutcome | None:
    from specdoctor.assembly.tuned import earlier_tune

    return earlier_tune(store, operations, settings)


def _show(found: TuneOutcome, *, as_json: bool) -> None:
    from specdoctor.render.tuned import tune_document, tune_text

    if as_json:
        document = tune_document(
            found.tuned,
            run=found.run,
            target=found.target,
            launches=found.launches,
            cached=found.cached,
            reason=found.reason,
        )
        print_json(document)
    elif found.tuned.results:
        text = tune_text(found.tuned, launches=found.launches, cached=found.cached, width=width())
        print_text(f"\n{text}")
    else:
        say(f"nothing was measured: {found.reason}")


def _point_at(store: MirroredStore, run_id: str) -> None:
    from specdoctor.cli.investigate import point_at
    from specdoctor.core.ledger import fold

    point_at(store, fold(store.events(run_id)))
