"""Rounds of chaos take long and mostly wait: they begin before all other tests, in two files that run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.rounds import WORLD
from tests.e2e.chaos import SCALE
from tests.e2e.client import Client
from tests.e2e.practice import Practice

HERE = Path(__file__).parent
TEST_S = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.is_relative_to(HERE))
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(TEST_S))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    practice = Practice(WORLD, tmp_path_factory.mktemp("chaos") / "host", scale=SCALE).await_up()
    yield practice
    practice.stop()


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "client")
