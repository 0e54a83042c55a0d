"""specdoctor replay: a playbook's steps on a server, and whether it found what it expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_MISMATCH, EXIT_OK, OutputError, UsageError
from specdoctor.core.input_file import refuse_to_write, whole_path

if TYPE_CHECKING:
    from specdoctor.core.ledger import Ledger
    from specdoctor.core.recorded import Recorded
    from specdoctor.planners.expectations import Outcome
    from specdoctor.planners.playbook_schema import Playbook

_RANK = {"read": 0, "load": 1, "restart": 2}


def replay(
    playbook: Annotated[
        str,
        typer.Argument(
            metavar="PLAYBOOK",
            help="A playbook file, or the name of one that comes with specdoctor.",
            autocompletion=completing.playbooks,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="TARGET",
            autocompletion=completing.targets,
            help="ssh://[user@]host[:port], local:, or a name from specdoctor.toml.",
            show_default=False,
        ),
    ] = None,
    assigned: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the playbook; may be given several times.",
            show_default=False,
        ),
    ] = None,
    symptom: opt.Symptom = None,
    allow: Annotated[
        opt.Tier | None,
        typer.Option(
            "--allow",
            metavar="read|load|restart",
            help="Highest tier to do without asking; else what the playbook says in its head.",
            show_default=False,
        ),
    ] = None,
    planner: Annotated[
        Literal["rules", "llm", "auto"] | None,
        typer.Option(
            "--planner",
            metavar="llm|auto",
            help="Ask a language model too, when the steps are done: always before the end (llm), or where something "
            "is undecided (auto).  [default: none; auto with --model]",
            show_default=False,
        ),
    ] = None,
    model: opt.Model = None,
    max_tokens: opt.MaxTokens = None,
    max_cost: opt.MaxCost = None,
    grace: opt.Grace = None,
    with_traffic: opt.WithTraffic = False,
    server_port: opt.ServerPort = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    via: opt.Via = None,
    sudo: opt.Sudo = False,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Also write the expectations as JUnit XML, for continuous integration.",
            show_default=False,
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Carry out a playbook on a server and judge what it expected.

    It goes by the same loop and rules as an investigation. A playbook states in its head what it may do (`allow`);
    --allow holds it to less. One that was made from a run (`specdoctor playbook from`) also tells what differs here.

    Exit code: 0 all expectations met, 1 one was not, 2 faults in the playbook, 3 one could not be judged,
    4 waiting for permission, 5 the host or the server failed.

    \b
    Examples:
      specdoctor replay read-only-checkup --target ssh://gpu-7
      specdoctor replay eagle3-slower-than-baseline --target eagle-a
      specdoctor replay one-draft-length --set draft_steps=5 --target eagle-a
      specdoctor replay playbooks/mine.yaml --target eagle-a --junit replay.xml
    """
    from specdoctor.assembly.planning import playbook_at
    from specdoctor.cli.playbook_files import playbook_path

    asking = _asking(planner, model, max_tokens, max_cost, targets)
    path = playbook_path(playbook)
    if junit is not None:
        refuse_to_write(junit, option="--junit")
    values = values_of(assigned or [])
    book = playbook_at(path, values)
    tier = allow or book.allow
    say(f"specdoctor: {path.stem}, {len(book.steps)} steps; it may {_may(tier)}")
    if values:
        say(f"  with {', '.join(f'{name} {value}' for name, value in values.items())}")
    if _RANK[tier] < _RANK[book.allow]:
        say(f"  some of its steps need --allow {book.allow}, and will be asked for")
    given = {
        "symptom": symptom or book.symptom or None,
        "allow": tier,
        "grace": grace,
        "with_traffic": with_traffic,
        "server_port": server_port,
        "ssh_config": ssh_config,
        "ssh_transport": ssh,
        "via": via,
        "sudo": sudo or None,
        "interpreter": interpreter,
        "playbook": str(whole_path(path)),
        "playbook_values": values or None,
        "max_restarts": book.budgets.restarts,
        "max_minutes": book.budgets.minutes,
        "concurrency": book.load.concurrency,
        "requests": book.load.requests,
        "prompts": book.load.prompts,
        "form": book.load.form,
        **asking,
    }
    code, run_id = _carried_out(target, targets, given, accept_new=accept_new_host_key, as_json=json)
    _tell(book, path, run_id, code, as_json=json, junit=junit)
    raise typer.Exit(code)


def values_of(assigned: list[str]) -> dict[str, str]:
    """Parameters by name as they were typed. Raises UsageError for what is no NAME=VALUE."""
    for each in assigned:
        if not each.partition("=")[1] or not each.partition("=")[0].strip():
            raise UsageError(f"--set {each}: not NAME=VALUE", next_step="write --set draft_steps=5")
    return {name.strip(): value for name, _, value in (each.partition("=") for each in assigned)}


