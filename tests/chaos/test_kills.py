"""Kill -9 at random moments over worlds and planners: the run that is resumed comes to the same verdict."""

from __future__ import annotations

import importlib
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from specdoctor.core import events as ev
from specdoctor.core.ledger import Ledger
from specdoctor.lab.world import World
from tests.app.test_worlds import OWN_SERVERS
from tests.chaos.killing import Blow, Controllers
from tests.chaos.rounds import SEEDS
from tests.planners.model_server import ModelServer, Script
from tests.planners.scripts import good, looping, repeating, sloppy

PLANNERS: dict[str, tuple[Literal["rules", "llm", "auto"], Script | None]] = {
    "rules": ("rules", None),
    "a good model": ("llm", good),
    "a sloppy model": ("llm", sloppy(0)),
    "a model in circles": ("llm", looping),
    "a model that repeats itself": ("llm", repeating),
    "a good model, seldom asked": ("auto", good),
}
QUICK = ("graphs-off-by-flag", "power-capped")
WORLDS = sorted(OWN_SERVERS, key=lambda name: (name not in QUICK, name))
"""The first ones are quick to play."""
IN_A_ROW = 5
"""Rounds of one world: what it comes to undisturbed is found out once."""
MOST_KILLS = 3
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def conclusion(ledger: Ledger) -> dict[str, Any]:
    """Without figures, and without rivals that rest on figures near their threshold."""
    assert ledger.verdict is not None
    return {
        "verdict": ledger.verdict.verdict,
        "causes": sorted((c.cause or "", c.role) for c in ledger.verdict.causes if c.status == "supported"),
        "restored": ledger.restored,
    }


@cache
def undisturbed(name: str) -> tuple[dict[str, Any], int, int]:
    """What the rules alone come to, unkilled: conclusion, exit code, and about how often they ask the host."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        alone = Controllers(World.from_yaml(name), Path(folder))
        code = alone.drive_here()
        return conclusion(alone.ledger), code, len(alone.events) * 3 // 2


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What is imported late is there for all forks."""
    importlib.import_module("openai")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A disk would be waited for at each event, and what is killed here is a process, not the machine."""
    with TemporaryDirectory(dir=IN_MEMORY) as name:
        yield Path(name)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_run_comes_to_the_same_verdict(seed: int, folder: Path) -> None:
    source = random.Random(f"kills {seed}")
    name, planner = WORLDS[(seed - 1) // IN_A_ROW % len(WORLDS)], list(PLANNERS)[seed % len(PLANNERS)]
    mode, script = PLANNERS[planner]
    wanted, wanted_code, questions = undisturbed(name)
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(script)) if script is not None else None
        played = Controllers(World.from_yaml(name), folder, mode=mode, server=server)
        code: int | None = None
        for _ in range(source.randint(1, MOST_KILLS)):
            code = played.drive(Blow.chosen(source, questions))
            if code is not None:
                break
        if code is None:
            code = played.drive(None)
        asked = len(server.asked) if server is not None else 0
    told = f"{name}, {planner}: {played.story}"
    sys.stdout.write(told)
    assert not played.failure, (told, played.failure)
    ledger = played.ledger
    assert (code, conclusion(ledger)) == (wanted_code, wanted), told
    check_nothing_twice(played, ledger, told)
    if mode == "llm":
        assert ledger.settings.endpoint is not None
        assert ledger.model_tokens <= ledger.settings.endpoint.max_tokens
        # A question whose answer was lost in a kill is asked again; a failed one is tried up to three times.
        assert len(ledger.model_calls) <= asked <= 3 * (len(ledger.model_calls) + MOST_KILLS), told


def check_nothing_twice(played: Controllers, ledger: Ledger, told: str) -> None:
    kept = played.events
    starts = Counter(e.action for e in kept if isinstance(e, ev.ActionStarted))
    ends = Counter(e.action for e in kept if isinstance(e, ev.ActionEnded))
    assert set(starts.values()) <= {1}, told
    assert ends == starts, told
    launches = [e.change.key for e in kept if isinstance(e, ev.ServerRelaunched) and e.outcome.status == "ready"]
    assert len(set(launches)) == len(launches), (told, launches)
    assert played.host.starts == ledger.restarts, told
    assert ledger.restarts <= ledger.settings.max_restarts, told
