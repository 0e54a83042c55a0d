"""specdoctor triage: judge a server's files without logging in anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK

if TYPE_CHECKING:
    from specdoctor.app.triage import TriageDocument
    from specdoctor.app.triage_findings import Finding


def triage(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...|DIR|ARCHIVE|-",
            help="A server's log, launch line, tables, metrics, notes; a folder or archive of them; - reads a paste.",
        ),
    ],
    symptom: opt.Symptom = None,
    json: opt.Json = False,
) -> None:
    """Judge the files of a server; no SSH, nothing is run.

    What a file is, is told by its content: logs (.gz and .zst too), launch lines, server info, tables, results of load
    generators, Prometheus dumps, configs, tensor lists, GPU tables, answers, notes. Of a log of more than 24 MiB the
    middle is read in part.

    Exit code: 0 a cause or healthy, 3 not enough evidence in these files.

    \b
    Examples:
      specdoctor triage server.log
      specdoctor triage server.log launch.txt --symptom "slower than without"
      specdoctor triage ./bug-report --json
      specdoctor triage report.tar.gz
      kubectl logs pod | specdoctor triage -
    """
    from specdoctor import assembly
    from specdoctor.cli.given_files import read_given
    from specdoctor.core.model import Verdict

    given = read_given(paths)
    document = assembly.triaged(given.texts, symptom=symptom or "", problems=given.problems)
    if json:
        print_json(document.model_dump(mode="json", by_alias=True))
    else:
        print_text(document_text(document))
    raise typer.Exit(EXIT_INCONCLUSIVE if document.verdict is Verdict.NOT_ENOUGH_EVIDENCE else EXIT_OK)


def document_text(document: TriageDocument) -> str:
    """For people: verdict, what is known, each finding with the words it rests on, what would tell more."""
    engine = document.engine
    version = engine.version or engine.version_range or "of unknown version"
    rows = [("verdict", document.headline)]
    if engine.name:
        rows.append(("server", f"{engine.name} {version}, {document.state}"))
    facts = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in document.facts.items()
        if not name.endswith("_estimator")
    ]
    rows += [("facts", ", ".join(facts))] if facts else []
    for finding in document.findings:
        rows += _finding_rows(finding)
    rows += [("would tell", text) for text in document.missing]
    return _laid_out(rows)


def _finding_rows(finding: Finding) -> list[tuple[str, str]]:
    cause = f"{finding.cause}: " if finding.cause else ""
    rows: list[tuple[str, str]] = [(finding.status, f"{cause}{finding.claim} ({finding.role})")]
    rows += [("", f"{q.source}:{q.line}  {q.quote}") for q in finding.evidence]
    return rows + ([("  fix", finding.fix)] if finding.fix else [])


def _laid_out(rows: list[tuple[str, str]]) -> str:
    from specdoctor.render.layout import labelled

    return "\n".join(line for label, text in rows for line in labelled(label, text, label_width=12, width=width()))
