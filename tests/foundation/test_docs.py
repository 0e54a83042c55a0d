"""The generated pages: made from the code, and a stale one is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import pytest
import typer

from specdoctor.cli import docs
from specdoctor.cli.docs_commands import commands_page, commands_without_help
from specdoctor.cli.docs_events import events_page
from specdoctor.core.errors import EXIT_MISMATCH, EXIT_OK, EXIT_USAGE
from specdoctor.core.events import Event
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

EVENTS = get_args(get_args(Event)[0])


def small_app() -> typer.Typer:
    app = typer.Typer(help="Studies birds.", add_completion=False)
    nest = typer.Typer(help="What is in a nest.")
    app.add_typer(nest, name="nest")

    @app.command()
    def watch(
        place: Annotated[str, typer.Argument(help="Where to sit.")],
        hours: Annotated[int, typer.Option(help="How long to sit.")] = 3,
        secret: Annotated[bool, typer.Option(hidden=True)] = False,
    ) -> None:
        """Sit and watch.

        Bring tea.

        \b
        Tea:
          green    two minutes
        """

    @app.command(hidden=True)
    def shout() -> None:
        """Scare them."""

    @nest.command()
    def count(quietly: bool = False) -> None:
        pass

    return app


class Check:
    name = "feathers"
    summary = "Colours | of\n  feathers"
    causes: tuple[str, ...] = ("AGE-1", "DIET-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        raise AssertionError("a page of documentation judges nothing")


class OtherCheck(Check):
    name = "beak"
    causes = ()


def test_commands_page_has_every_command_with_its_help() -> None:
    page = commands_page(small_app(), program="birds")
    for heading in ("## birds", "### birds watch", "### birds nest", "#### birds nest count"):
        assert f"\n{heading}\n" in page
    assert "Studies birds." in page
    assert "Sit and watch.\n\nBring tea.\n\n```\nTea:\n  green    two minutes\n```\n" in page
    assert "- `place <str>`: Where to sit. [required]" in page
    assert "- `--hours <int>`: How long to sit. [default: 3]" in page


def test_commands_page_leaves_out_what_is_hidden() -> None:
    page = commands_page(small_app(), program="birds")
    assert "shout" not in page
    assert "secret" not in page


def test_what_has_no_help_is_found() -> None:
    missing = commands_without_help(small_app(), program="birds")
    assert missing == ["birds nest count", "birds nest count --quietly / --no-quietly"]


@pytest.mark.parametrize("columns", ["40", "200"])
def test_commands_page_does_not_depend_on_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = commands_page(small_app(), program="birds")
    monkeypatch.setenv("COLUMNS", columns)
    assert commands_page(small_app(), program="birds") == expected


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event.__name__))
def test_events_page_has_every_kind_with_its_description_and_fields(event: type) -> None:
    kind = event.model_fields["kind"].default  # type: ignore[attr-defined]  # members of a union have no common base
    _, _, section = events_page().partition(f"\n## {kind}\n")
    section = section.partition("\n## ")[0]
    assert " ".join((event.__doc__ or "an event without a docstring").split()) in section
    for field in set(event.model_fields) - {"kind", "at"}:  # type: ignore[attr-defined]
        assert f"| `{field}` |" in section


def test_every_link_of_the_events_page_has_its_section() -> None:
    page = events_page()
    targets = {part.partition(")")[0] for part in page.split("](#")[1:]}
    sections = {line.removeprefix("### ").lower() for line in page.splitlines() if line.startswith("### ")}
    assert targets
    assert targets <= sections


def test_checks_page_is_sorted_and_keeps_its_table() -> None:
    rows = docs.checks_page([Check(), OtherCheck()]).splitlines()[-2:]
    assert rows == [
        r"| `beak` | Colours \| of feathers | none |",
        r"| `feathers` | Colours \| of feathers | AGE-1 DIET-2 |",
    ]


def test_written_pages_pass_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    makers = {"a.md": lambda: "# A\n", "b.md": lambda: "# B\n"}
    assert docs.run(tmp_path, makers, check=False) == EXIT_OK
    assert (tmp_path / "a.md").read_text() == f"{docs.GENERATED}\n\n# A\n"
    capsys.readouterr()
    assert docs.run(tmp_path, makers, check=True) == EXIT_OK
    assert docs.run(tmp_path, makers, check=False) == EXIT_OK
    assert capsys.readouterr() == ("", "")


def test_a_stale_page_fails_the_check_and_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs.run(tmp_path, {"a.md": lambda: "old\n"}, check=False)
    before = (tmp_path / "a.md").read_text()
    assert docs.run(tmp_path, {"a.md": lambda: "new\n"}, check=True) == EXIT_MISMATCH
    assert (tmp_path / "a.md").read_text() == before
    shown = capsys.readouterr().err
    assert "-old" in shown
    assert "+new" in shown
    assert "a.md; run make docs" in shown


def test_a_missing_page_fails_the_check(tmp_path: Path) -> None:
    assert docs.run(tmp_path, {"a.md": lambda: "new\n"}, check=True) == EXIT_MISMATCH
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check", "--folder", str(tmp_path / "nowhere")]) == EXIT_USAGE
    assert "nowhere" in capsys.readouterr().err


def test_every_command_and_option_has_a_help_sentence() -> None:
    from specdoctor.cli.main import app

    assert commands_without_help(app, program="specdoctor") == []


def test_every_check_has_a_summary_and_a_name_of_its_own() -> None:
    from specdoctor.assembly.catalogue import all_checks

    checks = list(all_checks())
    assert checks
    assert [check.name for check in checks if not check.summary.strip()] == []
    assert len({check.name for check in checks}) == len(checks)
