"""specdoctor wiring: is a drafter fed the states it was trained on, and is its checkpoint whole?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from specdoctor.app.wiring import Captured, WiringDocument, WiringFinding
    from specdoctor.app.wiring_fix import Written
    from specdoctor.cli.places import Hosts
    from specdoctor.core.engine_source import InstalledEngine
    from specdoctor.drafter.comparison import EngineChoice

LARGEST_SOURCE = 4 << 20
DRAFT_HELP = "Folder of the drafter (config.json and .safetensors), or a GGUF file; here, or on a host as HOST:DIR."
TRAINING_HELP = "What it was trained on, where it does not lie with the drafter: the trainer's run file or provenance."


def wiring(
    draft: Annotated[str, typer.Option("--draft", metavar="DIR|HOST:DIR", help=DRAFT_HELP, show_default=False)],
    target: Annotated[
        str,
        typer.Option("--target", metavar="DIR|HOST:DIR", help="Folder of the target, likewise.", show_default=False),
    ],
    training: Annotated[
        str | None, typer.Option("--training", metavar="FILE", help=TRAINING_HELP, show_default=False)
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="The engine that serves it: sglang, vllm, llamacpp, trtllm.",
            show_default=False,
        ),
    ] = None,
    engine_version: Annotated[
        str | None,
        typer.Option(
            "--engine-version",
            metavar="VERSION",
            help="Its version, such as 0.5.17; else the newest whose rules are known.",
            show_default=False,
        ),
    ] = None,
    runner: Annotated[
        str | None,
        typer.Option("--runner", metavar="v1|v2", help="vLLM's model runner, if you know it.", show_default=False),
    ] = None,
    engine_source: Annotated[
        str | None,
        typer.Option(
            "--engine-source",
            metavar="FILE",
            help="For a patched SGLang: the target's source below sglang/srt/models, here or as HOST:FILE; it is read, "
            "not run.",
            show_default=False,
        ),
    ] = None,
    engine_python: Annotated[
        str | None,
        typer.Option(
            "--engine-python",
            metavar="PATH",
            help="The Python on the target's host that SGLang is installed for; else that of a server that runs there.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="The speculative algorithm asked for, to be compared with the checkpoint.",
            show_default=False,
        ),
    ] = None,
    shapes: Annotated[
        bool,
        typer.Option("--shapes", help="Also print the shapes of both, and whether they allow a trial of this drafter."),
    ] = False,
    write_fix: Annotated[
        str | None,
        typer.Option(
            "--write-fix",
            metavar="DIR",
            help="Write DIR/config.json with what a configuration can repair of it. Nothing is written over.",
            show_default=False,
        ),
    ] = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Compare the states a drafter was trained on with those that an engine version hands it.

    Reads config.json, the headers of the weights and small tensors, by range: no weights are loaded, nothing is run.
    States are written embed, or out(i) for the output of zero-based layer i.

    Exit code: 0 a cause or healthy, 3 not enough evidence in these files, 2 a file is missing or damaged.

    \b
    Examples:
      specdoctor wiring --draft ./head --target ./model --engine sglang \\
        --engine-version 0.5.12
      specdoctor wiring --draft gpu-7:/models/head --target gpu-7:/models/base \\
        --training run.yaml --engine vllm --json
      specdoctor wiring --draft head.gguf --target base.gguf --engine llamacpp
      specdoctor wiring --draft ./other-head --target ./model --shapes
      specdoctor wiring --draft ./head --target ./model --engine sglang \\
        --write-fix ./corrected
    """
    from specdoctor.app.installed_engine import choice_of, doubt_of, own_rule
    from specdoctor.app.wiring import as_json
    from specdoctor.app.wiring_fix import write_fix as fixed
    from specdoctor.assembly import judging
    from specdoctor.cli.places import hosts
    from specdoctor.core.model import Verdict
    from specdoctor.drafter.records.table import LARGEST_BYTES

    choice = chosen(engine, engine_version, runner)
    if (engine_source or engine_python) and engine != "sglang":
        option = "--engine-source" if engine_source else "--engine-python"
        raise UsageError(f"{option} is read for SGLang only", next_step="add --engine sglang")
    with hosts(
        targets_file=targets, accept_new=accept_new_host_key, ssh_config=ssh_config, ssh_transport=ssh
    ) as reachable:
        record = (training, reachable.text(training, limit=LARGEST_BYTES)) if training is not None else None
        source = (engine_source, reachable.text(engine_source, limit=LARGEST_SOURCE)) if engine_source else None
        doubt = ""
        installed = (
            _installed(reachable, target, engine_version, engine_python) if engine == "sglang" and not source else None
        )
        if installed is not None:
            choice, source, doubt = choice_of(installed) or choice, own_rule(installed), doubt_of(installed)
        drafter = reachable.files(draft)
        document = judging.wiring(
            drafter,
            reachable.files(target),
            training=record,
            choice=choice,
            method=method,
            source=source,
            doubt=doubt,
        )
        written = fixed(document, drafter, Path(write_fix), choice=choice) if write_fix is not None else None
    if json:
        told = {} if write_fix is None else {"written": written.model_dump(mode="json") if written else None}
        print_json({**as_json(document), **told})
    else:
        print_text(document_text(document, shapes=shapes))
        if write_fix is not None:
            print_text("\n" + _laid_out(_written_rows(written)))
    raise typer.Exit(EXIT_INCONCLUSIVE if document.verdict is Verdict.NOT_ENOUGH_EVIDENCE else EXIT_OK)


