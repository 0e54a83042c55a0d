"""The format of a playbook: steps in order, each restart with a prediction, and what is expected at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Discriminator, Field, FiniteFloat, Tag, ValidationError, field_validator, model_validator

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, explained, nearest, refusal, unknown_word
from specdoctor.core.hypothesis import Answers
from specdoctor.core.input_file import read_input
from specdoctor.core.model import Frozen, Role, Status, Verdict
from specdoctor.core.recorded import Recorded
from specdoctor.core.yaml_places import Place, YamlFile, parse_yaml

AS_FOUND = "as found"
LARGEST_BYTES = 1 << 20
"""The label of the launch that a playbook begins with."""

FigureName = Literal["accept_length", "throughput_tok_s", "step_ms"]
FIGURE_UNITS: dict[FigureName, tuple[str, ...]] = {
    "accept_length": ("tokens/cycle", "tokens"),
    "throughput_tok_s": ("tok/s",),
    "step_ms": ("ms",),
}
Comparison = Literal[">=", ">", "<=", "<", "=="]
CauseId = Annotated[str, Field(pattern=r"^[A-Z]+-\d+$")]
Label = Annotated[str, Field(min_length=1)]
PromptName = Literal["mixed", "chat", "code", "maths", "short", "long", "predictable", "records"]


class Budgets(Frozen):
    """Starts of the server at most (the one that puts it back included), and minutes."""

    restarts: Annotated[int, Field(ge=0)] = 3
    minutes: Annotated[float, Field(gt=0)] = 240.0


class Load(Frozen):
    """How every benchmark of the playbook is made."""

    concurrency: Annotated[int, Field(ge=1)] = 1
    requests: Annotated[int, Field(ge=1)] = 12
    prompts: str = "mixed"
    form: Literal["chat", "generate"] = "generate"


class CheckStep(Frozen):
    """Judge what was read, with all checks or the named ones."""

    check: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("check", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @property
    def names(self) -> tuple[str, ...]:
        """The checks to run; empty for all of them."""
        return () if self.check == ("all",) else self.check


class WatchStep(Frozen):
    """Look on for some seconds without a request of our own."""

    watch: Annotated[float, Field(gt=0, le=600)]


class ComputeStep(Frozen):
    """Arithmetic on what was typed or measured so far: which predictions can be refuted without a launch?"""

    compute: Literal["typed", "measured"]


class BenchStep(Frozen):
    """Benchmark the launch of this label, which must be the one that runs; `prompts`: a built-in set for it alone."""

    bench: Label
    concurrency: Annotated[int, Field(ge=1)] | None = None
    prompts: PromptName | None = None


class Change(Frozen):
    """What a launch differs in from the server as found: exactly one of the five ways to say it.

    `other_install`: from the second installation of the engine that the targets file names.
    """

    off: Literal[True] | None = None
    other_install: Literal[True] | None = None
    undo: CauseId | None = None
    draft_steps: Annotated[int, Field(ge=1)] | None = None
    topk: Annotated[int, Field(ge=1)] | None = None
    draft_tokens: Annotated[int, Field(ge=2)] | None = None
    flags: dict[str, str | int | float | tuple[str | int | float, ...] | None] | None = None
    remove: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        speculation = self.draft_steps is not None or self.topk is not None or self.draft_tokens is not None
        flags = self.flags is not None or bool(self.remove)
        ways = sum((self.off is not None, self.other_install is not None, self.undo is not None, speculation, flags))
        if ways != 1:
            listed = "off, other_install, undo, draft_steps (with topk, draft_tokens), or flags (with remove)"
            raise ValueError(f"needs one of: {listed}")
        if speculation and self.draft_steps is None:
            raise ValueError("topk and draft_tokens need draft_steps beside them")
        return self


class StatedPrediction(Frozen):
    """What the launch will show if the claim is true: a figure against a value, or against another launch's figure."""

    metric: FigureName
    op: Literal[">=", ">", "<=", "<"]
    value: FiniteFloat | None = None
    than: Label | None = None

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        if (self.value is None) == (self.than is None):
            raise ValueError("needs either value or than (the label of another launch)")
        return self


class StatedHypothesis(Frozen):
    """The claim that a launch tests, with its prediction."""

    claim: Annotated[str, Field(min_length=1)]
    prediction: StatedPrediction
    cause: CauseId | None = None
    answers: Answers = "explains"


class RelaunchStep(Frozen):
    """Restart with a change, to test a hypothesis; `relaunch` is the label that later steps use."""

    relaunch: Label
    change: Change
    hypothesis: StatedHypothesis


class RestoreStep(Frozen):
    """Put the original back."""

    restore: Literal[True] | None = None


STEPS: dict[str, type[Frozen]] = {
    "check": CheckStep,
    "watch": WatchStep,
    "compute": ComputeStep,
    "bench": BenchStep,
    "relaunch": RelaunchStep,
    "restore": RestoreStep,
}


