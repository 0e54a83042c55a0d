"""Playbooks from the command line: expectations decide the exit code, faults are told before anything is tried."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import Practice, check_put_back

LADDER = Path(__file__).parents[2] / "playbooks" / "eagle3-slower-than-baseline.yaml"
THREE_FAULTS = """\
title: Three faults
about: Each is in a line of its own.
allow: everything
steps:
  - check: layer-wirings
  - bench: as found
expect:
  - metric: throughput
    of: as found
    op: ">"
    value: 1
"""


@pytest.mark.parametrize(("world", "code", "restarts"), [("kimi-k2.5-eagle3", 0, 3), ("healthy", 1, 2)])
def test_the_ladder_on_a_host(
    world: str, code: int, restarts: int, lab_up: Callable[[str], Practice], client: Client
) -> None:
    lab = lab_up(world)
    found, files = lab.running(), lab.files_at_home()
    ended = client.run("replay", str(LADDER), "--target", *lab.target, "--json")
    assert ended.code == code, ended.err
    document = ended.document
    assert document["schema"] == "specdoctor.replay/1"
    assert document["met"] is (code == 0)
    met = {row["expected"]: row["met"] for row in document["expectations"]}
    assert all(met.values()) is (code == 0), met
    assert document["run"]["cost"]["restarts"] == restarts
    assert document["run"]["restored"] is True
    check_put_back(lab, found, files)


def test_three_faults_give_three_lines_and_no_connection(client: Client) -> None:
    (client.work / "faulty.yaml").write_text(THREE_FAULTS)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        target = f"ssh://nobody@127.0.0.1:{listener.getsockname()[1]}"
        ended = client.run("replay", "faulty.yaml", "--target", target)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert ended.code == 2, ended.err
    faults = [line.split(maxsplit=2)[:2] for line in ended.lines if line.startswith("  faulty.yaml:")]
    assert faults == [
        ["faulty.yaml:3:1", "allow"],
        ["faulty.yaml:5:5", "steps[0].check"],
        ["faulty.yaml:8:5", "expect[0].metric"],
    ]
    assert ended.out == ""
    assert client.transcripts == []
