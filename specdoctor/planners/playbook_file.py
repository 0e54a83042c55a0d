"""A playbook read from its file, every fault told at once with line, column and key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, explained, nearest, refusal, unknown_word
from specdoctor.core.input_file import is_there, read_input, whole_path
from specdoctor.core.model import Frozen
from specdoctor.core.yaml_places import Place, YamlFile, parse_yaml
from specdoctor.planners.playbook_schema import (
    AS_FOUND,
    EXPECTATIONS,
    STEPS,
    IncludeStep,
    Playbook,
    PlaybookFile,
    RelaunchStep,
    Step,
)
from specdoctor.planners.playbook_values import Scalar, WrongValue, declared, filled, of_kind

LARGEST_BYTES = 1 << 20
DEEPEST = 5
"""Files that include one another."""


def load_playbook(path: Path, *, checks: Sequence[str], values: Mapping[str, Scalar] | None = None) -> Playbook:
    """Read a playbook with its parameters filled in and what it includes in place of the steps that name it.

    `checks` are the names that steps may use, `values` what parameters are to be other than their defaults. Raises
    UsageError with every fault of the file and of those it includes, one line each: file:line:column, key, message.
    """
    return _Loader(checks).load(path, values or {}, ())


class _Loader:
    """Reads a file and, in turn, the ones that it includes."""

    def __init__(self, checks: Sequence[str]) -> None:
        self._checks = checks

    def load(self, path: Path, values: Mapping[str, Scalar], above: tuple[Path, ...]) -> Playbook:
        """One file; `above` are those that are being read because of it."""
        file = _read(path)
        data, faults = filled(file, _valued(path, file, values))
        file = file.with_data(data)
        included, within, refused = self._included(file, above)
        faults += [
            *within,
            *_named(file, self._checks, [label for book in included.values() for label in _labels(book)]),
        ]
        book: PlaybookFile | None = None
        try:
            book = PlaybookFile.model_validate(data)
        except ValidationError as error:
            found = error.errors(include_url=False)
            # A list whose items are all at fault counts as too short for the validator; its items are told.
            faults += [_fault(file, item) for item in found if item["type"] != "too_short" or not item["input"]]
        if book is not None:
            faults += [*_beyond(file, book, included)]
        if faults or refused or book is None:
            # Of one place the first word counts: a reference that names nothing is no number either.
            first = {(f.line, f.column, f.key): f for f in reversed(faults)}
            said = [refusal(str(path), first.values()).message] if faults else []
            raise UsageError("\n".join([*said, *refused]), next_step="docs/playbooks.md explains the format")
        return _resolved(book, included)

    def _included(self, file: YamlFile, above: tuple[Path, ...]) -> tuple[dict[int, Playbook], list[Fault], list[str]]:
        """The playbooks that steps name, by the step's index; faults of the steps, and what was said of those files."""
        books: dict[int, Playbook] = {}
        faults: list[Fault] = []
        refused: list[str] = []
        chain = (*above, whole_path(file.path))
        for index, step in _items(file.data.get("steps") if isinstance(file.data, dict) else None):
            name = step.get("include") if isinstance(step, dict) else None
            if not isinstance(name, str):
                continue
            place: Place = ("steps", index, "include")
            try:
                other = whole_path(name, under=file.path.parent)
            except UsageError as failure:
                faults.append(_at(file, place, failure.message))
                continue
            if other in chain or len(chain) > DEEPEST:
                why = "includes itself" if other in chain else f"more than {DEEPEST} files deep"
                faults.append(_at(file, place, f"{name}: {why}"))
            elif not is_there(other):
                faults.append(_at(file, place, f"there is no file {other}"))
            else:
                try:
                    books[index] = self._with_values(file, index, step, other, chain)
                except _Misfit as misfit:
                    faults += misfit.faults
                except UsageError as error:
                    refused.append(error.message)
        return books, faults, list(dict.fromkeys(refused))

    def _with_values(
        self, file: YamlFile, index: int, step: dict[str, Any], other: Path, chain: tuple[Path, ...]
    ) -> Playbook:
        given = step.get("values")
        scalars = (
            {k: v for k, v in given.items() if isinstance(v, bool | int | float | str)}
            if isinstance(given, dict)
            else {}
        )
        defaults = declared(_read(other).data)
        faults = [_at(file, ("steps", index, "values", name), why) for name, why in _misfits(defaults, scalars).items()]
        if faults:
            raise _Misfit(faults)
        return self.load(other, scalars, chain)


class _Misfit(Exception):
    """Values of an include step that the included file does not take."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__()
        self.faults = faults


def _misfits(defaults: Mapping[str, Scalar], given: Mapping[str, Scalar]) -> dict[str, str]:
    """What is wrong with given values, by their names."""
    wrong: dict[str, str] = {}
    for name, value in given.items():
        if name not in defaults:
            wrong[name] = unknown_word("parameter", name, list(defaults))
            continue
        try:
            of_kind(defaults[name], value)
        except WrongValue as error:
            wrong[name] = str(error)
    return wrong


def _valued(path: Path, file: YamlFile, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The parameters of a file with the given values. Raises UsageError for those that it does not take."""
    defaults = declared(file.data)
    wrong = _misfits(defaults, given)
    if wrong:
        told = "\n".join(f"  {name}  {why}" for name, why in wrong.items())
        raise UsageError(f"{path}: these values do not fit its parameters:\n{told}", next_step="see its parameters")
    return {name: of_kind(default, given.get(name, default)) for name, default in defaults.items()}


def _labels(book: Playbook) -> list[str]:
    return [step.relaunch for step in book.steps if isinstance(step, RelaunchStep)]


def _beyond(file: YamlFile, book: PlaybookFile, included: Mapping[int, Playbook]) -> Iterator[Fault]:
    """Included playbooks that need more than this one says that it may do."""
    tiers = ("read", "load", "restart")
    for index, other in included.items():
        if tiers.index(other.allow) > tiers.index(book.allow):
            yield _at(file, ("steps", index, "include"), f"needs allow: {other.allow}, and the head says {book.allow}")


def _resolved(book: PlaybookFile, included: Mapping[int, Playbook]) -> Playbook:
    """The playbook that a file comes to; of an included one steps and expectations count, not its head."""
    steps: list[Step] = []
    for index, step in enumerate(book.steps):
        steps += included[index].steps if isinstance(step, IncludeStep) else [step]
    own = book.model_dump(exclude={"parameters", "steps", "expect"})
    expect = (*(e for other in included.values() for e in other.expect), *book.expect)
    return Playbook(**{**own, "steps": tuple(steps), "expect": expect})


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
    model: type[Frozen] | None = PlaybookFile
    kinds: dict[str, type[Frozen]] | None = None
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        if kinds is not None:
            model, kinds = kinds.get(part), None
        elif model is not None:
            kinds = {"steps": STEPS, "expect": EXPECTATIONS}.get(part) if model is PlaybookFile else None
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


def _named(file: YamlFile, checks: Sequence[str], elsewhere: Sequence[str]) -> Iterator[Fault]:
    """Names that nothing has: checks, and launches that no step makes, here or `elsewhere` in an included file."""
    if not isinstance(file.data, dict):
        return
    steps = [s for s in _items(file.data.get("steps")) if isinstance(s[1], dict)]
    labels = [AS_FOUND, *elsewhere, *(str(s["relaunch"]) for _, s in steps if isinstance(s.get("relaunch"), str))]
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
            own: list[Place] = [("steps", i, "relaunch") for i, s in reversed(steps) if s.get("relaunch") == label]
            yield _at(file, own[0] if own else ("steps",), f'the label "{label}" is already taken')
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
