"""The JSON schema says what the reader takes, for the keys that editors complete."""

from __future__ import annotations

import json
from typing import Any

from specdoctor.planners.playbook_json import playbook_schema
from specdoctor.planners.playbook_schema import EXPECTATIONS, STEPS, PlaybookFile


def test_every_key_of_the_format_is_in_the_schema() -> None:
    schema = playbook_schema()
    assert set(schema["properties"]) == set(PlaybookFile.model_fields)
    assert schema["required"] == ["title", "steps"]
    for model in (*STEPS.values(), *EXPECTATIONS.values()):
        definition = schema["$defs"][model.__name__]
        assert set(definition["properties"]) == set(model.model_fields)
        assert definition["additionalProperties"] is False
    json.dumps(schema)


def test_a_parameter_may_stand_for_a_number() -> None:
    schema = playbook_schema()
    steps = schema["$defs"]["Change"]["properties"]["draft_steps"]
    assert {form["type"] for form in steps["anyOf"]} == {"integer", "null", "string"}
    assert schema["$defs"]["RecordedFigure"]["properties"]["value"]["type"] == "number", "a record holds none"


def test_a_word_may_stand_for_a_list_of_one() -> None:
    check: dict[str, Any] = playbook_schema()["$defs"]["CheckStep"]["properties"]["check"]
    assert [form["type"] for form in check["anyOf"]] == ["string", "array"]