class FigureExpectation(Frozen):
    """A figure of one launch against a value or another launch; `tolerance` is the share by which it may be missed.

    `concurrency`: of the benchmarks with so many clients, where that is not the playbook's own number. `prompts`: of
    the benchmark with this built-in set; what it is compared with is with the playbook's own prompts. `unit` says what
    `value` is meant in, and must be the metric's own.
    """

    metric: FigureName
    of: Label
    op: Comparison
    value: FiniteFloat | None = None
    than: Label | None = None
    tolerance: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 0.0
    concurrency: Annotated[int, Field(ge=1)] | None = None
    prompts: PromptName | None = None
    unit: str | None = None

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        if (self.value is None) == (self.than is None):
            raise ValueError("needs either value or than (the label of another launch)")
        if self.unit is not None and self.unit not in FIGURE_UNITS[self.metric]:
            raise ValueError(f"{self.metric} is in {FIGURE_UNITS[self.metric][0]}, not in {self.unit}")
        return self


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class HypothesisExpectation(Frozen):
    """How the hypothesis of a relaunch step ends."""

    hypothesis: Label
    status: Annotated[tuple[Status, ...], Field(min_length=1)]

    _list = field_validator("status", mode="before")(_listed)


class CauseExpectation(Frozen):
    """What the verdict says of a cause; `absent` that it does not name it."""

    cause: CauseId
    status: Annotated[tuple[Literal["supported", "suspected", "absent"], ...], Field(min_length=1)] = ("supported",)
    role: Annotated[tuple[Role, ...], Field(min_length=1)] = tuple(Role)

    _lists = field_validator("status", "role", mode="before")(_listed)


Ended = Literal[Verdict.CAUSE, Verdict.HEALTHY, Verdict.NOT_ENOUGH_EVIDENCE]


class VerdictExpectation(Frozen):
    """The verdict, one of several."""

    verdict: Annotated[tuple[Ended, ...], Field(min_length=1)]

    _list = field_validator("verdict", mode="before")(_listed)


EXPECTATIONS: dict[str, type[Frozen]] = {
    "metric": FigureExpectation,
    "hypothesis": HypothesisExpectation,
    "cause": CauseExpectation,
    "verdict": VerdictExpectation,
}


def _tag_of(kinds: dict[str, type[Frozen]], value: Any) -> str | None:
    """Which kind a mapping is, by the one key that only this kind begins with; a model is what it is."""
    for tag, model in kinds.items():
        if isinstance(value, model) or (isinstance(value, dict) and tag in value):
            return tag
    return None


def _step_tag(value: Any) -> str | None:
    return _tag_of(STEPS, value)


def _expectation_tag(value: Any) -> str | None:
    return _tag_of(EXPECTATIONS, value)


Step = Annotated[
    Annotated[CheckStep, Tag("check")]
    | Annotated[WatchStep, Tag("watch")]
    | Annotated[ComputeStep, Tag("compute")]
    | Annotated[BenchStep, Tag("bench")]
    | Annotated[RelaunchStep, Tag("relaunch")]
    | Annotated[RestoreStep, Tag("restore")],
    Discriminator(_step_tag),
]
Expectation = Annotated[
    Annotated[FigureExpectation, Tag("metric")]
    | Annotated[HypothesisExpectation, Tag("hypothesis")]
    | Annotated[CauseExpectation, Tag("cause")]
    | Annotated[VerdictExpectation, Tag("verdict")],
    Discriminator(_expectation_tag),
]


class Playbook(Frozen):
    """One playbook. `allow` is the highest tier that its steps need, and that replaying it permits.

    `recorded`: what the run found that it was made from; a replay tells what differs.
    """

    title: Annotated[str, Field(min_length=1)]
    about: str = ""
    allow: Literal["read", "load", "restart"] = "read"
    symptom: str = ""
    budgets: Budgets = Budgets()
    load: Load = Load()
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    expect: tuple[Expectation, ...] = ()
    recorded: Recorded | None = None


def load_playbook(path: Path, *, checks: Sequence[str]) -> Playbook:
    """Read a playbook; `checks` are the names that steps may use.

    Raises UsageError with every fault of the file, one line each: file:line:column, key, message.
    """
    file = _read(path)
    faults = [*_named(file, checks)]
    try:
        playbook = Playbook.model_validate(file.data)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A list whose items are all at fault counts as too short for the validator; its items are told.
        faults += [_fault(file, item) for item in found if item["type"] != "too_short" or not item["input"]]
    if faults:
        raise refusal(str(path), faults, next_step="docs/playbooks.md explains the format")
    return playbook


def _fault(file: YamlFile, item: Any) -> Fault:
    place = _without_tags(tuple(item["loc"]))
    line, column = file.find(place)
    kinds = STEPS if place[:1] == ("steps",) else EXPECTATIONS
    if item["type"] in ("union_tag_not_found", "union_tag_invalid"):
        message = f"needs one of the keys {', '.join(kinds)}"
        key = _misspelt(item["input"], kinds)
        if key is not None:
            place = (*place, key)
            line, column = file.find(place)
            message = unknown_word("key", key, list(kinds))
    else:
        message = explained(item, known_keys=_known_keys(tuple(item["loc"])))
    return Fault(line=line, column=column, key=_written(place), message=message)


