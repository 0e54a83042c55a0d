"""/add: a claim to be tested, with what it foretells, or a cause of the list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.core.wishes import Asked, ClaimWish, Foretelling, LaunchWish
from specdoctor.knowledge.table import CAUSES
from specdoctor.session.command import Command, Outcome, pairs_of, typed, words_of
from specdoctor.session.sentence import claimed
from specdoctor.session.view import View

USAGE = '/add "5 steps pay" throughput>=95 draft_steps=5   or   /add WIRE-1'
METRICS = {"throughput": "throughput_tok_s", "tok/s": "throughput_tok_s", "step": "step_ms", "cycle": "step_ms"}
_FORETOLD = re.compile(r"([a-z_/]+)(>=|<=|>|<)([0-9.]+)$")


def _run(view: View, line: str) -> Outcome:
    words, launch = pairs_of(words_of(line))
    foretold = [m for word in words if (m := _FORETOLD.fullmatch(word)) is not None]
    plain = [word for word in words if not _FORETOLD.fullmatch(word)]
    if not plain:
        raise UsageError("what is claimed?", next_step=USAGE)
    text = " ".join(plain)
    if len(plain) == 1 and re.fullmatch(r"[A-Za-z]{2,8}-\d+", text):
        return _cause(text.upper(), line)
    if not foretold:
        return claimed(text, launch=_launch(launch), usage=USAGE)
    if len(foretold) > 1:
        raise UsageError("a claim is held to one figure", next_step=USAGE)
    metric, op, value = foretold[0].groups()
    told = {"metric": METRICS.get(metric, metric), "op": op, "value": value, "launch": _launch(launch)}
    wish = ClaimWish(text=text, foretold=typed(Foretelling, told, usage=USAGE))
    return Outcome(request=Asked(text=f"/add {line}", wish=wish))


def _cause(name: str, line: str) -> Outcome:
    if name not in CAUSES:
        raise UsageError(unknown_word("cause", name, list(CAUSES)), next_step="specdoctor causes lists them")
    return Outcome(request=Asked(text=f"/add {line}", wish=ClaimWish(text="", cause=name)))


def _launch(pairs: dict[str, str]) -> LaunchWish | None:
    return typed(LaunchWish, pairs, usage=USAGE) if pairs else None


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    if len(words) <= 1:
        return list(CAUSES)
    return ["throughput>=", "accept_length>=", "step_ms<=", "draft_steps=", "topk=", "speculation=off"]


command = Command("add", '/add "..." METRIC>=N', "Put a claim on the list, to be tested.", _run, _complete)
