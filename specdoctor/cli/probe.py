"""specdoctor probe: the raw facts of a host, or the program that gathers them."""

from __future__ import annotations

from typing import Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_product, say
from specdoctor.core.errors import UsageError


def probe(
    target: opt.Target = None,
    print_program: Annotated[
        bool,
        typer.Option("--print", help="Print the probe itself, one file for Python 3.6 or later, and run nothing."),
    ] = False,
    server_port: opt.ServerPort = None,
    log: opt.Logs = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    via: opt.Via = None,
    sudo: opt.Sudo = False,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
) -> None:
    """Print what can be read on a host as one JSON document.

    Nothing is judged or changed; secrets are masked on the host, before they travel.

    \b
    Examples:
      specdoctor probe ssh://gpu-7 > facts.json
      specdoctor probe --print | ssh gpu-7 python3 - > facts.json
      specdoctor investigate --from facts.json --symptom "..."
    """
    if print_program:
        _print_program(target, server_port, log or [])
        return
    from specdoctor.app.unread import BY_SUDO, refused_reads
    from specdoctor.cli.looking import look

    with look(
        target,
        targets,
        server_port=server_port,
        logs=log or (),
        accept_new=accept_new_host_key,
        ssh_config=ssh_config,
        ssh_transport=ssh,
        via=via,
        sudo=sudo,
        interpreter=interpreter,
    ) as seen:
        print_product(seen.facts.model_dump_json(by_alias=True, indent=2))
        refused = refused_reads(seen.facts)
        for problem in (*refused, *seen.facts.problems):
            say(f"not read: {problem}")
        if refused:
            say(f"  next     {BY_SUDO}")


def _print_program(target: str | None, server_port: int | None, logs: list[str]) -> None:
    from specdoctor.assembly.programs import probe_program

    if target is not None:
        raise UsageError(
            "--print runs nothing, so it takes no target",
            next_step=f"specdoctor probe --print | ssh {target.removeprefix('ssh://')} python3 - > facts.json",
        )
    print_product(probe_program(ports=(server_port,) if server_port else (), logs=tuple(logs)), end="")
