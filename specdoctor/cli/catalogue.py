"""specdoctor checks, check and playbooks: what there is, and one check by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specdoctor.core.hypothesis import Observation
    from specdoctor.core.ports import Check


def checks(json: opt.Json = False) -> None:
    """List the checks, with the causes that each can see.

    \b
    Examples:
      specdoctor checks
      specdoctor checks --json
    """
    from specdoctor.assembly.catalogue import all_checks

    found = all_checks()
    if json:
        rows = [{"name": c.name, "summary": c.summary, "causes": list(c.causes)} for c in found]
        print_json({"schema": "specdoctor.checks/1", "checks": rows})
    else:
        from specdoctor.render.tables import checks_table

        print_text(checks_table(found, width=width()))


def playbooks(json: opt.Json = False) -> None:
    """List the playbooks of specdoctor and of ./playbooks.

    \b
    Examples:
      specdoctor playbooks
      specdoctor replay eagle3-slower-than-baseline --target ssh://gpu-7
    """
    from specdoctor.cli.playbook_files import all_playbooks
    from specdoctor.render.tables import PlaybookRow, playbooks_table

    rows = [PlaybookRow(name=p.name, source=p.source, summary=p.title) for p in all_playbooks()]
    if json:
        print_json({"schema": "specdoctor.playbooks/1", "playbooks": [row._asdict() for row in rows]})
    else:
        print_text(playbooks_table(rows, width=width()))


def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A check; `specdoctor checks` lists them.", autocompletion=completing.checks
        ),
    ],
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
    """Ask one check about a server as it is now; only reads.

    Exit code: 0 when it could look, 3 when something it needs could not be read.

    \b
    Examples:
      specdoctor check layer-wiring ssh://gpu-7
      specdoctor check request-cap eagle-a --json
    """
    chosen = named_check(name)
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
        observations = chosen.judge(seen.scene())
    if json:
        rows = [o.model_dump(mode="json") for o in observations]
        print_json({"schema": "specdoctor.check/1", "check": name, "target": seen.target, "observations": rows})
    else:
        print_text(observations_text(observations))
    raise typer.Exit(EXIT_INCONCLUSIVE if all(o.stance == "no-data" for o in observations) else EXIT_OK)


def named_check(name: str) -> Check:
    """A check by name. Raises UsageError with the nearest name."""
    from specdoctor.assembly.catalogue import all_checks
    from specdoctor.core.faults import unknown_word

    found = {check.name: check for check in all_checks()}
    if name not in found:
        raise UsageError(unknown_word("check", name, list(found)), next_step="specdoctor checks lists them")
    return found[name]


def observations_text(observations: Sequence[Observation]) -> str:
    """What a check said, each with the words it rests on and what would decide it."""
    from specdoctor.render.layout import labelled

    lines: list[str] = []
    for o in observations:
        lines += labelled(o.stance, f"{o.cause + ': ' if o.cause else ''}{o.claim}", label_width=10, width=width())
        for s in o.sources:
            place = s.where + (f":{s.line}" if s.line is not None else "") + (f" {s.key}" if s.key else "")
            lines += labelled("", f"{place}  {s.quote}", label_width=10, width=width())
        for label, text in (("decides", o.decides), ("fix", o.fix)):
            if text:
                lines += labelled(label, text, label_width=10, width=width())
    if not lines:
        say("the check had nothing to say")
    return "\n".join(lines)
