"""specdoctor triage: judge a server's files without logging in anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.cli.text_files import NotText, read_text
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

SHOWN = 3

if TYPE_CHECKING:
    from specdoctor.app.triage import TriageDocument
    from specdoctor.app.triage_findings import Finding


def triage(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...|DIR",
            help="A server's log; beside it, where there are any, launch line, server info, configs.",
        ),
    ],
    symptom: opt.Symptom = None,
    json: opt.Json = False,
) -> None:
    """Judge the files of a server; no SSH, nothing is run.

    The reader and the rules are those of an investigation.

    Exit code: 0 a cause or healthy, 3 not enough evidence in these files.

    \b
    Examples:
      specdoctor triage server.log
      specdoctor triage server.log launch.txt --symptom "slower than without"
      specdoctor triage ./bug-report --json
    """
    from specdoctor import assembly
    from specdoctor.core.model import Verdict

    document = assembly.triaged(read_files(paths), symptom=symptom or "")
    if json:
        print_json(document.model_dump(mode="json", by_alias=True))
    else:
        print_text(document_text(document))
    raise typer.Exit(EXIT_INCONCLUSIVE if document.verdict is Verdict.NOT_ENOUGH_EVIDENCE else EXIT_OK)


def read_files(paths: list[Path]) -> dict[str, str]:
    """Texts by path relative to the folder they were given in; binary and empty files are left out.

    Raises UsageError for a path that cannot be read, or when no text is among them.
    """
    base, found = _listed(paths)
    texts: dict[str, str] = {}
    others: list[str] = []
    for path in found:
        try:
            text = read_text(path)
        except NotText as why:
            others.append(f"{path} {why}")
            continue
        texts[path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix()] = text
    if not texts:
        given = ", ".join(map(str, paths))
        seen = f": {'; '.join(others[:SHOWN])}" + (f"; and {len(others) - SHOWN} more" if others[SHOWN:] else "")
        raise UsageError(
            f"no text file in {given}{seen if others else ''}",
            next_step="give a server log (it may be a .gz), or a folder that holds one",
        )
    return texts


def _listed(paths: list[Path]) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and every file below the paths."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}", next_step="give a server log, or a folder that holds one")
    folders = [path if path.is_dir() else path.parent for path in paths]
    base = folders[0] if all(folder == folders[0] for folder in folders) else Path.cwd()
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return base, [file for file in dict.fromkeys(files) if file.is_file()]


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
