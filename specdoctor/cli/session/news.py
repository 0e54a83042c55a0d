"""What scrolls by above the list: the events worth a line, in few words."""

from __future__ import annotations

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.model import Risk
from specdoctor.render.figures import clock
from specdoctor.render.layout import clip, labelled
from specdoctor.render.lines import event_line
from specdoctor.session.question import question_lines
from specdoctor.session.view import View

_STAMP = 8
_WHOLE = (
    ev.HypothesisClosed,
    ev.MoveRefused,
    ev.NoteAdded,
    pe.MoveAnswered,
    ev.RunEnded,
    ev.ControlCompared,
    ev.ServerRestored,
)
"""Kinds that are shown in full; of the others the first line is enough, the rest can be asked for."""
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
        return ["", *question_lines(event, width=view.width), ""]
    loud = isinstance(event, ev.ActionStarted) and event.risk > Risk.READ
    if not loud and not isinstance(event, _SHOWN):
        return []
    stamp = clock(event.at - view.ledger.first_at)
    lines = labelled(stamp, event_line(event), label_width=_STAMP, width=view.width)
    if isinstance(event, _WHOLE) or len(lines) == 1:
        return lines
    return [clip(f"{stamp.ljust(_STAMP)}{event_line(event)}", view.width)]
