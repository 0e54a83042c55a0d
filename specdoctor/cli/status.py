"""specdoctor status and specdoctor restore: what runs have left on a host, and putting a server back by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import on_terminal, print_json, print_text, say, width
from specdoctor.core.errors import EXIT_MISMATCH, EXIT_OK, EXIT_OUTSIDE, PolicyError

if TYPE_CHECKING:
    from specdoctor.core.custody import Leftovers, LeftRun
    from specdoctor.core.launch import RestoreOutcome
    from specdoctor.core.operations import Progress
    from specdoctor.core.reach import SshTransport
    from specdoctor.operations.custody import Custody


def status(
    target: opt.Target = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """See which servers are held, what runs have left on a target, and what a guard did there; changes nothing.

    Exit code: 0 nothing is left, or only a run that is at work; 1 something is left and the server is as it was found,
    or in the hands of others by now; 5 a server is down or changed and nobody steers it, or the host cannot be reached.

    \b
    Examples:
      specdoctor status ssh://gpu-7
      specdoctor status eagle-a --json
    """
    from specdoctor.render.custody import leftovers_text

    with _custody(target, targets, accept_new_host_key, ssh_config, ssh, interpreter) as custody:
        found = custody.look()
    if json:
        runs = [{**left.model_dump(mode="json"), "standing": left.standing} for left in found.runs]
        leases = [lease.model_dump(mode="json") for lease in found.leases]
        print_json({"schema": "specdoctor.status/1", "target": custody.target, "runs": runs, "leases": leases})
    else:
        print_text(leftovers_text(found, target=custody.target, width=width()))
    raise typer.Exit(_standing_code(found))


def _standing_code(found: Leftovers) -> int:
    standings = {left.standing for left in found.runs}
    if standings & {"silent", "acting", "changed", "down"}:
        return EXIT_OUTSIDE
    return EXIT_MISMATCH if standings & {"as found", "past", "files"} else EXIT_OK


def restore(
    target: opt.Target = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN", help="Which run's server, where several have left something.", show_default=False
        ),
    ] = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Put back by hand what a run has changed on a target, then remove what it left there.

    Needs nothing but the host: the way back lies there. Refused while that run is at work, and while another one holds
    the server. The run itself can still be resumed afterwards; it finds its server as it was.

    Exit code: 0 the original runs and nothing is left, also where nothing was; 4 refused; 5 it could not be put back.

    \b
    Examples:
      specdoctor restore ssh://gpu-7
      specdoctor restore eagle-a --run 7f3c
    """
    from specdoctor.render.custody import restored_text

    with _custody(target, targets, accept_new_host_key, ssh_config, ssh, interpreter) as custody:
        found = custody.look()
        wanted = [left for left in found.runs if run in (None, left.run)]
        if all(left.never_stopped for left in wanted):
            _refuse_unknown(custody, run, found)
            files = _files_removed(custody, wanted)
            if json:
                gone = [path for paths in files.values() for path in paths]
                print_json(_document(custody, run if run in files else None, None, gone))
            else:
                print_text(_files_text(custody, run, files))
            raise typer.Exit(EXIT_OK)
        name, outcome = custody.restore(run, _Teller())
        removed = custody.release(name) if outcome.status in ("restored", "nothing-to-do") else ()
    if json:
        print_json(_document(custody, name, outcome, removed))
    else:
        print_text(restored_text(name, outcome, removed, width=width()))
    raise typer.Exit(EXIT_OK if outcome.proved else EXIT_OUTSIDE)


def _document(
    custody: Custody, run: str | None, outcome: RestoreOutcome | None, removed: Sequence[str]
) -> dict[str, object]:
    """What was put back and removed; `outcome` null where no server had been stopped."""
    return {
        "schema": "specdoctor.restore/1",
        "target": custody.target,
        "run": run,
        "outcome": outcome.model_dump(mode="json") if outcome is not None else None,
        "removed": list(removed),
    }


def _refuse_unknown(custody: Custody, run: str | None, found: Leftovers) -> None:
    """A run that left nothing, beside others that did, may be a wrong name. Raises PolicyError."""
    if run is None or not found.runs or any(left.run == run for left in found.runs):
        return
    raise PolicyError(
        f"run {run} has left nothing on {custody.target}",
        tried=f"restore what run {run} changed",
        next_step=f"runs that have: {', '.join(left.run for left in found.runs)}",
    )


def _files_text(custody: Custody, run: str | None, files: Mapping[str, Sequence[str]]) -> str:
    if not files:
        return f"nothing to restore: nothing of {f'run {run}' if run else 'specdoctor'} is left on {custody.target}"
    lines = [
        f"nothing to restore: run {name} has never stopped a server; removed: {', '.join(paths)}"
        for name, paths in files.items()
    ]
    return "\n".join(lines)


def _files_removed(custody: Custody, wanted: Sequence[LeftRun]) -> dict[str, tuple[str, ...]]:
    """Remove what runs left that have stopped no server; by run. Raises PolicyError for one that is at work."""
    removed = {}
    from specdoctor.core.custody import AT_WORK_S

    for left in wanted:
        if left.ended is None and left.silent_s is not None and left.silent_s < AT_WORK_S:
            say(f"  run {left.run} has never stopped a server; looking for up to {AT_WORK_S:.0f} s if it is at work")
            custody.await_silence(left, at_least_s=AT_WORK_S)
        removed[left.run] = custody.release(left.run)
    return removed


class _Teller:
    """Says each phase of an operation once; its outcome is told by the command itself."""

    def __init__(self) -> None:
        from specdoctor.core.launch import RestoreStatus

        self._last = ""
        self._outcomes = frozenset(get_args(RestoreStatus))

    def __call__(self, progress: Progress) -> None:
        if progress.phase != self._last and progress.phase not in self._outcomes:
            self._last = progress.phase
            say(f"  {progress.phase}")


@contextmanager
def _custody(
    wanted: str | None,
    targets_file: Path | None,
    accept_new: bool,
    ssh_config: Path | None,
    ssh_transport: SshTransport | None,
    interpreter: str | None,
) -> Iterator[Custody]:
    """Log in to a target, to look after what was left there."""
    from specdoctor.assembly.connections import connect_custody
    from specdoctor.cli.passphrase import ask_passphrase
    from specdoctor.cli.targets import resolve

    target = resolve(wanted, targets_file)
    say(f"specdoctor: logging in to {target.transport}")
    config = ssh_config or (Path(target.ssh_config) if target.ssh_config else None)
    custody = connect_custody(
        target.transport,
        ssh_config=config,
        ssh_transport=ssh_transport or target.ssh_transport or "auto",
        accept_new=accept_new,
        interpreter=interpreter or target.interpreter,
        ask_passphrase=ask_passphrase if on_terminal() else None,
        on_notice=say,
    )
    try:
        yield custody
    finally:
        custody.close()
