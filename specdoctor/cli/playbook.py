"""specdoctor playbook: one made from a run, the faults of files, and the format for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.failures import Listed
from specdoctor.cli.output import print_json, print_product, print_text, say
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import is_there, refuse_to_write

app = typer.Typer(
    cls=Listed, no_args_is_help=True, help="Make a playbook from a run, look for faults in one, print its format."
)


@app.command("from")
def from_run(
    run: opt.Run,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write it here; else to standard output.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a finished run as a commented playbook.

    Its steps are what the run did, its expectations how the claims and the verdict ended. What was found stands in it
    too, so that a replay on another host says what differs beyond noise.

    \b
    Examples:
      specdoctor playbook from 7f3c > as-on-eagle-a.yaml
      specdoctor playbook from 7f3c -o mine.yaml
      specdoctor replay mine.yaml --target eagle-b
    """
    from specdoctor.assembly.judging import recorded_run
    from specdoctor.cli.review import history_of
    from specdoctor.planners.playbook_text import playbook_text
    from specdoctor.planners.playbook_writing import playbook_of

    if output is not None:
        refuse_to_write(output, option="--output")
    history, artefact = history_of(run)
    text = playbook_text(playbook_of(*recorded_run(history, artefact)))
    if output is None:
        print_product(text, end="")
        return
    if is_there(output) and not force:
        raise UsageError(f"{output} is there already", next_step="name another file, or write over it with --force")
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}", next_step="name a file that can be") from error
    say(f"written: {output}; replay it:  specdoctor replay {output} --target TARGET")


@app.command("check")
def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="PLAYBOOK...", help="Files, or names of those that come with specdoctor."),
    ],
) -> None:
    """Look for faults in playbooks: all of them at once, with file, line, column and key. Reaches no host.

    Exit code: 0 without a fault, 2 with one.

    \b
    Examples:
      specdoctor playbook check mine.yaml
      specdoctor playbook check playbooks/*.yaml
    """
    from specdoctor.assembly.planning import playbook_at
    from specdoctor.cli.playbook_files import playbook_path

    sound, faulty = [], []
    for name in files:
        try:
            book = playbook_at(playbook_path(name))
        except UsageError as error:
            faulty.append(error)
        else:
            sound.append(f"{name}: no fault; {len(book.steps)} steps, {len(book.expect)} expectations, {book.allow}")
    if sound:
        print_text("\n".join(sound))
    if faulty:
        raise UsageError("\n".join(error.message for error in faulty), next_step=faulty[-1].next_step)


@app.command("schema")
def schema() -> None:
    """Print the format of playbooks as a JSON schema, for editors.

    \b
    Examples:
      specdoctor playbook schema > playbook.schema.json
    """
    from specdoctor.planners.playbook_json import playbook_schema

    print_json(playbook_schema())