def _asking(
    planner: str | None, model: str | None, max_tokens: int | None, max_cost: float | None, targets: Path | None
) -> dict[str, Any]:
    """The settings of the model that may add to the steps; nothing where no option names one."""
    from specdoctor.cli.asking import named_model, said_of

    given = {"planner": planner, "model": model, "max_tokens": max_tokens, "max_cost": max_cost}
    asking = named_model(given, targets)
    if not asking:
        return {}
    say(said_of(asking))
    return {"advice": asking["planner"], "endpoint": asking["endpoint"]}


def _may(tier: str) -> str:
    return {
        "read": "read only",
        "load": "read and benchmark",
        "restart": "read, benchmark, and restart the server",
    }[tier]


def _carried_out(
    target: str | None, targets: Path | None, given: dict[str, Any], *, accept_new: bool, as_json: bool
) -> tuple[int, str]:
    from specdoctor.cli.investigate import started

    return started(target, targets, given=given, accept_new=accept_new, as_json=as_json, quiet=True)


def _tell(book: Playbook, path: Path, run_id: str, code: int, *, as_json: bool, junit: Path | None) -> None:
    """Print what came of the expectations and what differs; `code` is the run's, which judged them at its end."""
    from specdoctor.assembly.judging import recorded_run
    from specdoctor.assembly.stores import close_store, open_store
    from specdoctor.cli.investigate import point_at, verdict_of
    from specdoctor.planners.expectations import outcomes
    from specdoctor.render.json_run import run_json

    store = open_store()
    try:
        briefing, now = recorded_run(list(store.events(run_id)), lambda name: store.artefact(run_id, name))
        ledger, found = briefing.ledger, outcomes(book, briefing.ledger)
        differs = _differs(book, ledger, now)
        if as_json:
            rows = [o.model_dump(mode="json") for o in found]
            print_json(
                {
                    "schema": "specdoctor.replay/1",
                    "playbook": str(path),
                    "met": code == EXIT_OK,
                    "exit_code": code,
                    "expectations": rows,
                    "divergence": differs.document if differs is not None else None,
                    "run": run_json(ledger),
                }
            )
        else:
            parts = (verdict_of(ledger), expectations_text(found), differs.text if differs is not None else "")
            print_text("\n\n".join(part for part in parts if part))
        if junit is not None:
            _write_junit(junit, book, path, ledger, found, code, said=differs.text if differs is not None else "")
        point_at(store, ledger)
    finally:
        close_store(store)


class _Differs(NamedTuple):
    """What differs from the recorded run, for people and for programs."""

    text: str
    document: dict[str, Any]


def _differs(book: Playbook, ledger: Ledger, now: Recorded) -> _Differs | None:
    """None for a playbook without a record, and where no server was read."""
    from specdoctor.analysis.divergence import diverged
    from specdoctor.analysis.launch_spread import launch_spread
    from specdoctor.render.divergence import divergence_document, divergence_text

    if book.recorded is None or ledger.server is None:
        return None
    found = diverged(book.recorded, now, launch_sd=launch_spread(ledger).reckoned)
    return _Differs(divergence_text(book.recorded, found, width=width()), divergence_document(book.recorded, found))


def _write_junit(
    file: Path, book: Playbook, path: Path, ledger: Ledger, found: tuple[Outcome, ...], code: int, *, said: str
) -> None:
    from specdoctor.render.junit import Case, junit_xml

    ended = ledger.ended.reason if ledger.ended is not None else "it was interrupted"
    broken = f"exit code {code}: {ended}" if code not in (EXIT_OK, EXIT_MISMATCH, EXIT_INCONCLUSIVE) else ""
    text = junit_xml(
        path.stem,
        [Case(name=o.expected, met=o.met, because=o.because) for o in found],
        seconds=ledger.last_at - ledger.first_at,
        broken=broken,
        said=said,
        properties={"run": ledger.run, "title": book.title, "exit_code": str(code)},
    )
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}", next_step="name a file that can be") from error


def expectations_text(found: tuple[Outcome, ...]) -> str:
    """One line for each expectation, with what it was judged by."""
    from specdoctor.render.layout import labelled

    words = {True: "met", False: "NOT met", None: "not known"}
    lines: list[str] = []
    for o in found:
        cited = f"  {' '.join(o.evidence)}" if o.evidence else ""
        lines += labelled(words[o.met], f"{o.expected}: {o.because}{cited}", label_width=10, width=width())
    return "\n".join(lines) or "the playbook expects nothing"
