"""The command line: one application, one file for each command or group."""

from __future__ import annotations

from typing import Annotated

import typer

from specdoctor.cli import drafter, lab, playbook
from specdoctor.cli.bench import bench
from specdoctor.cli.breakeven import breakeven
from specdoctor.cli.catalogue import check, checks, playbooks
from specdoctor.cli.causes import causes
from specdoctor.cli.compare import compare
from specdoctor.cli.demo import demo
from specdoctor.cli.doctor import doctor
from specdoctor.cli.failures import Guarded
from specdoctor.cli.investigate import investigate
from specdoctor.cli.predict import predict
from specdoctor.cli.probe import probe
from specdoctor.cli.replay import replay
from specdoctor.cli.review import review, runs
from specdoctor.cli.status import restore, status
from specdoctor.cli.triage import triage
from specdoctor.cli.tune import tune
from specdoctor.cli.wiring import wiring

app = typer.Typer(
    cls=Guarded,
    name="specdoctor",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from specdoctor import __version__
        from specdoctor.cli.output import print_text

        print_text(f"specdoctor {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Find out over SSH why speculative decoding on an inference server is slower than none, or wrong.

    \b
    Begin with one of:
      specdoctor demo                                     no GPU, no setup
      specdoctor doctor ssh://gpu-7                       what is possible
      specdoctor investigate ssh://gpu-7 --symptom "..."  find the cause
      specdoctor triage server.log                        judge files, no SSH
      specdoctor wiring --draft DIR --target DIR          is it fed right?
    """


app.command()(demo)
app.command()(doctor)
app.command()(investigate)
app.command()(status)
app.command()(restore)
app.command()(replay)
app.command()(review)
app.command()(runs)
app.command()(check)
app.command()(checks)
app.command()(causes)
app.command()(playbooks)
app.command()(probe)
app.command()(triage)
app.command()(wiring)
app.command()(bench)
app.command()(breakeven)
app.command()(compare)
app.command()(tune)
app.command()(predict)
app.add_typer(playbook.app, name="playbook")
app.add_typer(drafter.app, name="drafter")
app.add_typer(lab.app, name="lab")


def run() -> None:
    """Entry point of the console script."""
    app()
