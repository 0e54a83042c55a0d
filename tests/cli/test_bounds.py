"""A number that no run could have is refused before anything is reached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import typer

from specdoctor.cli.main import app
from tests.cli.conftest import Command

REACHING = ("investigate", "replay", "tune", "bench")
TOO_MUCH = ("inf", "nan", "1e300", "9" * 30)


def numeric() -> Iterator[tuple[str, str]]:
    """Every option of a number of the commands that reach a host; each has its turn with one of the numbers."""
    group = typer.main.get_command(app)
    for name in REACHING:
        command = group.commands[name]  # type: ignore[attr-defined]
        for option in command.params:
            if getattr(option, "min", None) is not None:
                yield name, option.opts[0]


@pytest.mark.parametrize(
    ("name", "option", "number"), [(*each, TOO_MUCH[at % len(TOO_MUCH)]) for at, each in enumerate(numeric())]
)
def test_a_number_beyond_all_measure_is_wrong_usage(name: str, option: str, number: str, specdoctor: Command) -> None:
    told = specdoctor(name, "nowhere", option, number)
    assert told.exit_code == 2
    assert option in told.stderr
