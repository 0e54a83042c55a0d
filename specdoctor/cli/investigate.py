"""specdoctor investigate: from a symptom to a verdict."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import on_terminal, print_json, print_text, say, width
from specdoctor.cli.session.opening import possible
from specdoctor.core.errors import EXIT_APPROVAL, UsageError

if TYPE_CHECKING:
    from specdoctor.core.ledger import Ledger
    from specdoctor.core.operations import Operations
    from specdoctor.core.run_settings import RunSettings
    from specdoctor.store.mirrored import MirroredStore


_TAKEN_UP = frozenset({"allow", "max_restarts", "max_minutes", "ssh_config", "ssh_transport"})


def investigate(
    target: opt.Target = None,
    symptom: opt.Symptom = None,
    recall: opt.Recall = None,
    recalled_at: opt.RecalledAt = None,
    allow: opt.Allow = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only read, and print the exact commands that would follow.")
    ] = False,
    max_restarts: opt.MaxRestarts = None,
    max_minutes: opt.MaxMinutes = None,
    keep_corrected: opt.KeepCorrected = None,
    planner: opt.Planner = None,
    model: opt.Model = None,
    max_tokens: opt.MaxTokens = None,
    max_cost: opt.MaxCost = None,
    grace: opt.Grace = None,
    concurrency: opt.Concurrency = None,
    requests: opt.Requests = None,
    max_new_tokens: opt.MaxNewTokens = None,
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
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            help="Go on with this run, by its id or the beginning of it.",
            show_default=False,
            autocompletion=completing.runs,
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Judge these facts, printed by `specdoctor probe`, where specdoctor may not log in.",
            show_default=False,
        ),
    ] = None,
    plain: opt.Plain = False,
    json: opt.Json = False,
) -> None:
    """Find out why speculative decoding is slow on a server.

    Reads first, asks before it benchmarks or restarts (unless --allow says so), puts the server back, and ends with a
    verdict that cites its evidence. Events, artefacts and a report go to transcripts/RUN/ in the current folder.

    Exit code: 0 a cause or healthy, 3 not enough evidence, 4 waiting for permission, 5 server down, not put back or
    unreachable, 74 no room here for what is learned (the server is as it was).

    \b
    Examples:
      specdoctor investigate ssh://gpu-7 --symptom "57 tok/s, 90 without"
      specdoctor investigate eagle-a --allow restart --symptom "slow"
      specdoctor investigate --resume 7f3c --allow restart
      specdoctor probe --print | ssh gpu-7 python3 - > facts.json
      specdoctor investigate --from facts.json --symptom "slow"
      specdoctor investigate eagle-a --planner auto --model qwen3-32b
    """
    given = {
        "symptom": symptom,
        "recall": recall,
        "recalled_at": recalled_at,
        "allow": allow,
        "dry_run": dry_run,
        "max_restarts": max_restarts,
        "max_minutes": max_minutes,
        "keep_corrected": keep_corrected,
        "planner": planner,
        "model": model,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "grace": grace,
        "concurrency": concurrency,
        "requests": requests,
        "max_new_tokens": max_new_tokens,
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
        "facts": facts,
    }
    if facts is not None and target is not None:
        raise UsageError(
            f"--from {facts} stands in place of a host: no target beside it", next_step="leave out one of the two"
        )
    if resume is not None:
        _refuse_new_settings(given)
        given |= {"plain": plain}
        code, _ = resumed(resume, target=target, given=given, accept_new=accept_new_host_key, as_json=json)
    else:
        from specdoctor.cli.asking import asked_model, profiles_of, said_of

        asking = asked_model(given, profiles_of(targets))
        if asking:
            say(said_of(asking))
        given |= {**asking, "plain": plain}
        code, _ = started(target, targets, given=given, accept_new=accept_new_host_key, as_json=json)
    raise typer.Exit(code)


def _refuse_new_settings(given: dict[str, Any]) -> None:
    """A run keeps the settings it was begun with, but for those that say how far it may go and how to get there.

    Raises UsageError for any other.
    """
    told = [
        "from" if name == "facts" else name.replace("_", "-")
        for name, value in given.items()
        if value and name not in _TAKEN_UP
    ]
    if told:
        kept = ", ".join(f"--{name}" for name in told)
        raise UsageError(
            f"a run that is resumed keeps what it was begun with: {kept} cannot be given with --resume",
            next_step="leave it out, or begin a new run",
        )


def started(
    wanted: str | None,
    targets_file: Path | None,
    *,
    given: dict[str, Any],
    accept_new: bool,
    as_json: bool,
    quiet: bool = False,
) -> tuple[int, str]:
    """A new run to its end; its exit code and id. `quiet`: its outcome is shown by the caller."""
    from specdoctor.assembly.stores import close_store, open_store
    from specdoctor.cli.settings import settings_of
    from specdoctor.cli.targets import Target, resolve

    facts = given.get("facts")
    target = Target(transport="local:") if facts else resolve(wanted, targets_file)
    settings = settings_of(target, given)
    say(f"specdoctor: reading {facts}" if facts else f"specdoctor: logging in to {target.transport}")
    operations = operations_for(target.transport, settings, accept_new=accept_new)
    store = open_store()
    try:
        code, run_id = to_its_end(store, operations, settings, session=possible(plain=given.get("plain", False)))
        if not quiet:
            show_outcome(store, run_id, as_json=as_json)
        return code, run_id
    finally:
        operations.close()
        close_store(store)


def to_its_end(
    store: MirroredStore, operations: Operations, settings: RunSettings, *, session: bool = False
) -> tuple[int, str]:
    """A fresh run, driven to its end; its exit code and id. `session`: a person types commands meanwhile."""
    from specdoctor.assembly.connections import who_asks
    from specdoctor.assembly.runs import approver_for, new_run, onlooker_for
    from specdoctor.cli.driving import drive
    from specdoctor.cli.session.opening import opened

    if session:
        with opened(store, who=who_asks()) as screen:
            run = new_run(
                store=store,
                operations=operations,
                settings=settings,
                onlooker=screen,
                approver=approver_for(terminal=False),
                desk=screen.desk,
            )
            return drive(run, store, tell=screen.interrupted), run.id
    live = on_terminal()
    run = new_run(
        store=store,
        operations=operations,
        settings=settings,
        onlooker=onlooker_for(live=live),
        approver=approver_for(terminal=live),
    )
    return drive(run, store), run.id


def resumed(
    wanted: str, *, target: str | None, given: dict[str, Any], accept_new: bool, as_json: bool
) -> tuple[int, str]:
    """A stored run to its end; its exit code and id."""
    from specdoctor.assembly.stores import close_store, open_store, stored_start

    store = open_store()
    try:
        run_id = store.store.find(wanted)
        first = stored_start(store, run_id)
        place = target or first.target
        say(f"specdoctor: going on with run {run_id} on {place}")
        settings = first.settings
        ssh_config, ssh_transport = given.get("ssh_config"), given.get("ssh_transport")
        over = {"ssh_config": ssh_config and str(ssh_config), "ssh_transport": ssh_transport}
        settings = settings.model_copy(update={name: value for name, value in over.items() if value})
        operations = operations_for(place, settings, accept_new=accept_new)
        try:
            code = _taken_up(store, operations, run_id, given)
        finally:
            operations.close()
        show_outcome(store, run_id, as_json=as_json)
        return code, run_id
    finally:
        close_store(store)


def _taken_up(store: MirroredStore, operations: Operations, run_id: str, given: dict[str, Any]) -> int:
    """A stored run, driven to its end; its exit code."""
    from specdoctor.app.investigation import resume
    from specdoctor.assembly.connections import who_asks
    from specdoctor.assembly.runs import approver_for, onlooker_for, resumed_run
    from specdoctor.cli.driving import drive
    from specdoctor.cli.session.opening import opened
    from specdoctor.core.model import Risk

    allow = Risk[given["allow"].upper()] if given.get("allow") else None
    budgets = {"max_restarts": given.get("max_restarts"), "max_minutes": given.get("max_minutes")}
    if possible(plain=given.get("plain", False)):
        with opened(store, who=who_asks(), history=list(store.events(run_id))) as screen:
            run = resumed_run(
                run_id,
                store=store,
                operations=operations,
                onlooker=screen,
                approver=approver_for(terminal=False),
                desk=screen.desk,
            )
            take_up = partial(resume, run, allow=allow, **budgets)
            return drive(run, store, take_up=take_up, tell=screen.interrupted)
    live = on_terminal()
    run = resumed_run(
        run_id,
        store=store,
        operations=operations,
        onlooker=onlooker_for(live=live),
        approver=approver_for(terminal=live),
    )
    return drive(run, store, take_up=partial(resume, run, allow=allow, **budgets))


def operations_for(transport: str, settings: RunSettings, *, accept_new: bool) -> Operations:
    """The way to a target as the settings say. Raises UsageError and the subclasses of TargetError."""
    from specdoctor.assembly.connections import connect_operations, facts_operations
    from specdoctor.cli.passphrase import ask_passphrase

    if settings.facts_file:
        return facts_operations(Path(settings.facts_file))
    return connect_operations(
        transport,
        ssh_config=Path(settings.ssh_config) if settings.ssh_config else None,
        ssh_transport=settings.ssh_transport,
        via=settings.via,
        sudo=settings.sudo,
        accept_new=accept_new,
        interpreter=settings.interpreter,
        grace_s=settings.grace_s,
        ask_passphrase=ask_passphrase if on_terminal() else None,
        on_notice=say,
    )


def show_outcome(store: MirroredStore, run_id: str, *, as_json: bool) -> None:
    """The verdict for people or the document for programs, and where the rest lies."""
    from specdoctor.core.ledger import fold
    from specdoctor.render.json_run import run_json
    from specdoctor.render.pasting import dry_run_text

    ledger = fold(store.events(run_id))
    if as_json:
        print_json(run_json(ledger))
    elif words := verdict_of(ledger):
        print_text(f"\n{words}")
        if would := dry_run_text(ledger, width=width()):
            print_text(f"\n{would}")
    point_at(store, ledger)


def verdict_of(ledger: Ledger) -> str:
    """The lines of the verdict, empty if none was reached."""
    from specdoctor.render.verdict import verdict_text

    return verdict_text(ledger.verdict, width=width()) if ledger.verdict is not None else ""


def point_at(store: MirroredStore, ledger: Ledger) -> None:
    """Say what the run waits for, what to do about a server that was not put back, and where the report is."""
    from specdoctor.cli.going_on import going_on_words
    from specdoctor.core.ledger import left_to_do
    from specdoctor.render.clean import clean

    answered = {answer.batch for answer in ledger.answers}
    waiting = [asked for batch, asked in ledger.batches.items() if batch not in answered]
    if waiting and ledger.ended is not None and ledger.ended.exit_code == EXIT_APPROVAL:
        allow = f"specdoctor investigate --resume {ledger.run} --allow {waiting[-1].risk.word}"
        say(f"\n{waiting[-1].text}\n\nnobody could be asked; to allow it:  {allow}")
    if ledger.restored is False:
        from specdoctor.app.others import how_it_is as how_beside_others
        from specdoctor.app.verdict_lines import how_it_is

        words = how_it_is(ledger) if ledger.changed else how_beside_others(ledger) or "NOT as it was found"
        say(f"the server is {clean(words)}")
    for left in left_to_do(ledger)[:1]:
        label = left.change.label if left.change else ""
        say(f"\nto test by hand ({label}), run on the host:\n\n{clean(left.start)}")
        say(f"\nto undo it:\n\n{clean(left.back)}\n")
        if clean(left.start) != left.start:
            say("this line holds characters that a terminal acts on: take it from the output of --json")
        say(f"when it is up, go on with:  specdoctor investigate --resume {ledger.run} --allow load")
    report = store.transcript.directory(ledger.run) / "report.md"
    say(f"run {ledger.run}   report {report}   more: specdoctor review {ledger.run}")
    if words := going_on_words(ledger):
        say(clean(words))
