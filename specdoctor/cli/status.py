"""specdoctor status and specdoctor restore: what runs have left on a host, and putting a server back by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import on_terminal, print_json, print_text, say, width
from specdoctor.core.errors import EXIT_MISMATCH, EXIT_OK, EXIT_OUTSIDE, PolicyError

if TYPE_CHECKING:
    from specdoctor.core.custody import Leftovers, LeftRun
    from specdoctor.core.operations import Progress
    from specdoctor.core.reach import SshTransport
    from specdoctor.operations.custody import Custody

AT_WORK_S = 20.0
"""A run that has stopped no server counts as at work for this long after its last word."""


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

    Exit code: 0 nothing is left, or only a run that is at work; 1 something is left and the server is as it was found;
    5 a server is down or changed and nobody steers it, or the host cannot be reached.

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
    return EXIT_MISMATCH if standings & {"as found", "files"} else EXIT_OK


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

    Needs nothing but the host: the way back lies there. Refused while that run is at work. The run itself can still be
    resumed afterwards; it finds its server as it was.

    Exit code: 0 the original runs and nothing is left, 4 refused, 5 it could not be put back.

    \b
    Examples:
      specdoctor restore ssh://gpu-7
      specdoctor restore eagle-a --run 7f3c
    """
    from specdoctor.render.custody import restored_text

    with _custody(target, targets, accept_new_host_key, ssh_config, ssh, interpreter) as custody:
        wanted = [left for left in custody.look().runs if run in (None, left.run)]
        if wanted and not any(left.way_back for left in wanted):
            print_text(_files_removed(custody, wanted))
            raise typer.Exit(EXIT_OK)
        name, outcome = custody.restore(run, _Teller())
        removed = custody.release(name) if outcome.status in ("restored", "nothing-to-do") else ()
    if json:
        print_json(
            {
                "schema": "specdoctor.restore/1",
                "target": custody.target,
                "run": name,
                "outcome": outcome.model_dump(mode="json"),
                "removed": list(removed),
            }
        )
    else:
        print_text(restored_text(name, outcome, removed, width=width()))
    raise typer.Exit(EXIT_OK if outcome.proved else EXIT_OUTSIDE)


def _files_removed(custody: Custody, wanted: Sequence[LeftRun]) -> str:
    """Remove what runs left that have stopped no server. Raises PolicyError for one that is at work."""
    lines = []
    for left in wanted:
        if left.silent_s is not None and left.silent_s < AT_WORK_S:
            raise PolicyError(
                f"run {left.run} was in touch {left.silent_s:.0f} s ago",
                tried=f"remove what it left on {custody.target}",
                next_step="wait for its end, or stop it where it was begun",
            )
        lines.append(f"run {left.run} has stopped no server; removed: {', '.join(custody.release(left.run))}")
    return "\n".join(lines)


class _Teller:
    """Says each phase of an operation once."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        if progress.phase != self._last:
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
    from specdoctor import assembly
    from specdoctor.cli.passphrase import ask_passphrase
    from specdoctor.cli.targets import resolve

    target = resolve(wanted, targets_file)
    say(f"specdoctor: logging in to {target.transport}")
    config = ssh_config or (Path(target.ssh_config) if target.ssh_config else None)
    custody = assembly.connect_custody(
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
