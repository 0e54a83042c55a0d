"""Hypothesis strategies for events, built from the fields of the models, so that a new field is covered at once."""

from __future__ import annotations

import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, FiniteFloat, JsonValue
from pydantic.fields import FieldInfo

from specdoctor.core import events as ev
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.estimate import Estimate
from specdoctor.core.install import OtherInstall
from specdoctor.core.server import ARGS_PLACE, LifecycleCommands
from specdoctor.core.turns import Turns
from specdoctor.core.wishes import CheckWish, Foretelling, LaunchWish

text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
number = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    low, value, high = sorted(draw(st.tuples(number, number, number)))
    units = get_args(Estimate.model_fields["unit"].annotation)
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit=draw(st.sampled_from(units)),
        estimator=draw(text.filter(bool)),
        n=draw(st.none() | st.integers(1, 1000)),
    )


_word = st.text(min_size=1, max_size=12).filter(lambda text: ARGS_PLACE not in text)
lifecycle_commands = st.builds(
    LifecycleCommands,
    start=_word.map(lambda text: f"{text} {ARGS_PLACE}"),
    stop=_word,
    status=st.none() | _word,
)


turns = st.builds(Turns, starts=st.integers(1, 12), off=st.just(True))
endpoint = st.builds(
    Endpoint,
    model=_word,
    base_url=st.none() | st.just("http://localhost:8000/v1"),
    max_cost=st.none() | st.floats(0, 100),
    price_in=st.floats(0, 100),
    price_out=st.floats(0, 100),
)
launch_wish = st.builds(
    LaunchWish, draft_steps=st.none() | st.integers(1, 32), topk=st.none() | st.integers(1, 16), draft_tokens=st.none()
)
foretelling = st.builds(
    Foretelling,
    metric=st.just("accept_length"),
    op=st.sampled_from([">=", "<"]),
    value=st.floats(0.01, 1e6),
    launch=st.none() | launch_wish,
)
check_wish = st.builds(CheckWish, check=text, seconds=st.none() | st.floats(1, 30), concurrency=st.none())
_path = text.map(lambda rest: f"/{rest}")
other_install = st.builds(OtherInstall, label=text, venv=_path) | st.builds(OtherInstall, label=text, checkout=_path)


def of_type(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of an annotation as the models use it."""
    if annotation is JsonValue:
        return json_value
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, types.UnionType):
        return st.one_of([of_type(a) for a in args])
    if origin is tuple:
        if args[-1] is Ellipsis:
            return st.lists(of_type(args[0]), max_size=3).map(tuple)
        return st.tuples(*(of_type(a) for a in args))
    if origin is dict:
        return st.dictionaries(of_type(args[0]), of_type(args[1]), max_size=3)
    simple: dict[object, st.SearchStrategy[Any]] = {
        str: text,
        int: st.integers(-(2**53), 2**53),
        float: number,
        FiniteFloat: number,
        bool: st.booleans(),
        type(None): st.none(),
        Estimate: estimates(),
        Endpoint: endpoint,
        Turns: turns,
        LaunchWish: launch_wish,
        Foretelling: foretelling,
        CheckWish: check_wish,
    }
    if annotation in simple:
        return simple[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(list(annotation))
    if annotation is OtherInstall:
        return other_install
    if annotation is LifecycleCommands:
        return lifecycle_commands
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return of_model(annotation)
    raise AssertionError(f"no strategy for {annotation!r}")


def of_field(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Values of a field; its default often, which keeps examples small."""
    if field.is_required():
        return of_type(field.annotation)
    return st.just(field.get_default(call_default_factory=True)) | of_type(field.annotation)


def of_model(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Instances of a model. Deferred, so that models may hold models."""
    return st.deferred(
        lambda: st.fixed_dictionaries({name: of_field(f) for name, f in model.model_fields.items()}).map(
            lambda fields: model(**fields)
        )
    )


EVENT_TYPES: tuple[type[BaseModel], ...] = get_args(get_args(ev.Event)[0])
events = st.one_of([of_model(t) for t in EVENT_TYPES])
