"""specdoctor compare: two measurements, and what of their surroundings could explain the difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.cli.review import history_of
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError
from specdoctor.core.input_file import is_folder, is_there, read_input

if TYPE_CHECKING:
    from specdoctor.app.comparing import FileSide, RunSide

LARGEST_BYTES = 256 << 20
_SIDE_HELP = (
    "RUN or RUN:M2 (a measurement or its evidence), a transcript folder, or a result of specdoctor bench --json, "
    "sglang.bench_serving or vllm bench serve."
)


def compare(
    first: Annotated[str, typer.Argument(metavar="FIRST", help=_SIDE_HELP)],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The same kinds; the ratio is second over first.")],
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Compare at N clients, where both sides measured that.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Compare two measurements: which part changed, and which difference of their surroundings could explain it.

    Of a run, the server as it was found. Where both sides measured several numbers of clients, one comparison is of
    one of them, and the others are named.

    Exit code: 0 with an answer, 3 when the difference cannot be attributed or the intervals are too wide.

    \b
    Examples:
      specdoctor compare 7f3c 91ab
      specdoctor compare 7f3c:M2 7f3c:M4 --json
      specdoctor compare before.jsonl after.jsonl
      specdoctor compare monday.json friday.json --concurrency 8
    """
    from specdoctor.analysis.attribution import attribute
    from specdoctor.app.comparing import arm_of, loads_in_common
    from specdoctor.render.comparison import comparison_document, comparison_text

    sides = _side(first), _side(second)
    common = loads_in_common(*sides)
    if concurrency is not None and concurrency not in common:
        known = ", ".join(map(str, common)) or "none"
        raise UsageError(f"not both sides measured {concurrency} clients", next_step=f"both measured: {known}")
    like = concurrency or next(iter(common), None)
    others = [n for n in common if n != like]
    before, after = (arm_of(side, like) for side in sides)
    found = attribute(before, after)
    if json:
        print_json({**comparison_document(before, after, found), "concurrency": like, "also_measured": others})
    else:
        print_text(comparison_text(before, after, found, width=width()))
        if others:
            also = ", ".join(map(str, others))
            print_text(f"\nthis is {like} clients; both sides also measured {also}: --concurrency {others[0]}")
    answered = found.outcome in ("no difference", "attributable")
    raise typer.Exit(EXIT_OK if answered else EXIT_INCONCLUSIVE)


def _side(word: str) -> FileSide | RunSide:
    """A result file, else a run with or without the name of a measurement."""
    from specdoctor.app.comparing import FileSide, RunSide
    from specdoctor.app.imported import arms_of_file
    from specdoctor.core.ledger import fold

    path = Path(word)
    if is_there(path) and not is_folder(path) and path.name != "events.jsonl":
        try:
            text = read_input(path, limit=LARGEST_BYTES).decode("utf-8", errors="replace")
            return FileSide(arms_of_file(text, path.name))
        except OSError as failure:
            raise UsageError(f"{word}: {failure.strerror}", next_step="check the path") from failure
    run, _, measurement = (word, "", "") if is_there(path) else word.partition(":")
    history, _ = history_of(run)
    return RunSide(fold(history), measurement or None)
