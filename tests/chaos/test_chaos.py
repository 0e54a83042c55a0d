"""Seeded rounds of kills and link cuts in all phases; `make chaos ROUNDS=n` plays more of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.chaos import SCALE, Link, Round
from tests.e2e.client import Client
from tests.e2e.practice import Practice

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "10"))
WORLD = os.environ.get("CHAOS_WORLD", "secret-in-argv")
FIRST = int(os.environ.get("CHAOS_FIRST", "1"))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    practice = Practice(WORLD, tmp_path_factory.mktemp("chaos") / "host", scale=SCALE).await_up()
    yield practice
    practice.stop()


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "client")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + ROUNDS))
def test_the_original_is_back_and_nothing_is_left(seed: int, host: Practice, client: Client, tmp_path: Path) -> None:
    link = Link(host, tmp_path / "link")
    played = Round(seed, host, client, link, WORLD)
    try:
        played.play()
    finally:
        link.close()
        sys.stdout.write("\n".join(played.story))
