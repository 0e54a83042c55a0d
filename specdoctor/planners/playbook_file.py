"""A playbook read from its file, every fault told at once with line, column and key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, explained, nearest, refusal, unknown_word
from specdoctor.core.input_file import read_input
from specdoctor.core.model import Frozen
from specdoctor.core.yaml_places import Place, YamlFile, parse_yaml
from specdoctor.planners.playbook_schema import AS_FOUND, EXPECTATIONS, STEPS, Playbook

LARGEST_BYTES = 1 << 20


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
