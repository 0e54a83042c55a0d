"""What the person sees of a run: a fold of its events, kept apart from the one that drives it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specdoctor.core import events as ev
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status


class View:
    """The run as its events tell it so far.

    `checks` are the names in the catalogue, `width` and `height` the terminal's size.
    """

    def __init__(self, *, checks: Sequence[str] = (), history: Iterable[ev.Event] = (), width: int = 80) -> None:
        self.checks = tuple(checks)
        self.width = width
        self.height = 24
        self.ledger = Ledger()
        self.history: list[ev.Event] = []
        self.question: ev.ApprovalAsked | None = None
        """What waits for an answer. A question that nobody answered does not outlive the run's end."""
        for event in history:
            self.take(event)

    def take(self, event: ev.Event) -> None:
        """One more event."""
        self.ledger.apply(event)
        self.history.append(event)
        match event:
            case ev.ApprovalAsked():
                self.question = event
            case ev.ApprovalAnswered() | ev.RunResumed() | ev.RunEnded():
                self.question = None
            case _:
                pass

    @property
    def doing(self) -> ev.ActionStarted | None:
        """The action that goes on."""
        running = self.ledger.open_actions()
        return running[-1].started if running else None

    def open_ids(self) -> list[str]:
        return [h.id for h in self.ledger.hypotheses.values() if h.status is Status.OPEN]

    def parked(self) -> list[Hypothesis]:
        return [h for h in self.ledger.hypotheses.values() if h.status is Status.PARKED]
