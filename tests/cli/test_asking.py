"""Which language model a run may ask: never one that nobody named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdoctor.cli.asking import asked_model, profiles_of, said_of
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.errors import UsageError

HERE = {"OPENAI_BASE_URL": "http://localhost:8000/v1"}
KEY = {"OPENAI_API_KEY": "sk-0123456789abcdef0123"}
LOCAL = Endpoint(model="qwen3", base_url="http://gpu-7:8000/v1", max_tokens=9_000)


def asked(profiles: dict[str, Endpoint] | None = None, environment: dict[str, str] | None = None, **given: Any) -> Any:
    return asked_model(given, profiles or {}, environment=environment or {})


@pytest.mark.parametrize("environment", [{}, HERE, KEY, HERE | KEY])
def test_a_key_in_the_environment_is_no_word_to_ask(environment: dict[str, str]) -> None:
    assert asked(environment=environment) == {}
    assert asked(environment=environment, planner="rules") == {}
    assert asked({"local": LOCAL}, environment) == {}


def test_a_model_by_its_name_is_asked_at_the_address_of_the_environment() -> None:
    settings = asked(environment=HERE, model="qwen3")
    assert settings["planner"] == "auto"
    assert settings["endpoint"] == Endpoint(model="qwen3", base_url=HERE["OPENAI_BASE_URL"])
    assert asked(environment=KEY, model="gpt", planner="llm")["endpoint"].base_url is None


def test_a_profile_is_asked_by_its_name_and_the_one_named_default_without_a_word() -> None:
    named = asked({"local": LOCAL}, model="local", max_tokens=5_000)
    assert named["endpoint"] == LOCAL.model_copy(update={"max_tokens": 5_000})
    assert asked({"default": LOCAL}) == {"planner": "auto", "endpoint": LOCAL}
    assert asked({"default": LOCAL}, planner="llm")["planner"] == "llm"
    assert asked({"default": LOCAL}, planner="rules") == {}
    assert asked({"default": Endpoint(model="gpt")}) == {}, "where nobody can be asked, the rules stay"


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ({"planner": "llm"}, HERE, "none is named"),
        ({"planner": "auto", "model": "gpt"}, {}, "neither OPENAI_BASE_URL nor OPENAI_API_KEY is set"),
        ({"model": "gpt", "max_cost": 1.0}, HERE, "needs price_in and price_out"),
        ({"model": "gpt"}, {"OPENAI_BASE_URL": "http://me:hunter2@host/v1"}, "holds a password"),
        ({"planner": "rules", "model": "gpt"}, HERE, "the rules ask none"),
        ({"max_tokens": 5}, HERE, "--max-tokens says which model"),
    ],
)
def test_what_cannot_be_asked_is_told(given: dict[str, Any], environment: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        asked(None, environment, **given)
    assert "hunter2" not in str(refused.value)


def test_profiles_stand_in_the_targets_file_and_their_faults_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "specdoctor.toml"
    file.write_text('[profiles.default]\nmodel = "qwen3"\nbase_url = "http://gpu-7:8000/v1"\nprice_in = 0.1\n')
    assert profiles_of(file)["default"].price_in == 0.1
    file.write_text('[profiles.default]\nmodel = "qwen3"\nbase_ulr = "http://gpu-7:8000/v1"\n')
    with pytest.raises(UsageError, match=r'3:1\s+profiles.default.base_ulr\s+unknown key "base_ulr".*"base_url"'):
        profiles_of(file)


def test_it_is_said_where_briefs_go() -> None:
    assert said_of({"planner": "auto", "endpoint": LOCAL}) == (
        "specdoctor: briefs of what is read go to qwen3 at http://gpu-7:8000/v1 (auto)"
    )
    assert said_of({}) == ""
