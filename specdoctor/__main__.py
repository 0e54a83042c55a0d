"""`python -m specdoctor`."""

from specdoctor.cli.main import run

run()
