"""A watchdog beside the server that no script shows: the run gives way, and says who."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.client import Client
from tests.e2e.practice import Practice, Server, eventually

ASKED = ("--symptom", "EAGLE-3 makes it slower than without speculation", "--allow", "restart", "--requests", "6")


def start_as_found(lab: Practice, found: Server, exe: str) -> subprocess.Popen[bytes]:
    pairs = (os.fsdecode(word).partition("=")[::2] for word in found.environment if word)
    with lab.server_log.open("ab") as log:
        return subprocess.Popen(
            found.argv,
            executable=exe,
            cwd=found.cwd,
            env=dict(pairs),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


@contextmanager
def watchdog(lab: Practice, found: Server) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Whoever starts the server again as soon as the one that was found has ended, and again when that ends."""
    exe, over = str(Path(f"/proc/{found.pid}/exe").readlink()), threading.Event()
    made: list[subprocess.Popen[bytes]] = []

    def watch() -> None:
        while not over.wait(0.2):
            watched = made[-1].poll() is None if made else Path(f"/proc/{found.pid}/exe").exists()
            if not watched:
                made.append(start_as_found(lab, found, exe))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield made
    finally:
        over.set()
        thread.join()
        for process in made:
            process.kill()
            process.wait()


def test_a_watchdog_that_nothing_shows_is_not_fought(lab: Practice, client: Client) -> None:
    found = lab.running()
    with watchdog(lab, found) as made:
        ended = client.run("investigate", *lab.target, *ASKED, "--json")
        assert ended.code == 5, ended.err
        assert len(made) == 1, "it was left alone"
        assert made[0].poll() is None
        assert eventually(lab.healthy, within_s=30.0)
        assert lab.running().pid == made[0].pid, "and nothing of the run's runs beside it"
        assert ended.document["restored"] is False
        (reached,) = (event for event in client.events() if event["kind"] == "verdict.reached")
        state = dict(reached["lines"])["server"]
        assert state.startswith("up, NOT put back by specdoctor: somebody else has started the server too"), state
        assert f"as process {made[0].pid} (" in state
        assert "as it was (" not in ended.out
        begun = [event for event in client.events() if event["kind"] == "server.relaunched"]
        assert len(begun) == 1
        assert begun[0]["outcome"]["status"] == "undone"
        assert not list((lab.home / ".local").rglob("way_back.json"))
    lab.stop()
