"""The wheel has all that an installed specdoctor needs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return zipfile.ZipFile(path)


def files_below(folder: str, pattern: str = "*") -> list[Path]:
    return [
        path.relative_to(ROOT)
        for path in sorted((ROOT / folder).rglob(pattern))
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_every_file_of_the_package_is_shipped(wheel: zipfile.ZipFile) -> None:
    expected = {str(path) for path in files_below("specdoctor")}
    assert "specdoctor/py.typed" in expected
    assert expected - set(wheel.namelist()) == set()


@pytest.mark.parametrize(
    ("folder", "pattern"), [("specdoctor/remote", "*.py"), ("specdoctor/lab/worlds", "*.yaml")], ids=str
)
def test_data_that_code_opens_by_name_is_shipped(wheel: zipfile.ZipFile, folder: str, pattern: str) -> None:
    expected = {str(path) for path in files_below(folder, pattern)}
    assert expected
    assert expected <= set(wheel.namelist())


def test_playbooks_are_shipped_inside_the_package(wheel: zipfile.ZipFile) -> None:
    expected = {f"specdoctor/{path}" for path in files_below("playbooks")}
    assert expected
    assert expected <= set(wheel.namelist())


def test_nothing_else_is_shipped(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"specdoctor"}


def test_metadata_names_command_and_licence(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert "specdoctor = specdoctor.cli.main:run" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "License-Expression: Apache-2.0" in wheel.read(f"{info}/METADATA").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
