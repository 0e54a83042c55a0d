"""Seeded rounds of kills and link cuts in all phases; `make chaos ROUNDS=n` plays more of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.e2e.chaos import Link, Round
from tests.e2e.client import Client
from tests.e2e.practice import Practice

WORLD = os.environ.get("CHAOS_WORLD", "secret-in-argv")
FIRST = int(os.environ.get("CHAOS_FIRST", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("CHAOS_ROUNDS", "10")))


def play(seed: int, host: Practice, client: Client, folder: Path) -> None:
    """One round; fails where the original is not back or something is left."""
    link = Link(host, folder / "link")
    played = Round(seed, host, client, link, WORLD)
    try:
        played.play()
    finally:
        link.close()
        sys.stdout.write("\n".join(played.story))
