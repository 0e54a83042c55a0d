"""A second installation of the engine: one place, and the launch that runs from it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from specdoctor.core.install import OtherInstall, install_change

ARGV = ("python3", "-m", "sglang.launch_server", "--tp", "8")


def test_another_image_changes_nothing_but_the_image() -> None:
    change = install_change(OtherInstall(label="old", image="lmsysorg/sglang:v0.5.11"), argv=ARGV, env={"PATH": "/bin"})
    assert change.image == "lmsysorg/sglang:v0.5.11"
    assert change.other_software
    assert not change.is_original
    assert change.key == "image=lmsysorg/sglang:v0.5.11"
    assert (change.words, change.set_env, change.set_flags) == ({}, {}, {})


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "name one of venv, checkout and image"),
        ({"venv": "/v", "image": "a:b"}, "name one of venv, checkout and image"),
        ({"venv": "v"}, "not an absolute path"),
        ({"image": "--privileged"}, "image"),
        ({"image": "a b"}, "image"),
        ({"image": "a;b"}, "image"),
    ],
)
def test_faults_are_told(given: dict[str, str], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        OtherInstall(**given)
