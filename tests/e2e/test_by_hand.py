"""Servers that specdoctor does not restart: its line is pasted, and the resumed run goes on with what it finds."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, eventually

ASKED = ("--symptom", "slower with EAGLE-3 than without", "--requests", "4", "--json")
UP_S = 60.0


def on_host(practice: Practice, line: str) -> subprocess.CompletedProcess[str]:
    """A line as somebody logged in on the host would paste it."""
    argv = ["ssh", "-F", str(practice.config), "lab", line]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("world", ["in-slurm", "in-kubernetes", "two-nodes"])
def test_a_pasted_line_is_recognised_and_measured(world: str, tmp_path: Path) -> None:
    practice = Practice(world, tmp_path / "host").await_up()
    try:
        client = Client(tmp_path / "client")
        found = practice.running()
        first = client.run("investigate", *practice.target, *ASKED, "--allow", "restart")
        assert "investigate --resume" in first.err, first.err
        left = first.document["by_hand"]
        assert left, first.document
        assert practice.running().argv == found.argv, "nothing was touched"

        pasted = on_host(practice, left[0]["start"])
        assert pasted.returncode == 0, (left[0]["start"], pasted.stdout, pasted.stderr)
        assert eventually(lambda: _other(practice, found.argv) and _answers(practice), within_s=UP_S)

        again = client.run("investigate", "--resume", first.document["run"], "--allow", "load", "--json")
        document = again.document
        measured = [m["launch_key"] for m in document["measurements"] if m["source"] == "bench"]
        assert left[0]["launch_key"] in measured, (document["measurements"], again.err)
        assert document["cost"]["restarts"] == 0
    finally:
        practice.stop()


def _other(practice: Practice, argv: tuple[str, ...]) -> bool:
    server = practice.server()
    return server is not None and server.argv != argv


def _answers(practice: Practice) -> bool:
    argv = practice.running().argv
    port = argv[argv.index("--port") + 1]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