def _installed(reachable: Hosts, target: str, version: str | None, python: str | None) -> InstalledEngine | None:
    """SGLang on the target's host; None where none is meant, or nothing could be read.

    Raises TargetError and UsageError where a Python was named and that has none.
    """
    from specdoctor.app.installed_engine import install_meant
    from specdoctor.assembly.programs import installed_engines
    from specdoctor.cli.output import say
    from specdoctor.cli.places import HERE
    from specdoctor.core.errors import TargetError

    host, place = reachable.place(target)
    if python is None and place.host == HERE:
        return None
    try:
        meant = install_meant(installed_engines(host, place.path, python=python), version)
    except TargetError:
        if python is not None:
            raise
        return None
    if meant is None and python is not None:
        wanted = f" {version}" if version else ""
        raise UsageError(f"{python} has no sglang{wanted} on {host.name}", next_step="name the Python of the server")
    if meant is not None:
        say(f"specdoctor: sglang {meant.engine.version} of {meant.interpreter} on {host.name}")
    return meant


def _written_rows(written: Written | None) -> list[tuple[str, str]]:
    """What was written where, and what to do with it."""
    if written is None:
        return [("written", "nothing: no finding is repaired by a configuration")]
    rows = [("written", written.path), *(("", change) for change in written.changes)]
    if written.needs:
        rows.append(("", f"for {written.needs} or later only: the version asked about cannot serve it"))
    return [*rows, ("next", written.next)]


def chosen(engine: str | None, version: str | None, runner: str | None) -> EngineChoice | None:
    """The engine asked about. Raises UsageError for one that is not known, a version that is none, another runner."""
    from specdoctor.core.faults import nearest
    from specdoctor.drafter.comparison import EngineChoice
    from specdoctor.drafter.rules.table import ENGINES

    if engine is None:
        if version is not None or runner is not None:
            raise UsageError("a version or runner without its engine", next_step=f"add --engine {'|'.join(ENGINES)}")
        return None
    if engine not in ENGINES:
        raise UsageError(
            f"--engine {engine}: the rules of this engine are not known{nearest(engine, ENGINES)}",
            next_step=f"known are {', '.join(ENGINES)}",
        )
    rules = ENGINES[engine]
    if version is not None and rules.release(version) is None:
        raise UsageError(f"--engine-version {version}: this is no version", next_step=f"write one like {rules.newest}")
    if runner is not None and runner not in rules.runners:
        has = f"it has {', '.join(rules.runners)}" if rules.runners else "it has only one"
        raise UsageError(f"--runner {runner}: {rules.title} has no such runner", next_step=has)
    return EngineChoice(name=engine, version=version or rules.newest, runner=runner)


def document_text(document: WiringDocument, *, shapes: bool = False) -> str:
    """For people: the verdict, one table of states, each finding with what it rests on, whether a trial is possible."""
    from specdoctor.render.layout import columns

    parts = [_laid_out([("verdict", document.headline)])]
    if document.captured:
        rows = [("trained on", _states(document.trained), "", document.trained_by or "no record was found")]
        if document.configured is not None:
            rows.append(("configured", str(list(document.configured.ids)), "", document.configured.key))
        for title, asked in (("captured by", True), ("elsewhere", False)):
            captured = [_captured_row(row, document.trained) for row in document.captured if row.asked is asked]
            rows += [(title, "", "", ""), *captured] if captured else []
        parts.append(columns(("", "states", "as trained", "from"), rows, width=width()))
    parts += [_laid_out(_finding_rows(finding)) for finding in document.findings]
    if shapes:
        parts.append(_shapes(document))
    if shapes or not document.trial.loads:
        parts.append(_laid_out([("trial", _trial(document))]))
    return "\n\n".join(parts)


def _captured_row(row: Captured, trained: tuple[str, ...] | None) -> tuple[str, str, str, str]:
    label = row.label.replace("(runner ", "").replace(")", "")
    same = "" if trained is None else "yes" if row.states == trained else "no"
    source = row.source + (f" ({row.doubt})" if row.doubt else "")
    return label, _states(row.states, none="cannot serve it"), same, source


def _states(states: tuple[str, ...] | None, *, none: str = "not known") -> str:
    return none if states is None else " ".join(states)


def _finding_rows(finding: WiringFinding) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [(finding.status, f"{finding.cause}: {finding.claim}")]
    for cited in finding.evidence:
        place = f"{cited.source}:{cited.line}" if cited.line is not None else cited.source
        key = f"  {cited.key}" if cited.key else ""
        rows.append(("", f"{place}{key}  {cited.quote}"))
    rows += [("  would tell", finding.next_check)] if finding.next_check else []
    return rows + ([("  fix", finding.fix)] if finding.fix else [])


def _shapes(document: WiringDocument) -> str:
    from specdoctor.render.layout import columns

    rows = [(row.name, _shape(row.drafter), _shape(row.target), row.answer) for row in document.trial.shapes]
    return columns(("", "drafter", "target", ""), rows, width=width())


def _shape(value: object) -> str:
    return "not known" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _trial(document: WiringDocument) -> str:
    """Whether one launch with this drafter is possible, and what it would tell."""
    from specdoctor.drafter.trial import PROVES, TELLS

    rows = [row for row in document.trial.shapes if row.answer == "differs"]
    if rows:
        differs = "; ".join(f"{row.name}: drafter {_shape(row.drafter)}, target {_shape(row.target)}" for row in rows)
        return f"this drafter cannot be tried on this target: {differs}"
    return f"possible; {PROVES}; {TELLS}"


def _laid_out(rows: list[tuple[str, str]]) -> str:
    from specdoctor.render.layout import labelled

    return "\n".join(line for label, text in rows for line in labelled(label, text, label_width=13, width=width()))
