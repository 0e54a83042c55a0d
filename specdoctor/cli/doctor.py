"""specdoctor doctor: what will be possible on a target, before anything is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_OK, EXIT_OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specdoctor.app.preflight import Finding


def doctor(
    target: opt.Target = None,
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
    """See what is possible on a target, without changing it.

    Looks at the way in, Python, GPUs, servers, versions and permissions, and says what each risk tier could do.
    Exit code: 0 a server was found, 5 none was found or the host cannot be reached.

    \b
    Examples:
      specdoctor doctor ssh://gpu-7
      specdoctor doctor eagle-a --json
    """
    from specdoctor.assembly.judging import preflight
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
        found, servers = preflight(
            seen.facts, engine=seen.named.engine, port=seen.named.server_port, meant=seen.named.launch
        )
    if json:
        rows = [f.model_dump(mode="json") for f in found]
        document = {"schema": "specdoctor.doctor/1", "target": seen.target, "servers": servers, "findings": rows}
        print_json(document)
    else:
        print_text(findings_text(found))
    raise typer.Exit(EXIT_OK if servers else EXIT_OUTSIDE)


def findings_text(found: Sequence[Finding]) -> str:
    """One line for each finding, and what to do about it."""
    from specdoctor.render.layout import labelled

    lines: list[str] = []
    for f in found:
        if f.name == "server":
            lines.append("")
        lines += labelled(f"{f.state:<8}{f.name}", f.text, label_width=22, width=width())
        if f.then:
            lines += labelled("", f"next: {f.then}", label_width=22, width=width())
    return "\n".join(lines)
