"""What the program says of itself, and how fast."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.main import get_command

from specdoctor import __version__
from specdoctor.cli.main import app
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.run_settings import RunSettings
from tests.cli.conftest import Command

HELP_LIMIT_S = 0.3


def leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command that does something, by its words."""
    below = getattr(command, "commands", None)
    return [words] if below is None else [leaf for name in below for leaf in leaves(below[name], (*words, name))]


COMMANDS = leaves(get_command(app))


@pytest.mark.alone
def test_help_answers_at_once() -> None:
    """By processor time, the least of five: a busy machine only adds; on an idle one that is the time one waits."""
    code = "import sys; sys.argv = ['specdoctor', '--help']; from specdoctor.cli.main import run; run()"
    took: list[float] = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert min(took) < HELP_LIMIT_S, took


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; import specdoctor.cli.main; print(*sorted({n.split('.')[0] for n in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"pydantic", "numpy", "rich", "paramiko", "langgraph", "openai", "sqlite_utils", "jinja2", "ruamel"}
    assert heavy.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("group", sorted({words[0] for words in COMMANDS if len(words) > 1}))
def test_a_group_tells_each_command_by_a_whole_sentence(specdoctor: Command, group: str) -> None:
    shown = specdoctor(group, "--help").stdout
    listed = shown.partition("Commands:")[2]
    assert listed
    assert "..." not in listed
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_every_command_is_listed(specdoctor: Command) -> None:
    shown = specdoctor("--help")
    assert shown.exit_code == 0
    for name in {words[0] for words in COMMANDS}:
        assert re.search(rf"^  {name} ", shown.stdout, re.MULTILINE), name
    assert "..." not in shown.stdout.partition("Commands:")[2], "no summary is cut off"
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80
    assert "--install-completion" in shown.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_help_has_an_example(specdoctor: Command, words: tuple[str, ...]) -> None:
    shown = specdoctor(*words, "--help")
    assert shown.exit_code == 0
    assert "Examples:\n" in shown.stdout
    assert f"    specdoctor {' '.join(words)}" in shown.stdout.partition("Examples:\n")[2]
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80


def test_the_version_is_told(specdoctor: Command) -> None:
    assert specdoctor("--version").stdout == f"specdoctor {__version__}\n"


def test_the_defaults_that_help_names_are_those_of_a_run() -> None:
    command = get_command(app).get_command(typer.Context(get_command(app)), "investigate")  # type: ignore[attr-defined]
    told = {
        name: match.group(1)
        for parameter in command.params
        if (name := parameter.name) and (match := re.search(r"\[default: ([\w.]+)\]$", parameter.help or ""))
    }
    settings = RunSettings()
    assert told == {
        "max_restarts": str(settings.max_restarts),
        "max_minutes": f"{settings.max_minutes:g}",
        "grace": f"{settings.grace_s:g}",
        "concurrency": str(settings.concurrency),
        "requests": str(settings.requests),
        "max_new_tokens": str(settings.max_new_tokens),
        "prompts": "mixed",
        "form": settings.form,
        "ssh": settings.ssh_transport,
        "max_tokens": str(Endpoint.model_fields["max_tokens"].default),
    }


def test_a_mistyped_command_and_option_are_usage_errors(specdoctor: Command) -> None:
    wrong = specdoctor("investigat")
    assert wrong.exit_code == 2
    assert "investigate" in wrong.stderr
    assert specdoctor("runs", "--jsn").exit_code == 2
    assert specdoctor("investigate", "ssh://x", "--allow", "everything").exit_code == 2
