"""The rounds of even seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.rounds import SEEDS, play
from tests.e2e.client import Client
from tests.e2e.practice import Practice


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed % 2 == 0])
def test_the_original_is_back_and_nothing_is_left(seed: int, host: Practice, client: Client, tmp_path: Path) -> None:
    play(seed, host, client, tmp_path)
