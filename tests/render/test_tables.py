from __future__ import annotations

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.hypothesis import Observation
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Risk
from specdoctor.core.ports import Scene
from specdoctor.core.run_settings import RunSettings
from specdoctor.render.lines import event_line
from specdoctor.render.tables import (
    RUN_ROW_KINDS,
    PlaybookRow,
    checks_table,
    playbooks_table,
    rewrites_table,
    run_row,
    runs_table,
)
from tests.render.snapshots import check_snapshot
from tests.render.story import REWRITE, story, until


class WiringCheck:
    name = "layer-wiring"
    summary = "Does the drafter get the layers that it was trained on?"
    causes = ("WIRE-1", "WIRE-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        return ()


def test_runs_with_their_state() -> None:
    killed = [
        e.model_copy(update={"run": "81aa"}) if isinstance(e, ev.RunStarted) else e for e in until("server.relaunched")
    ]
    rows = [row for events in (story(), killed) if (row := run_row(events)) is not None]
    check_snapshot("runs.txt", runs_table(rows))
    assert [r.state for r in rows] == ["cause", "unfinished"]
    assert [bool(r.warning) for r in rows] == [False, True]


def test_a_run_that_is_driven_is_at_work_and_nothing_is_cut() -> None:
    target = "ssh://somebody@a-host-with-a-long-name.rack-17.example.internal:2222/srv/engines"
    events = [
        e.model_copy(update={"target": target}) if isinstance(e, ev.RunStarted) else e
        for e in until("server.relaunched")
    ]
    row = run_row(events, at_work=True)
    assert row is not None
    assert (row.state, row.warning) == ("at work", "")
    over = run_row(story(), at_work=True)
    assert over is not None
    assert over.state == "cause", "its process is about to end"
    for width in (60, 80, 120):
        shown = runs_table([row, over], width=width)
        assert target in shown
        assert "..." not in shown
        assert row.summary in " ".join(shown.split())


def test_a_run_s_row_needs_only_some_kinds_of_events() -> None:
    for length in range(len(story()) + 1):
        events = story()[:length]
        row, quick = run_row(events), run_row([e for e in events if e.kind in RUN_ROW_KINDS])
        assert (row is None) == (quick is None)
        if row is not None and quick is not None:
            assert row._replace(lasted_s=0.0) == quick._replace(lasted_s=0.0)


def test_a_refused_launch_and_removed_paths_are_told_in_words() -> None:
    change = LaunchChange(label="x", remove_flags=("--a-b", "-c"), set_flags={"--d": ("1",)}, set_env={"E": "2"})
    refused = event_line(ev.MoveRefused(move=f"relaunch {change.key}", why="no"))
    assert refused == "refused to relaunch --d=1, without --a-b, without -c, E=2: no"
    assert event_line(ev.MoveRefused(move="relaunch", why="no")) == "refused to relaunch: no"
    assert event_line(ev.HostReleased(removed=("/a", "/b"))).endswith("; removed: /a, /b")
    many = event_line(ev.HostReleased(removed=tuple(f"/p{n}" for n in range(15))))
    assert many.endswith("; removed: 15 paths, named in the events of its transcript")


def waits(*events: ev.Event) -> str:
    begun = ev.RunStarted(run="r1", target="t", settings=RunSettings(), tool_version="1", by="ann@desk")
    row = run_row([begun, *events])
    assert row is not None
    return row.waits


def test_whom_a_run_waits_for() -> None:
    asked = ev.ApprovalAsked(batch="B1", risk=Risk.RESTART, text="?")
    answered = ev.ApprovalAnswered(batch="B1", granted=True, scope="once", by="ann@desk")
    by_hand = ev.MoveRefused(
        move="relaunch x", why="docker", change=LaunchChange(label="5 steps"), start="docker run x"
    )
    over = ev.RunEnded(exit_code=0, reason="finished")
    waiting, undecided = (over.model_copy(update={"exit_code": code}) for code in (4, 3))
    assert waits() == ""
    assert waits(asked) == waits(asked, waiting) == "ann@desk: permission to restart (B1)"
    assert waits(asked, answered) == waits(asked, over) == ""
    assert waits(pe.PauseSet(paused=True, by="bob@desk")) == "bob@desk: paused"
    assert waits(pe.PauseSet(paused=True, by="bob"), pe.PauseSet(paused=False, by="bob")) == ""
    assert waits(by_hand, undecided) == "ann@desk: a launch by hand (5 steps)"
    assert waits(by_hand, over) == ""


def test_no_run_without_a_start() -> None:
    assert run_row(story()[1:]) is None


def test_checks_playbooks_and_rewrites() -> None:
    tables = (
        checks_table([WiringCheck()]),
        playbooks_table([PlaybookRow("slow-eagle", "built in", "finds out why EAGLE is slower than no speculation")]),
        rewrites_table([REWRITE, REWRITE.model_copy(update={"asked": None, "kind": "defaulted"})]),
    )
    check_snapshot("tables.txt", "\n\n".join(tables))
    assert all(len(line) <= 80 for table in tables for line in table.splitlines())


def test_who_puts_the_server_back_waits_for_nobody() -> None:
    asked = ev.ApprovalAsked(batch="B1", risk=Risk.RESTART, text="?")
    paused = pe.PauseSet(paused=True, by="bob@desk")
    begun = ev.RunStarted(
        run="r1", target="ssh://lab", settings=RunSettings(named="eagle-a"), tool_version="1", by="ann"
    )
    back = ev.ActionStarted(action="A3", what="restore", risk=Risk.RESTART, move={}, why="it ends")
    done = ev.ActionEnded(action="A3", outcome="done", duration_s=3.0, summary="restored")
    for first in (asked, paused):
        row = run_row([begun, first, back], at_work=True)
        assert row is not None
        assert (row.state, row.waits, row.doing) == ("at work", "", "puts the server back")
        assert "puts the server back" in runs_table([row])
        assert waits(first, back) == "", "it was cut off"
        assert waits(first, back, done, ev.RunEnded(exit_code=4, reason="waits")) != ""


def test_a_target_is_shown_as_it_was_named_and_where_it_is() -> None:
    begun = ev.RunStarted(run="r1", target="ssh://lab", settings=RunSettings(named="eagle-a"), tool_version="1")
    row = run_row([begun])
    assert row is not None
    assert "eagle-a (ssh://lab)" in runs_table([row])
    plain = run_row([begun.model_copy(update={"settings": RunSettings()})])
    assert plain is not None
    assert runs_table([plain]).endswith("ssh://lab")
