"""Hypotheses with predictions made before the test, and the todo items that stand under each."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen, Status
from specdoctor.core.server import Source, SpecSetting

Metric = Literal[
    "throughput_tok_s",
    "request_throughput_tok_s",
    "accept_length",
    "step_ms",
    "queue_requests",
    "start_states",
    "reading",
]
Operator = Literal[">=", ">", "<=", "<", "==", "!=", "within"]
Answers = Literal["symptom", "exists", "explains", "repairs"]
Priority = Literal["high", "medium", "low"]

JUDGES = "judges"
"""Where the evidence of a check names the causes that it looks for."""

UNITS: dict[str, str] = {
    "throughput_tok_s": "tok/s",
    "request_throughput_tok_s": "tok/s",
    "accept_length": "tokens per target forward",
    "step_ms": "ms",
    "queue_requests": "requests",
    "start_states": "speeds of equal starts",
    "reading": "",
}


class Prediction(Frozen):
    """What will be seen if the claim is true, written before the test.

    `under` is the key of the launch it speaks about (LaunchChange.key). For a `reading`, `subject` names the argument
    or fact and `text` the expected value; for a measurement `value` is the threshold in the metric's unit, and
    `value_from` says where it comes from (a typed figure, or an evidence id). `setting` is the speculation that the
    launch will have in force, where it is known. `within`: from `value` to `most`, both included.
    """

    metric: Metric
    op: Operator
    value: float | None = None
    most: float | None = None
    text: str | None = None
    subject: str | None = None
    under: str = "original"
    under_label: str = "as found"
    concurrency: int = 1
    value_from: str = ""
    setting: SpecSetting | None = None

    @property
    def sentence(self) -> str:
        """The prediction in words, with its unit and the launch it is about."""
        if self.metric == "reading":
            return f"{self.subject} {self.op} {self.text}"
        amount = f"{self.value:.4g} {UNITS[self.metric]}" if self.value is not None else "?"
        amount = f"{self.value:.4g} to {self.most:.4g} {UNITS[self.metric]}" if self.value and self.most else amount
        origin = f" ({self.value_from})" if self.value_from else ""
        return f"{self.metric} {self.op} {amount}{origin}, {self.under_label}"


class TodoStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class TodoItem(Frozen):
    """A planned action under a hypothesis."""

    id: str
    content: str
    priority: Priority = "medium"
    status: TodoStatus = TodoStatus.PENDING


class Hypothesis(Frozen):
    """A claim about the server that evidence can close.

    `answers`: `symptom` (is what the user reports true here?), `exists` (is this fault there?), `explains` (does
    removing it remove the symptom?), `repairs` (does a repair bring what it was expected to
    bring?). `key` is the planner's own stable name, so that nothing is opened twice. `decides` says, for a claim that
    stays open, which test would close it.
    """

    id: str
    key: str
    cause: str | None
    claim: str
    answers: Answers
    prediction: Prediction | None
    priority: Priority = "medium"
    prior: float = 0.5
    about: Literal["symptom", "accept_length", "cycle"] = "symptom"
    decides: str = ""
    status: Status = Status.OPEN
    because: str = ""
    evidence: tuple[str, ...] = ()
    todo: tuple[TodoItem, ...] = ()


class Claim(Frozen):
    """A number the user typed: taken at its word until measured, never a truth.

    With `recalled_at` (when it was seen, in the person's own words) it is a memory: shown beside what is measured, and
    never used in a test.
    """

    metric: Literal[
        "throughput_tok_s", "accept_length", "step_ms", "verify_ms", "draft_tokens", "draft_steps", "concurrency"
    ]
    value: float
    role: Literal["with speculation", "baseline", "wished", "unknown"]
    text: str
    recalled_at: str | None = None


class ConfigEdit(Frozen):
    """One key of a drafter's config.json (dotted where nested) to be written, or taken out where `value` is None.

    `needs` names the engine version that it is for, where that is not the one asked about.
    """

    key: str
    value: JsonValue = None
    needs: str = ""

    @property
    def words(self) -> str:
        return f"{self.key} = {json.dumps(self.value)}" if self.value is not None else f"no {self.key}"


def edited(config: Mapping[str, JsonValue], edits: Sequence[ConfigEdit]) -> dict[str, JsonValue]:
    """The configuration with each edit made; what is between two dots and no mapping is replaced by one."""
    new = copy.deepcopy(dict(config))
    for edit in edits:
        *parents, last = edit.key.split(".")
        here: dict[str, JsonValue] = new
        for parent in parents:
            inner = here.get(parent)
            within: dict[str, JsonValue] = dict(inner) if isinstance(inner, dict) else {}
            here[parent] = here = within
        if edit.value is None:
            here.pop(last, None)
        else:
            here[last] = edit.value
    return new


Stance = Literal["supports", "refutes", "suggests", "silent", "no-data"]
NO_FAULT = "a fault of the server"
"""What a healthy pattern speaks against: the figures complained of have an ordinary explanation."""


class Remedy(Frozen):
    """The change that would remove a fault: another speculation setting, flags, or variables taken out."""

    label: str
    setting: SpecSetting | None = None
    set_flags: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    remove_flags: tuple[str, ...] = ()
    remove_env: tuple[str, ...] = ()


class Observation(Frozen):
    """What one check says of one cause after reading a view. `binds`: the fault limits the server as it is used.

    `supports`: the fault is there, openable in `sources`. `suggests`: something makes it possible, so it belongs among
    the rivals (`about` says of what) until the test in `decides` is made; `decided_by` says what that test costs.
    `refutes`: what was read excludes the claim in `against`. `silent`: looked and nothing found. `no-data`: could not
    look (`claim` says what was missing). `reading` is what was predicted and read. `edits` is as much of `fix` as the
    drafter's configuration can hold. `slows`: a fault that slows every launch alike explains that something got slower,
    never that speculation loses. `unmeasured`: the fault stands in files, and no figure says what it
    costs. `foretold`: what an engine will do by its rules, which nothing that was read shows done.
    """

    check: str
    cause: str | None
    stance: Stance
    claim: str
    binds: bool = False
    explains: bool = False
    about: Literal["symptom", "accept_length", "cycle"] = "symptom"
    sources: tuple[Source, ...] = ()
    remedy: Remedy | None = None
    reading: Prediction | None = None
    figure: Estimate | None = None
    decides: str = ""
    decided_by: Literal["read", "load", "restart", "offline"] = "offline"
    fix: str = ""
    edits: tuple[ConfigEdit, ...] = ()
    against: str = ""
    slows: Literal["", "all alike"] = ""
    unmeasured: bool = False
    foretold: bool = False

    @property
    def rival_key(self) -> str:
        """The key of the claim that what was seen may explain the loss."""
        return f"rival:{self.cause}:{self.check}"
