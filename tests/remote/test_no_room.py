"""A host that takes no more records: nothing is stopped then, and what was stopped comes back all the same."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.remote.parts.records import remove_spares, spare_folders
from tests.remote.full_disks import FailingPlace, SmallDisk
from tests.remote.guards import GRACE_S, after_the_guard, steered, story, the_original
from tests.remote.orders import call, ended, order, refused, relaunch, restore_order, restored, run_folder
from tests.remote.workplace import Workplace, is_alive, opened, wait_for

pytestmark = pytest.mark.slow
USED_UP = ("room", "inodes", "read-only")
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@pytest.fixture
def disk(place: Workplace) -> Iterator[SmallDisk]:
    small = SmallDisk(place.root / ".local" / "state")
    yield small
    small.close()
    remove_spares(str(run_folder(place)))


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[FailingPlace]:
    for each in opened(tmp_path):
        yield FailingPlace(each.root, each.env, each.servers)


@pytest.mark.parametrize("kind", USED_UP)
def test_nothing_is_stopped_where_the_records_cannot_be_written(place: Workplace, disk: SmallDisk, kind: str) -> None:
    server = place.start()
    run_folder(place).mkdir(mode=0o700, parents=True)
    disk.use_up(kind)
    said = refused(place, cmd="begin", order=order(server.ref))
    assert said.startswith("no-room: the records of a restart cannot be written on the host"), said
    assert "nothing was stopped" in said
    assert is_alive(server.pid)
    assert server.log.read_text().count("ready to roll") == 1
    assert not list(run_folder(place).glob("guard.json"))


def test_a_restart_needs_more_room_than_its_first_record(place: Workplace, disk: SmallDisk) -> None:
    server = place.start()
    run_folder(place).mkdir(mode=0o700, parents=True)
    disk.use_up("room")
    with (disk.folder / "filler").open("ab") as stream:
        stream.truncate((disk.folder / "filler").stat().st_size - 40_000)
    assert refused(place, cmd="begin", order=order(server.ref)).startswith("no-room: ")
    assert is_alive(server.pid)


@pytest.mark.parametrize("kind", USED_UP)
def test_the_guard_puts_back_a_test_launch(place: Workplace, disk: SmallDisk, kind: str) -> None:
    server = place.start()
    with steered(place, server):
        new = ended(place, "a1")["outcome"]["server"]
        disk.use_up(kind)
    wait_for(lambda: not is_alive(new["pid"]), 30.0)
    told = survey_of(place)
    assert (told["guard"]["phase"], told["running_is_original"]) == ("restored", True)
    the_original(place, server)
    assert restored(place, server)["status"] == "nothing-to-do"


@pytest.mark.parametrize("kind", USED_UP)
def test_the_guard_ends_a_launch_that_was_under_way(place: Workplace, disk: SmallDisk, kind: str) -> None:
    server = place.start()
    with steered(place, server, set_flags={"--fake-start-s": ["600"]}):
        wait_for(lambda: not is_alive(server.pid))
        disk.use_up(kind)
    told = survey_of(place)
    assert (told["guard"]["phase"], told["running_is_original"]) == ("restored", True)
    the_original(place, server)
    again = call(place, cmd="poll", run="run1", action="a1", offsets=[])
    assert again["outcome"]["status"] in ("undone", "failed"), "it may have had no room for its log"


def survey_of(place: Workplace) -> dict[str, object]:
    def found() -> dict[str, object] | None:
        left = next(each for each in call(place, cmd="survey")["runs"] if each["folder"] == str(run_folder(place)))
        return left if left["guard"]["result"] and not left["guard"]["alive"] else None

    told: dict[str, object] = wait_for(found, 30.0)
    return told


@pytest.mark.parametrize("kind", USED_UP)
def test_a_restoration_goes_on_and_tells_how_far_it_is(place: Workplace, disk: SmallDisk, kind: str) -> None:
    server = place.start()
    new = relaunch(place, server)["outcome"]["server"]
    disk.use_up(kind)
    call(place, cmd="restore", order=restore_order(server))
    told = wait_for(lambda: call(place, cmd="poll", run="run1", action="r1", offsets=[])["outcome"])
    assert told["status"] == "restored"
    assert set(told["equal"].values()) == {True}
    assert not is_alive(new["pid"])
    the_original(place, server)
    answer = call(place, cmd="release", run="run1")
    if kind == "read-only":
        assert answer["error"]["kind"] == "left-behind"
    else:
        assert not run_folder(place).exists()
        assert not any(Path(each).exists() for each in spare_folders(str(run_folder(place))))


def test_a_second_order_waits_where_no_lock_can_be_made(place: Workplace, disk: SmallDisk) -> None:
    server = place.start("--fake-start-s", "1.5")
    relaunch(place, server, set_flags={"--fake-start-s": ["0"]})
    disk.use_up("read-only")
    call(place, cmd="restore", order=restore_order(server))
    assert refused(place, cmd="restore", order=restore_order(server, "r2")).startswith("busy: ")
    wait_for(lambda: call(place, cmd="poll", run="run1", action="r1", offsets=[])["outcome"])
    the_original(place, server)


@pytest.mark.parametrize("number", ERRORS)
def test_the_guard_needs_no_place_at_all(failing: FailingPlace, number: int) -> None:
    server = failing.start()
    with steered(failing, server):
        new = ended(failing, "a1")["outcome"]["server"]
        guard = story(failing)["guard"]["pid"]
        failing.fail(number)
    wait_for(lambda: not is_alive(guard), 30.0)
    assert story(failing)["acted_at"] is None, "nothing could be written"
    assert not is_alive(new["pid"])
    the_original(failing, server)
    assert server.log.read_text().count("ready to roll") == 2
    assert restored(failing, server)["status"] == "nothing-to-do"


@pytest.mark.parametrize("number", ERRORS)
def test_a_launch_that_cannot_be_noted_after_its_stop_ends_and_says_so(failing: FailingPlace, number: int) -> None:
    server = failing.start("--fake-ignore-term")
    with steered(failing, server):
        wait_for(lambda: json.loads((run_folder(failing) / "action-a1.json").read_text())["stopped"])
        failing.fail(number)
        worker = json.loads((run_folder(failing) / "action-a1.json").read_text())["worker"]["pid"]
        wait_for(lambda: not is_alive(worker))
        told = call(failing, cmd="begin", order=order(server.ref), grace_s=GRACE_S)
        assert told["outcome"]["status"] == "failed"
        assert "the server was stopped" in told["outcome"]["reason"]
        guard = story(failing)["guard"]["pid"]
    wait_for(lambda: not is_alive(guard), 30.0)
    the_original(failing, server)


def test_a_restoration_needs_no_place_at_all(failing: FailingPlace) -> None:
    server = failing.start()
    new = relaunch(failing, server)["outcome"]["server"]
    failing.fail(errno.ENOSPC)
    said = refused(failing, cmd="restore", order=restore_order(server))
    assert said.startswith("unrecorded: the original is being put back")
    wait_for(lambda: server.log.read_text().count("ready to roll") == 2)
    assert not is_alive(new["pid"])
    the_original(failing, server)
    wait_for(lambda: not list(run_folder(failing).parent.glob("port-*.lock")))
    outcome = restored(failing, server, "r2")
    assert outcome["status"] == "nothing-to-do"
    assert set(outcome["equal"].values()) == {True}


def test_a_folder_that_somebody_removes_is_there_again(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref), grace_s=8.0)
    ended(place, "a1")
    for _ in range(2):
        shutil.rmtree(run_folder(place).parent, ignore_errors=True)
        wait_for(
            lambda: {"way_back.json", "guard.json", "action-a1.json"} <= {p.name for p in run_folder(place).glob("*")}
        )
        assert call(place, cmd="state", run="run1")["running_launch"] == "a1"
    told = after_the_guard(place)
    assert told["phase"] == "restored", told["story"]
    the_original(place, server)
    call(place, cmd="release", run="run1")
    assert not run_folder(place).parent.exists()


def test_a_log_that_cannot_be_opened_again_does_not_keep_the_server_down(place: Workplace, disk: SmallDisk) -> None:
    log = disk.folder / "server.log"
    with log.open("ab") as stream:
        server = place.start(ready=False, stdout=stream)
    wait_for(lambda: "ready to roll" in log.read_text())
    relaunch(place, server)
    disk.use_up("read-only")
    call(place, cmd="restore", order={**restore_order(server), "ready_timeout_s": 60.0})
    told = wait_for(lambda: call(place, cmd="poll", run="run1", action="r1", offsets=[])["outcome"], 60.0)
    assert told["status"] == "restored"
    assert "cannot be opened again; now appended to /dev/null" in told["differences"]["stdout"]
