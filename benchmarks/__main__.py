"""The benchmark suite: ratios side by side, measured in one run. It prints a table and never fails.

    make bench                      everything, a few minutes
    make bench ARGS="ssh parsing"   some sections
    make bench QUICK=1              roughly, with less of everything

Each module of this folder that has a function `rows` is a section.
"""

from __future__ import annotations

import importlib
import pkgutil
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.rows import Row, skipped

FIRST = ("load", "parsing", "ssh", "comparing")
COLUMNS = ("what", "specdoctor", "beside", "ratio", "goal", "")


def sections() -> dict[str, Callable[[], Iterable[Row]]]:
    """The sections by name, those that are always there first."""
    found = {}
    for name in (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])):
        if name != "__main__" and hasattr(module := importlib.import_module(f"benchmarks.{name}"), "rows"):
            found[name] = module.rows
    order = [*FIRST, *sorted(set(found) - set(FIRST))]
    return {name: found[name] for name in order if name in found}


def measured(name: str, rows: Callable[[], Iterable[Row]]) -> list[Row]:
    """The rows of a section; one that breaks becomes a row that says so."""
    began = time.monotonic()
    print(f"bench: {name} ...", end=" ", file=sys.stderr, flush=True)
    try:
        found = list(rows())
    except Exception as failure:  # noqa: BLE001  # a benchmark never fails: what broke is told in its table
        found = [skipped(name, f"it broke: {type(failure).__name__}: {failure}")]
        traceback.print_exc()
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def table(rows: list[Row]) -> str:
    cells = [COLUMNS, *((r.what, r.ours, r.theirs, r.ratio, r.goal, r.verdict) for r in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    notes = dict.fromkeys(note for row in rows for note in row.notes)
    return "\n".join([*lines, "", *notes])


def main() -> None:
    known = sections()
    wanted = sys.argv[1:] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no section {', '.join(unknown)}; known: {', '.join(known)}", file=sys.stderr)
        wanted = [name for name in wanted if name in known]
    rows = [row for name in wanted for row in measured(name, known[name])]
    print(f"\n{platform.machine()}, Python {platform.python_version()}, Linux {platform.release()}\n")
    print(table(rows))


if __name__ == "__main__":
    main()
