"""What a planner may propose. Rules, playbooks and models return the same moves; code accepts or refuses each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from specdoctor.core.answer_sets import AnswerKind
from specdoctor.core.choice import Choice
from specdoctor.core.hypothesis import Answers, Prediction, Priority
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Frozen, Risk


class OpenHypothesis(Frozen):
    """Put a claim on the list, with what it predicts and how it is meant to be tested."""

    kind: Literal["open"] = "open"
    key: str
    cause: str | None
    claim: str
    answers: Answers
    prediction: Prediction | None = None
    priority: Priority = "medium"
    prior: float = 0.5
    about: Literal["symptom", "accept_length", "cycle"] = "symptom"
    decides: str = ""
    todo: tuple[tuple[str, Priority], ...] = ()
    why: str = ""


class Snapshot(Frozen):
    """Read everything there is to read, in one remote command."""

    kind: Literal["snapshot"] = "snapshot"
    why: str = ""


class RunChecks(Frozen):
    """Judge what was read. Checks have no way to the server."""

    kind: Literal["checks"] = "checks"
    names: tuple[str, ...] = ()
    why: str = ""


class Compute(Frozen):
    """Arithmetic on what is known: bounds that can refute a claim before anything is touched."""

    kind: Literal["compute"] = "compute"
    basis: Literal["typed", "measured"]
    why: str = ""


class Watch(Frozen):
    """Look on for a few seconds without a request of our own."""

    kind: Literal["watch"] = "watch"
    seconds: float = 5.0
    why: str = ""


class Bench(Frozen):
    """Benchmark the launch that runs now (`launch_key`), which must be the one named here.

    `control`: the original, put back, to be compared with itself before. `prompts`: a built-in set by its name, or a
    file that was read on the host, whose prompts are sent in place of the run's own.
    `template`: the folder of another model, in whose chat template they are sent. `wide`: many short answers, for the
    time of a forward of so many tokens alone. `answers`: a few answers that are kept to be compared; at `temperature`
    where they are sampled.
    """

    kind: Literal["bench"] = "bench"
    launch_key: str = "original"
    concurrency: int = 1
    hypotheses: tuple[str, ...] = ()
    control: bool = False
    prompts: str = ""
    template: str = ""
    wide: bool = False
    answers: Literal[""] | AnswerKind = ""
    temperature: float = 0.0
    why: str = ""


class Relaunch(Frozen):
    """Restart the server with a change against its original launch line; `choice`: why this one of those left."""

    kind: Literal["relaunch"] = "relaunch"
    change: LaunchChange
    hypotheses: tuple[str, ...] = ()
    choice: Choice | None = None
    why: str = ""


class Restore(Frozen):
    """Put the original back."""

    kind: Literal["restore"] = "restore"
    why: str = ""


class Park(Frozen):
    """Set a hypothesis aside undecided, with the reason."""

    kind: Literal["park"] = "park"
    hypothesis: str
    why: str


class Recognise(Frozen):
    """Look whether somebody has started what this run left to be started by hand."""

    kind: Literal["recognise"] = "recognise"
    why: str = ""


class Note(Frozen):
    """A remark for the transcript; `lines` are the command lines in it."""

    kind: Literal["note"] = "note"
    text: str
    lines: tuple[str, ...] = ()


class Finish(Frozen):
    """Nothing more worth doing; the verdict is computed from the ledger, not stated here."""

    kind: Literal["finish"] = "finish"
    why: str


Move = Annotated[
    OpenHypothesis
    | Snapshot
    | RunChecks
    | Compute
    | Watch
    | Bench
    | Relaunch
    | Restore
    | Recognise
    | Park
    | Note
    | Finish,
    Field(discriminator="kind"),
]

RISKS: dict[str, Risk] = {"bench": Risk.LOAD, "relaunch": Risk.RESTART, "restore": Risk.RESTART}


def risk_of(move: Move) -> Risk:
    """The tier of a move; what touches nothing is a read."""
    return RISKS.get(move.kind, Risk.READ)
