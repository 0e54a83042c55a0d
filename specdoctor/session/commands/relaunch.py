"""/relaunch: another speculation setting, started and measured with permission, guard and way back as ever."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.errors import UsageError
from specdoctor.core.wishes import Asked, LaunchWish, RelaunchWish
from specdoctor.session.command import Command, Outcome, pairs_of, typed, words_of
from specdoctor.session.view import View

USAGE = "/relaunch draft_steps=5 [topk=1] [draft_tokens=6], or /relaunch speculation=off"


def _run(view: View, line: str) -> Outcome:
    words, pairs = pairs_of(words_of(line))
    if words == ["off"] and not pairs:
        words, pairs = [], {"speculation": "off"}
    if words or not pairs:
        raise UsageError(f"what is {words[0]}?" if words else "with which setting?", next_step=USAGE)
    wish = RelaunchWish(launch=typed(LaunchWish, pairs, usage=USAGE))
    return Outcome(request=Asked(text=f"/relaunch {line.strip()}", wish=wish))


def _complete(view: View, words: Sequence[str]) -> Sequence[str]:
    return ["draft_steps=", "topk=", "draft_tokens=", "speculation=off"]


command = Command(
    "relaunch", "/relaunch draft_steps=5", "Start and measure another setting; asks first.", _run, _complete
)
