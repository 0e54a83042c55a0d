"""Writes the pages of docs/ that come from the code, so that they cannot go stale.

python -m specdoctor.cli.docs            write causes.md, cli.md, events.md, checks.md, keepers.md and rules.md
python -m specdoctor.cli.docs --check    only compare; exit 1 and show the difference if a page is not up to date
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from specdoctor.cli.docs_causes import causes_page
from specdoctor.cli.docs_commands import commands_page
from specdoctor.cli.docs_events import events_page
from specdoctor.cli.docs_keepers import keepers_page
from specdoctor.core.errors import EXIT_MISMATCH, EXIT_OK, EXIT_USAGE
from specdoctor.core.ports import Check

GENERATED = "<!-- Made by `make docs`; change the code it is made from, not this file. -->"


def checks_page(checks: Iterable[Check]) -> str:
    """docs/checks.md: every check of the catalogue in alphabetical order, with the causes it can speak about."""
    lines = [
        "# Checks",
        "",
        "A check is one question to what was read from the host. It judges and never fetches, so it can be asked again",
        "of a recorded run.",
        "",
        "| check | what it looks at | causes it can speak about |",
        "|---|---|---|",
    ]
    for check in sorted(checks, key=lambda check: check.name):
        summary = " ".join(check.summary.split()).replace("|", "\\|")
        lines.append(f"| `{check.name}` | {summary} | {' '.join(check.causes) or 'none'} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, Callable[[], str]]:
    """Name of each generated page and what makes it. Each imports what it describes only when called."""

    def commands() -> str:
        from specdoctor.cli.main import app

        return commands_page(app, program="specdoctor")

    def checks() -> str:
        from specdoctor.assembly.catalogue import all_checks

        return checks_page(all_checks())

    def keepers() -> str:
        from specdoctor.keepers.table import ROWS

        return keepers_page(ROWS)

    def rules() -> str:
        from specdoctor.assembly.catalogue import all_checks
        from specdoctor.cli.docs_rules import rules_page

        return rules_page(all_checks())

    def causes() -> str:
        from specdoctor.knowledge.table import GROUPS

        return causes_page(GROUPS)

    return {
        "causes.md": causes,
        "checks.md": checks,
        "cli.md": commands,
        "events.md": events_page,
        "keepers.md": keepers,
        "rules.md": rules,
    }


def difference(name: str, *, written: str, made: str) -> str:
    """A unified diff from the page on disk to the page the code makes; empty if they are the same."""
    return "".join(
        difflib.unified_diff(
            written.splitlines(keepends=True),
            made.splitlines(keepends=True),
            fromfile=f"{name} (on disk)",
            tofile=f"{name} (made from the code)",
        )
    )


def run(folder: Path, makers: Mapping[str, Callable[[], str]], *, check: bool) -> int:
    """Write the pages into `folder`, or with `check` compare them and print what differs. Returns the exit code."""
    stale: list[str] = []
    for name, make in makers.items():
        path = folder / name
        made = f"{GENERATED}\n\n{make()}"
        written = path.read_text(encoding="utf-8") if path.is_file() else ""
        if written == made:
            continue
        stale.append(name)
        if check:
            sys.stderr.write(difference(name, written=written, made=made))
        else:
            path.write_text(made, encoding="utf-8")
            print(f"docs: wrote {path}")
    if check and stale:
        print(f"docs: not up to date: {', '.join(stale)}; run make docs and commit the result", file=sys.stderr)
        return EXIT_MISMATCH
    return EXIT_OK


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of this module; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m specdoctor.cli.docs", description="Generate pages of docs/.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; exit 1 on a difference")
    parser.add_argument("--folder", type=Path, default=Path("docs"), help="where the pages are (default: docs)")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        print(f"docs: no folder {options.folder}; run this from the root of the repository", file=sys.stderr)
        return EXIT_USAGE
    return run(options.folder, pages(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
