"""What a person does in a run, as events. Everything typed at the keyboard that changes a run is one of them."""

from __future__ import annotations

from typing import Literal

from specdoctor.core.model import Timed
from specdoctor.core.wishes import Wish


class PersonAct(Timed):
    """What every event of a person's has: who it was, as user@machine."""

    by: str = ""


class SymptomTold(PersonAct):
    """A person says more of what is seen; it joins the symptom that the run was begun with."""

    kind: Literal["symptom.told"] = "symptom.told"
    text: str


class PriorSet(PersonAct):
    """A person says how likely a claim is (0 to 1). It changes the order of tests, never what they decide."""

    kind: Literal["prior.set"] = "prior.set"
    hypothesis: str
    prior: float


class HypothesisTakenUp(PersonAct):
    """A claim that was set aside undecided is open again."""

    kind: Literal["hypothesis.taken-up"] = "hypothesis.taken-up"
    hypothesis: str


class PauseSet(PersonAct):
    """A person pauses the run (`paused`) or lets it go on; a pause outlives the process."""

    kind: Literal["pause.set"] = "pause.set"
    paused: bool


class MoveAsked(PersonAct):
    """A person wants a claim tested, a check run or a restart made; `text` is how it was typed.

    It waits until an action or a hypothesis comes of it, or `move.answered` says why not.
    """

    kind: Literal["move.asked"] = "move.asked"
    ask: str
    text: str
    wish: Wish

    @property
    def mark(self) -> str:
        """The reason that the action which comes of it gives."""
        return f"asked for by a person ({self.ask})"

    @property
    def key(self) -> str:
        """The key of the hypothesis that comes of it."""
        return f"person:{self.ask}"


class MoveAnswered(PersonAct):
    """What a person asked for is not done, and why; or it needs nothing more."""

    kind: Literal["move.answered"] = "move.answered"
    ask: str
    why: str


PersonEvent = SymptomTold | PriorSet | HypothesisTakenUp | PauseSet | MoveAsked | MoveAnswered