def _without_tags(loc: Place) -> Place:
    """A location without the names of kinds that validation puts after the index of a step or an expectation."""
    return (*loc[:2], *loc[3:]) if loc[:1] in (("steps",), ("expect",)) and len(loc) > 2 else loc


def _misspelt(value: Any, kinds: dict[str, type[Frozen]]) -> str | None:
    """The key of a step or an expectation that no kind has: one that is near to the name of a kind, else the first."""
    known = {name for model in kinds.values() for name in model.model_fields}
    strange = [str(key) for key in value if str(key) not in known] if isinstance(value, dict) else []
    return next((key for key in strange if nearest(key, kinds)), next(iter(strange), None))


def _known_keys(loc: Place) -> list[str]:
    """The keys that may stand where `loc` does; none where that is not known."""
    model: type[Frozen] | None = Playbook
    kinds: dict[str, type[Frozen]] | None = None
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        if kinds is not None:
            model, kinds = kinds.get(part), None
        elif model is not None:
            kinds = {"steps": STEPS, "expect": EXPECTATIONS}.get(part) if model is Playbook else None
            field = model.model_fields.get(part)
            model = _inner(field.annotation) if field is not None and kinds is None else None
    return list(model.model_fields) if model is not None else []


def _inner(annotation: Any) -> type[Frozen] | None:
    """The model in the type of a field: itself, or what a tuple or an optional one holds."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner(part)) is not None), None)


def _written(place: Place) -> str:
    """A place as people write it: steps[2].check."""
    out = ""
    for part in place:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out or "(whole file)"


def _named(file: YamlFile, checks: Sequence[str]) -> Iterator[Fault]:
    """Names that nothing has: checks, and launches that no step makes."""
    if not isinstance(file.data, dict):
        return
    steps = [s for s in _items(file.data.get("steps")) if isinstance(s[1], dict)]
    labels = [AS_FOUND, *(str(s["relaunch"]) for _, s in steps if isinstance(s.get("relaunch"), str))]
    for index, step in steps:
        yield from _unknown_checks(file, index, step, checks)
        yield from _unknown_label(file, ("steps", index, "bench"), step.get("bench"), labels)
        hypothesis = step.get("hypothesis")
        prediction = hypothesis.get("prediction") if isinstance(hypothesis, dict) else None
        if isinstance(prediction, dict):
            place: Place = ("steps", index, "hypothesis", "prediction", "than")
            yield from _unknown_label(file, place, prediction.get("than"), labels)
    for index, label in enumerate(labels):
        if label in labels[:index]:
            place = next(("steps", i, "relaunch") for i, s in reversed(steps) if s.get("relaunch") == label)
            yield _at(file, place, f'the label "{label}" is already taken')
    for index, item in _items(file.data.get("expect")):
        if isinstance(item, dict):
            for key in ("of", "than"):
                yield from _unknown_label(file, ("expect", index, key), item.get(key), labels)
            yield from _unknown_label(file, ("expect", index, "hypothesis"), item.get("hypothesis"), labels[1:])


def _items(value: Any) -> list[tuple[int, Any]]:
    return list(enumerate(value)) if isinstance(value, list) else []


def _unknown_checks(file: YamlFile, index: int, step: dict[str, Any], checks: Sequence[str]) -> Iterator[Fault]:
    value = step.get("check")
    several = isinstance(value, list)
    for number, name in enumerate(value if isinstance(value, list) else [value]):
        if isinstance(name, str) and name not in checks and not (name == "all" and not several):
            place: Place = ("steps", index, "check", number) if several else ("steps", index, "check")
            yield _at(file, place, unknown_word("check", name, checks))


def _unknown_label(file: YamlFile, place: Place, value: Any, labels: Sequence[str]) -> Iterator[Fault]:
    if isinstance(value, str) and value not in labels:
        yield _at(file, place, unknown_word("launch", value, labels))


def _at(file: YamlFile, place: Place, message: str) -> Fault:
    line, column = file.find(place)
    return Fault(line=line, column=column, key=_written(place), message=message)


def title_of(path: Path) -> str:
    """The title of a playbook without judging the rest, empty where it cannot be read."""
    try:
        data = _read(path).data
    except UsageError:
        return ""
    return str(data.get("title", "")) if isinstance(data, dict) else ""


def _read(path: Path) -> YamlFile:
    try:
        content = read_input(path, limit=LARGEST_BYTES, pipes=False)
    except OSError as error:
        said = error.strerror or str(error)
        raise UsageError(f"cannot read {path}: {said}", next_step="give the path of a readable YAML file") from error
    return parse_yaml(path, content)
