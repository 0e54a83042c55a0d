"""/run: a check, a look at the traffic or a benchmark, through the same policy and questions as every move."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.core.wishes import Asked, CheckWish
from specdoctor.session.command import Command, Outcome, pairs_of, typed, words_of
from specdoctor.session.view import View

USAGE = "/run bench concurrency=4, /run watch seconds=10, or /run CHECK"
_TAKES = {"bench": "concurrency", "watch": "seconds"}


def _run(view: View, line: str) -> Outcome:
    words, pairs = pairs_of(words_of(line))
    if len(words) != 1:
        raise UsageError("which check?" if not words else "one check at a time", next_step=USAGE)
    known = [*_TAKES, *view.checks]
    if words[0] not in known:
        raise UsageError(unknown_word("check", words[0], known), next_step=USAGE)
    unfit = [key for key in pairs if key != _TAKES.get(words[0])]
    if unfit:
        takes = _TAKES.get(words[0])
        raise UsageError(f"{words[0]} takes {takes or 'no setting'}, not {', '.join(unfit)}", next_step=USAGE)
    wish = typed(CheckWish, {"check": words[0], **pairs}, usage=USAGE)
    return Outcome(request=Asked(text=f"/run {line.strip()}", wish=wish))


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    if len(words) <= 1:
        return [*_TAKES, *view.checks]
    takes = _TAKES.get(words[0])
    return [f"{takes}="] if takes is not None else ()


command = Command("run", "/run CHECK [key=value]", "Run a check, watch or bench; may ask first.", _run, _complete)
