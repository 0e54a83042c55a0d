"""`specdoctor bench` in a process of its own, against a server of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remote.workplace import Workplace, opened

SPEC = ("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3", "--fake-step-s", "0.002")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    yield from opened(tmp_path)


def specdoctor(place: Workplace, *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the document, standard error."""
    env = {**os.environ, "HOME": str(place.root)}
    argv = [sys.executable, "-m", "specdoctor", *words, "--json"]
    ran = subprocess.run(argv, cwd=place.root, env=env, capture_output=True, text=True, timeout=110, check=False)
    return ran.returncode, json.loads(ran.stdout or "{}"), ran.stderr


def asked(port: int) -> list[str]:
    words = ["bench", "local:", "--allow", "load", "--server-port", str(port), "--requests", "4"]
    return [*words, "--prompts", "short", "--max-new-tokens", "40"]


def test_a_server_is_measured_and_the_document_can_be_compared(place: Workplace) -> None:
    server = place.start(*SPEC)
    code, found, said = specdoctor(place, *asked(server.port))
    assert code == 0, said
    assert (found["schema"], found["interrupted"]) == ("specdoctor.bench/1", False)
    (load,) = found["loads"]
    (block,) = load["blocks"]
    assert (block["requests"], block["failed"]) == (4, 0)
    assert block["throughput"]["value"] > 0
    assert "raw prompts" in block["throughput"]["estimator"]
    assert block["figures"]["tokens_per_chunk"] > 1
    assert any("truncated" in flag for flag in block["flags"])
    (place.root / "bench.json").write_text(json.dumps(found))
    _, compared, _ = specdoctor(place, "compare", "bench.json", "bench.json")
    assert (compared["schema"], compared["suspects"]) == ("specdoctor.compare/1", [])


def test_two_servers_take_turns(place: Workplace) -> None:
    fast, slow = place.start(*SPEC), place.start(*SPEC[:-1], "0.02")
    code, found, said = specdoctor(place, *asked(fast.port), "--against-port", str(slow.port))
    assert code == 0, said
    (load,) = found["loads"]
    assert load["verdict"] == "worse"
    assert load["ratio"]["high"] < 1.0
    assert len(load["first"]) == len(load["second"]) >= 3
