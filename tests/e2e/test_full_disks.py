"""Disks that are full in the middle of a run, on the host and on this side: the server comes back, and that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client, Events, started, under_way
from tests.e2e.practice import Practice
from tests.remote.full_disks import SmallDisk

ASKED = ("--symptom", "EAGLE-3 makes it slower than without speculation", "--allow", "restart", "--requests", "6")
Mount = Callable[[Path, int], SmallDisk]


@pytest.fixture
def mount() -> Iterator[Mount]:
    disks: list[SmallDisk] = []

    def mounted(folder: Path, mib: int) -> SmallDisk:
        disks.append(SmallDisk(folder, mib))
        return disks[-1]

    yield mounted
    for disk in disks:
        disk.close()


def in_a_restart(lab: Practice) -> Callable[[Events], bool]:
    return lambda events: under_way(events) == "relaunch" and lab.server() is None


def test_a_host_without_room_is_left_alone(lab: Practice, client: Client, mount: Mount) -> None:
    found = lab.running()
    disk = mount(lab.home / ".local" / "state", 1)
    (disk.folder / "specdoctor").mkdir(mode=0o700)
    disk.use_up("room")
    ended = client.run("investigate", *lab.target, *ASKED, "--json")
    assert lab.running().pid == found.pid
    assert ended.code == 5, ended.err
    assert ended.document["restored"] is None
    said = " ".join(ended.err.split())
    assert "the host has no room for the result of a benchmark" in said
    assert "make room in" in said
    assert not [e for e in client.events() if e["kind"] == "server.relaunched"]


def test_a_host_whose_disk_is_full_in_a_restart_gets_its_server_back(
    lab: Practice, client: Client, mount: Mount
) -> None:
    found = lab.running()
    disk = mount(lab.home / ".local" / "state", 1)
    command = client.start("investigate", *lab.target, *ASKED, "--json")
    client.await_events(in_a_restart(lab), command)
    disk.use_up("room")
    ended = command.end()
    assert ended.document["restored"] is True, ended.err
    assert lab.running().surroundings == found.surroundings
    assert lab.healthy()
    assert "nothing was changed" not in ended.out + ended.err


def test_restore_by_hand_works_on_a_full_disk(lab: Practice, client: Client, mount: Mount) -> None:
    found = lab.running()
    disk = mount(lab.home / ".local" / "state", 1)
    command = client.start("investigate", *lab.target, *ASKED, "--grace", "20")
    client.await_events(in_a_restart(lab), command)
    command.kill()
    disk.use_up("room")
    told = client.run("status", *lab.target)
    assert told.code in (0, 5), told.err
    code = 4
    while code == 4:
        restored = client.run("restore", *lab.target)
        code = restored.code
    assert code == 0, restored.err + restored.out
    assert lab.running().surroundings == found.surroundings


def test_this_side_without_room_puts_the_server_back(lab: Practice, client: Client, mount: Mount) -> None:
    found, files = lab.running(), lab.files_at_home()
    disk = mount(client.home, 24)
    command = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: under_way(events) == "bench" and started(events, "relaunch") == 1, command)
    disk.use_up("room")
    ended = command.end()
    assert ended.code == 74, ended.err
    assert ended.err.count("the server was put back") == 1
    assert "putting the server back first" not in ended.err
    assert "investigate --resume" in ended.err
    assert lab.running().surroundings == found.surroundings
    assert lab.files_at_home() == files
    disk.free()
    again = client.run("investigate", "--resume", client.run_id, "--allow", "restart", "--max-restarts", "6", "--json")
    assert again.code in (0, 3), again.err
    assert again.document["restored"] is True
    assert lab.running().surroundings == found.surroundings
