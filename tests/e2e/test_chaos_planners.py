"""Seeded rounds of kill -9 over planners: whoever proposes, the run that is resumed comes to the same verdict.

CHAOS_ROUNDS and CHAOS_FIRST choose the seeds, as for the other rounds of chaos.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from specdoctor.core.events import event_from_json
from specdoctor.core.ledger import Ledger, fold
from tests.e2e.client import Client, Command, Ended
from tests.e2e.practice import Practice, check_put_back, eventually
from tests.planners.model_server import ModelServer, Script
from tests.planners.scripts import good, looping, sloppy

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "5"))
FIRST = int(os.environ.get("CHAOS_FIRST", "1"))
WORLD = "graphs-off-by-flag"
ASKED = ("--symptom", "EAGLE-3 is slower than without", "--allow", "restart", "--requests", "6", "--grace", "60")
"""A grace that no resume exceeds: what the guard does is the matter of other rounds."""
PLANNERS: dict[str, tuple[str, Script | None]] = {
    "rules": ("rules", None),
    "a good model": ("llm", good),
    "a sloppy model": ("llm", sloppy(0)),
    "a model in circles": ("llm", looping),
    "a good model, seldom asked": ("auto", good),
}
EVENTS = 110
"""About as many as a run has: the moments of the kills are spread over them."""
MOST_KILLS = 3
BUSY_S = 400.0


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    practice = Practice(WORLD, tmp_path_factory.mktemp("planners") / "host").await_up()
    yield practice
    practice.stop()


@pytest.fixture(scope="module")
def undisturbed(host: Practice, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the rules alone conclude when nobody kills them."""
    client = Client(tmp_path_factory.mktemp("undisturbed") / "client")
    ended = client.run("investigate", *host.target, *ASKED, "--json", within_s=BUSY_S)
    assert ended.code == 0, ended.err
    return conclusion(ended.document)


def conclusion(document: dict[str, Any]) -> dict[str, Any]:
    """Without figures, and without rivals that rest on figures near their threshold."""
    return {
        "verdict": document["verdict"],
        "causes": sorted((c["cause"], c["role"]) for c in document["causes"] if c["status"] == "supported"),
        "restored": document["restored"],
    }


@dataclass
class Round:
    """One run that is killed up to three times, and gone on with each time."""

    seed: int
    host: Practice
    client: Client
    story: list[str] = field(default_factory=list)

    def play(self, planner: str, server: ModelServer | None) -> Ended:
        source = random.Random(f"planners {self.seed}")
        moments = sorted(source.randint(3, EVENTS) for _ in range(source.randint(1, MOST_KILLS)))
        self.story.append(f"{planner}, killed at {moments} events")
        words: tuple[str, ...] = ("investigate", *self.host.target, *ASKED)
        if server is not None:
            self.client.besides |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-of-the-tests-0123456789"}
            words = (*words, "--planner", PLANNERS[planner][0], "--model", "scripted")
        for moment in moments:
            command = self.client.start(*words, "--json")
            over = self.await_moment(command, moment)
            assert over, command.said
            time.sleep(source.choice((0.0, 0.0, source.uniform(0.0, 1.0))))
            if command.process.poll() is not None:
                self.story.append(f"it had ended before {moment} events")
                return command.end()
            command.kill()
            if self.client.transcripts:
                words = ("investigate", "--resume", self.client.run_id, "--ssh-config", str(self.host.config))
        return self.client.run(*words, "--json", within_s=BUSY_S)

    def await_moment(self, command: Command, moment: int) -> bool:
        """Whether the run has so many events in time, or has come to its end."""
        return eventually(
            lambda: len(self.client.events()) >= moment or command.process.poll() is not None, within_s=BUSY_S
        )

    @property
    def ledger(self) -> Ledger:
        """The run as its transcript tells it; folding refuses what happened twice."""
        text = (self.client.transcripts[0] / "events.jsonl").read_text(encoding="utf-8")
        return fold(event_from_json(line) for line in text.splitlines())


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + ROUNDS))
def test_a_killed_run_comes_to_the_same_verdict(
    seed: int, host: Practice, client: Client, undisturbed: dict[str, Any]
) -> None:
    planner = list(PLANNERS)[seed % len(PLANNERS)]
    script = PLANNERS[planner][1]
    found, files = host.running(), host.files_at_home()
    played = Round(seed, host, client)
    try:
        if script is None:
            ended = played.play(planner, None)
            asked = 0
        else:
            with ModelServer(script) as server:
                ended, asked = played.play(planner, server), len(server.asked)
    finally:
        sys.stdout.write("\n".join(played.story))
    assert ended.code == 0, (played.story, ended.err)
    assert conclusion(ended.document) == undisturbed, played.story
    ledger = played.ledger
    made = Counter(r.change.key for r in ledger.relaunches if r.outcome.status == "ready")
    assert all(count == 1 for count in made.values()), (played.story, made)
    assert len({r.outcome.action for r in ledger.relaunches}) == len(ledger.relaunches), played.story
    assert ledger.restarts <= ledger.settings.max_restarts
    if script is not None:
        assert ledger.model_calls or PLANNERS[planner][0] == "auto", "it was asked"
        assert ledger.settings.endpoint is not None
        assert ledger.model_tokens <= ledger.settings.endpoint.max_tokens
        # A question whose answer was lost in a kill is asked again; a failed one is tried up to three times.
        assert len(ledger.model_calls) <= asked <= 3 * (len(ledger.model_calls) + MOST_KILLS), played.story
        for call, times in Counter((c.knew, c.why) for c in ledger.model_calls if c.outcome == "used").items():
            assert times == 1, f"asked twice about the same: {call}"
    check_put_back(host, found, files)
