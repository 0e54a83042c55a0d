"""What is told about leftovers: how each run stands, what its guard did, and the next thing to do."""

from __future__ import annotations

import pytest

from specdoctor.core.custody import ControllerEnd, GuardProcess, Lease, Leftovers, LeftRun
from specdoctor.core.launch import GuardPhase, GuardStory, RestoreOutcome
from specdoctor.core.measurement import OwnLoad
from specdoctor.core.server import ServerRef
from specdoctor.render.custody import leftovers_text, restored_text

REF = ServerRef(pid=77, start_ticks=1, port=30000)


def guard(phase: GuardPhase, *, alive: bool = False, reason: str = "", log: str = "") -> GuardStory:
    acted = None if phase == "watching" else 1000.0
    story = () if acted is None else ((1000.0, "nobody was in touch for 121 s; putting the original back"),)
    return GuardStory(
        alive=alive, grace_s=120, since=0, phase=phase, acted_at=acted, reason=reason, log=log, story=story
    )


def left(story: GuardStory | None, *, running: ServerRef | None = REF, original: bool | None = None) -> LeftRun:
    return LeftRun(
        run="7f3c",
        folder="/home/ml/.local/state/specdoctor/7f3c",
        files=("way_back.json", "guard.json"),
        who="ml@laptop",
        silent_s=30.0,
        way_back=True,
        port=30000,
        running=running,
        running_is_original=original,
        guard=story,
    )


PAST = left(guard("watching"), running=None)


def text(*runs: LeftRun, leases: tuple[Lease, ...] = ()) -> str:
    whole = leftovers_text(Leftovers(now=2000.0, runs=runs, leases=leases), target="ssh://gpu-7", width=200)
    assert "\x1b" not in whole
    return whole


@pytest.mark.parametrize(
    ("run", "words", "then"),
    [
        (left(guard("watching", alive=True), original=False), "at work of ml@laptop, last in touch 30 s ago", "wait"),
        (left(guard("acting", alive=True), running=None), "its guard is putting the original back", "wait"),
        (left(guard("restored"), original=True), "its guard put the original back", "--resume 7f3c"),
        (left(guard("failed", reason="no room"), running=None), "THE SERVER IS DOWN", "specdoctor restore ssh://gpu-7"),
        (left(guard("left-alone", reason="port taken"), running=None), "left the port alone: port taken", "restore"),
        (
            PAST.model_copy(update={"held_by": "run 9a of eve"}),
            "the server is held by run 9a of eve",
            "wait for the end",
        ),
        (PAST.model_copy(update={"listening": 88}), "process 88, which is neither", "end that process"),
        (left(None, original=False), "THE SERVER IS NOT AS IT WAS; there was no guard", "restore ssh://gpu-7 --run"),
    ],
)
def test_each_standing_has_its_words_and_a_next_step(run: LeftRun, words: str, then: str) -> None:
    told = text(run)
    assert words in told
    assert then in told.splitlines()[-1]


ENDED = ControllerEnd(at=1950.0, exit_code=5, words="the restore failed")


def test_a_run_that_has_said_that_it_ended_is_not_at_work() -> None:
    update = {"ended": ENDED}
    run = left(guard("watching", alive=True), running=None).model_copy(update=update)
    assert run.standing == "down"
    told = " ".join(text(run).split())
    assert "of ml@laptop, ended at " in told
    assert "with exit code 5 (the restore failed), and the server was not put back: THE SERVER IS DOWN; " in told
    assert "puts the original back in 1:30, unless somebody does so before" in told
    assert "specdoctor restore ssh://gpu-7 --run 7f3c puts it back now; or: " in told
    broke = run.model_copy(update={"ended": ControllerEnd(at=1950.0, exit_code=None, words="OSError: x")})
    assert "by a failure of its own (OSError: x)" in " ".join(text(broke).split())
    acting = left(guard("acting", alive=True), running=None).model_copy(update=update)
    assert acting.standing == "acting", "one of them puts it back: the guard has begun to"
    assert text(acting).splitlines()[-1].endswith("wait; look again in a while")
    back = left(guard("watching", alive=True), original=True).model_copy(update=update)
    assert back.standing == "as found"
    assert "its guard looks once more in 1:30" in text(back)
    nothing = left(None).model_copy(update={**update, "way_back": False, "silent_s": 1.0})
    assert nothing.standing == "files"


def test_an_old_run_does_not_say_that_a_server_is_down_which_others_have() -> None:
    assert "DOWN" in text(PAST)
    for update in ({"held_by": "run 9a of eve"}, {"listening": 88}):
        told = PAST.model_copy(update=update)
        assert told.standing == "past"
        assert "DOWN" not in text(told)
    assert left(None, original=True).model_copy(update={"listening": 88}).standing == "as found"


def test_a_benchmark_that_goes_on_is_shown_with_the_way_to_end_it() -> None:
    load = OwnLoad(run="7f3c", action="A6", pid=9, silent_s=40)
    run = left(None).model_copy(update={"way_back": False, "silent_s": 40.0, "loads": (load,)})
    told = text(run)
    assert "benchmark A6 of run 7f3c (process 9, last asked about 40 s ago) still loads a server" in told
    assert told.splitlines()[-1].endswith(
        "specdoctor restore ssh://gpu-7 --run 7f3c (ends the benchmark, removes the files)"
    )


def test_a_run_in_its_first_benchmark_is_at_work() -> None:
    load = OwnLoad(run="7f3c", action="A6", pid=9, silent_s=1, stage="requests", done=3, total=12)
    update = {"who": "", "way_back": False, "silent_s": 1.0, "guard": None, "loads": (load,)}
    run = left(None, running=None).model_copy(update=update)
    assert run.standing == "at work"
    told = text(run)
    assert "at work, last in touch 1.0 s ago; it has stopped no server" in told
    assert "(process 9, last asked about 1 s ago) loads the server: requests, 3 of 12" in told
    assert "restore" not in told
    assert told.endswith("wait for its end; once it was silent for 20 s it counts as lost")


def test_a_failure_shows_the_log() -> None:
    told = text(left(guard("failed", reason="no room", log="one\nValueError: no room\n"), running=None))
    assert "ValueError: no room" in told
    assert "putting the original back" in told


def test_what_others_hold_is_told_without_control_characters() -> None:
    lease = Lease(
        run="x\x1b[2J",
        port=30001,
        who="eve",
        user="eve",
        since=1000,
        grace_s=60,
        guard=GuardProcess(pid=5, start_ticks=1),
    )
    assert "port 30001" in text(leases=(lease,))
    assert "nothing of specdoctor is on this host" in text()


def test_putting_back_by_hand_is_told_as_it_came_out() -> None:
    equal = {"argv": True, "affinity": False}
    outcome = RestoreOutcome(
        action="by-hand-1", status="restored", server=REF, equal=equal, differences={"affinity": "was 0-3; is 0"}
    )
    told = restored_text("7f3c", outcome, ("/x",), width=200)
    assert "back as process 77 and healthy; 1 of 2 parts equal; not equal: affinity: was 0-3; is 0" in told
    failed = RestoreOutcome(action="by-hand-1", status="failed", server=None, reason="no room", log="ValueError")
    assert "NOT put back, failed: no room" in restored_text("7f3c", failed, (), width=200)
