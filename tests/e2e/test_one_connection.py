"""Reading costs one remote command, however much is judged by what it brought."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.assembly.catalogue import all_checks
from specdoctor.lab.boot import boot
from specdoctor.lab.host import PracticeHost
from tests.e2e.client import Client
from tests.lab.host_world import small_world

CHECKS = 50
MOST_COMMANDS = 2


@pytest.fixture
def host(tmp_path: Path) -> Iterator[PracticeHost]:
    """A practice host in this process, whose SSH server can be listened to."""
    with PracticeHost(small_world(), state_dir=tmp_path / "host") as started:
        boot(started)
        yield started


def playbook_of(checks: int) -> str:
    """A playbook that runs one check after the other, each a step of its own."""
    names = [check.name for check in all_checks()]
    steps = [f"  - check: {names[i % len(names)]}" for i in range(checks)]
    head = ["title: Many checks", "about: Judges the same facts many times.", "allow: read", "steps:"]
    tail = ["expect:", "  - verdict: [not-enough-evidence, cause, healthy]"]
    return "\n".join([*head, *steps, *tail])


def test_fifty_checks_take_at_most_two_commands(
    host: PracticeHost, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    (client.work / "many.yaml").write_text(playbook_of(CHECKS))
    caplog.set_level(logging.INFO, logger="asyncssh")
    ended = client.run("replay", "many.yaml", "--target", "ssh://lab", "--ssh-config", str(host.ssh_config))
    assert ended.code == 0, ended.err
    judged = [e for e in client.events() if e["kind"] == "evidence.recorded" and e["source"].startswith("check ")]
    assert len(judged) >= CHECKS
    said = [record.getMessage() for record in caplog.records]
    connections = [line for line in said if "Accepted SSH client connection" in line]
    sessions = [line for line in said if "New SSH session requested" in line]
    commands = [line for line in said if "Command: " in line]
    assert len(connections) == 1
    assert 1 <= len(commands) <= len(sessions) <= MOST_COMMANDS, commands
