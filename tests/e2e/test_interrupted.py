"""Ctrl-C while another launch is tested: the first one puts the server back, the second one leaves at once."""

from __future__ import annotations

import time

from specdoctor.cli.interrupts import TOGETHER_S
from tests.e2e.client import Client, Command, under_way
from tests.e2e.practice import KIMI_KEY, Practice, check_put_back, eventually

ASKED = ("--symptom", "slower than without speculation", "--allow", "restart", "--requests", "4")
AT_ONCE_S = 20.0
"""Much longer than it takes to write the report, for machines that are busy."""


def in_a_test_launch(client: Client, lab: Practice) -> Command:
    """An investigation whose server is down for its first test launch."""
    command = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: under_way(events) == "relaunch" and lab.server() is None, command)
    return command


def test_ctrl_c_puts_the_server_back(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    command = in_a_test_launch(client, lab)
    command.interrupt()
    ended = command.end()
    assert ended.code == 130
    assert "interrupted: putting the server back; Ctrl-C again leaves at once" in ended.err
    assert "Traceback" not in ended.err
    assert any("original launch restored and compared equal" in line for line in ended.lines)
    check_put_back(lab, found, files)
    events = client.events()
    assert events[-1]["kind"] == "run.ended"
    assert (events[-1]["exit_code"], under_way(events)) == (130, None)
    assert (client.transcripts[0] / "report.md").exists()


def test_a_second_ctrl_c_leaves_at_once_and_says_how_to_go_on(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    command = in_a_test_launch(client, lab)
    command.interrupt()
    assert eventually(lambda: "putting the server back" in command.said, within_s=10.0)
    time.sleep(2 * TOGETHER_S)
    command.interrupt()
    ended = command.end(within_s=AT_ONCE_S)
    assert ended.code == 130
    events = client.events()
    assert [e for e in events if e["kind"] in ("server.restored", "run.ended")] == []
    assert under_way(events) == "relaunch"
    going_on = f"specdoctor investigate --resume {client.run_id}"
    assert "left at once; the server may not be as it was" in ended.err
    assert going_on in ended.err
    assert "Traceback" not in ended.err
    resumed = client.shell(f"{going_on} --allow read --json", within_s=200.0)
    assert resumed.code == 4, resumed.err
    assert resumed.document["restored"] is True
    check_put_back(lab, found, files)
    assert client.files_with(KIMI_KEY.encode()) == []


def test_ctrl_c_while_reading_ends_without_a_word_about_restoring(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    command = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: under_way(events) == "watch", command)
    command.interrupt()
    ended = command.end(within_s=30.0)
    assert ended.code == 130
    assert "interrupted: the server was not changed; ending" in ended.err
    assert "Traceback" not in ended.err
    assert lab.running() == found
    assert lab.files_at_home() == files
