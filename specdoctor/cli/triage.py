"""specdoctor triage: judge a server's files without logging in anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK


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
    from specdoctor.assembly.judging import triaged
    from specdoctor.cli.given_files import read_given
    from specdoctor.core.model import Verdict
    from specdoctor.core.typed_secrets import redact_typed
    from specdoctor.render.triage import triage_lines

    given = read_given(paths)
    document = triaged(given.texts, symptom=redact_typed(symptom or ""), problems=given.problems, wholes=given.wholes)
    shown = document.model_dump(mode="json", by_alias=True)
    if json:
        print_json(shown)
    else:
        print_text(triage_lines(shown, width=width()))
    raise typer.Exit(EXIT_INCONCLUSIVE if document.verdict is Verdict.NOT_ENOUGH_EVIDENCE else EXIT_OK)
