"""Each test has a home of its own, so none reads the keys or settings of the person who runs it."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import platformdirs
import pytest


def test_home_is_empty_and_not_the_real_one(home: Path) -> None:
    assert Path.home() == home
    assert Path("~/.ssh").expanduser() == home / ".ssh"
    assert list(home.iterdir()) == []
    assert home != Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_test_sees_the_home_of_another(home: Path, turn: str) -> None:
    assert not (home / "mark").exists()
    (home / "mark").write_text(turn)


def test_settings_and_state_are_under_it(home: Path) -> None:
    for path in (platformdirs.user_config_path("specdoctor"), platformdirs.user_state_path("specdoctor")):
        assert path.is_relative_to(home)


def test_no_agent_and_no_key_is_in_the_environment() -> None:
    assert not {"SSH_AUTH_SOCK", "OPENAI_API_KEY"} & os.environ.keys()
    assert not [name for name in os.environ if name.startswith("SPECDOCTOR_")]


@pytest.fixture(scope="module")
def home_of_module() -> Path:
    return Path.home()


def test_fixtures_of_a_wider_scope_see_an_empty_home_too(home_of_module: Path, session_home: Path) -> None:
    assert home_of_module == session_home
    assert list(home_of_module.iterdir()) == []
