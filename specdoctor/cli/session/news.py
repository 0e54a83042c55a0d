"""What scrolls by above the list: the events worth a line, in few words."""

from __future__ import annotations

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.model import Risk
from specdoctor.render.figures import clock
from specdoctor.render.layout import clip, labelled, wrap
from specdoctor.render.lines import event_line
from specdoctor.session.question import choices, question_lines
from specdoctor.session.view import View

_STAMP = 8
MOST_LINES = 4
BESIDE = 3
"""Lines below a question besides its choices: the rule, the prompt, and one that the terminal keeps free."""
_WHOLE = (
    ev.HypothesisClosed,
    ev.MoveRefused,
    ev.NoteAdded,
    pe.MoveAnswered,
    ev.RunEnded,
    ev.ControlCompared,
    ev.ServerRestored,
)
"""Kinds that are shown in full, however long; of the others MOST_LINES are enough, the rest can be asked for."""
_SHOWN = (
    ev.RunStarted,
    ev.RunResumed,
    ev.ClaimStated,
    ev.HypothesisOpened,
    ev.Measured,
    ev.BoundComputed,
    ev.ApprovalAnswered,
    ev.ServerSeen,
    ev.ServerRelaunched,
    ev.ServerRecognised,
    ev.HostReleased,
    ev.ModelAsked,
    ev.ExperimentChosen,
    pe.SymptomTold,
    pe.PriorSet,
    pe.HypothesisTakenUp,
    pe.PauseSet,
    pe.MoveAsked,
    *_WHOLE,
)


def news(event: ev.Event, view: View) -> list[str]:
    """The lines that an event is worth, none for most."""
    if isinstance(event, ev.ApprovalAsked):
        room = view.height - len(wrap(choices(event), view.width)) - BESIDE
        asked = question_lines(event, width=view.width, height=room)
        return ["", *asked, ""] if len(asked) + 2 <= room else asked
    loud = isinstance(event, ev.ActionStarted) and event.risk > Risk.READ
    if not loud and not isinstance(event, _SHOWN):
        return []
    stamp = clock(event.at - view.ledger.first_at)
    lines = labelled(stamp, event_line(event), label_width=_STAMP, width=view.width)
    if isinstance(event, _WHOLE) or len(lines) <= MOST_LINES:
        return lines
    rest = clip(" ".join(lines[MOST_LINES - 1 :]), view.width - _STAMP)
    return [*lines[: MOST_LINES - 1], " " * _STAMP + rest]
