"""docs/rules.md: which rules rest on a single public report, so that they are trusted and tested accordingly."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.core.ports import Check
from specdoctor.knowledge.table import CAUSES

ON_ONE_REPORT: tuple[tuple[str, str, str], ...] = (
    ("verify-cost", "GRAPH-3", "verifying n tokens costs at least 0.6 n single steps while drafting is little of it"),
    ("draft-cost", "LOAD-4", "the loss grows with the drafter's size and with the draft length"),
    ("draft-threshold", "CFG-1", "a confidence threshold of 0 that nobody asked for, with few drafts accepted"),
    ("draft-threshold", "CFG-4", "less than 0.35 of the drafts accepted below a threshold of 0.75"),
    ("hand-over", "WIRE-5", "prefill and decode split: the whole server of the same drafter accepts more"),
    ("request-cap", "CFG-1", "a question which limit holds, where a default does no harm"),
    ("quality-pair", "CORR-1", "a state strategy of the cache that is sound and cheaper than no cache"),
    ("answers", "CORR-4", "every pass accepts all or nothing, and the text is one sign"),
    ("captured-sizes", "GRAPH-1", "all requests together fall to 0.8 or less just beyond the captured size"),
    ("unequal-sides", "MEAS-3", "asynchronous scheduling on one side only, worth up to 15 %"),
    ("position-decay", "CFG-4", "a low mean rate over many positions while the first position is sound"),
    ("two-rates", "MEAS-2", "the printed rate counts the root, another tool's does not"),
)


def rules_page(checks: Iterable[Check]) -> str:
    """Rules by check and cause for which one public report or none was found, and parts of rules of that kind."""
    rows = [
        (check.name, cause, CAUSES[cause].title)
        for check in sorted(checks, key=lambda check: check.name)
        for cause in check.causes
        if CAUSES[cause].reports <= 1
    ]
    lines = [
        "# Rules that rest on one public report",
        "",
        "A rule here is arithmetic or a fact of an engine, but only one public report (or none, then source and live",
        "servers) shows it at work. Treat what it says with that in mind, and send a case where it is wrong.",
        "Thresholds stand in the checks, each with its source or marked as a heuristic.",
        "",
        "## Causes known from one report",
        "",
        "| check | cause | what it is |",
        "|---|---|---|",
        *(f"| `{name}` | {cause} | {title} |" for name, cause, title in rows),
        "",
        "## Signs known from one report",
        "",
        "| check | cause | sign |",
        "|---|---|---|",
        *(f"| `{name}` | {cause} | {sign} |" for name, cause, sign in ON_ONE_REPORT),
    ]
    return "\n".join(lines) + "\n"
