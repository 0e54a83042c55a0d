"""How each engine is asked for an answer in a form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdoctor.remote.parts.request_forms import request_for

SCHEMA = '{"type": "object"}'
OPENAI = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("engine", "form", "place", "said"),
    [
        ("sglang", "generate", ("sampling_params", "json_schema"), SCHEMA),
        ("sglang", "chat", ("response_format",), OPENAI),
        ("vllm", "generate", ("response_format",), OPENAI),
        ("vllm", "chat", ("response_format",), OPENAI),
        ("llamacpp", "generate", ("json_schema",), {"type": "object"}),
    ],
)
def test_a_schema_goes_where_the_engine_looks_for_it(engine: str, form: str, place: tuple[str, ...], said: Any) -> None:
    plan = {"engine": engine, "form": form, "max_new_tokens": 8, "temperature": 0.0, "model": "m"}
    found: Any = request_for({**plan, "json_schema": SCHEMA}, "x", {})[1]
    for key in place:
        found = found[key]
    assert found == said
    assert "schema" not in json.dumps(request_for(plan, "x", {})[1])
