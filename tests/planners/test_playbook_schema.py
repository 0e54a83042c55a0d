"""The playbook format: what is accepted, and that every fault is told at once with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Status, Verdict
from specdoctor.planners.playbook_file import load_playbook, title_of
from specdoctor.planners.playbook_schema import (
    BenchStep,
    CauseExpectation,
    CheckStep,
    FigureExpectation,
    HypothesisExpectation,
    RelaunchStep,
    VerdictExpectation,
)

CHECKS = ("layer-wiring", "request-cap", "tree-width")
PLAYBOOKS = Path(__file__).parents[2] / "playbooks"

WHOLE = """\
title: A trial
allow: restart
budgets: {restarts: 2, minutes: 5}
load:
  concurrency: 2
steps:
  - check: [layer-wiring, request-cap]
  - check: all
  - watch: 3
  - compute: typed
  - bench: as found
  - relaunch: off
    change: {off: true}
    hypothesis:
      claim: it is slower
      answers: symptom
      prediction: {metric: throughput_tok_s, op: ">", than: as found}
  - bench: off
  - restore:
expect:
  - {metric: accept_length, of: off, op: "==", value: 1, tolerance: 0.01}
  - {hypothesis: off, status: [supported, falsified]}
  - {cause: CFG-3, status: absent}
  - verdict: cause
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(tmp_path: Path, text: str) -> list[str]:
    """The lines of the refusal, without the path; an accepted playbook fails the test."""
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        load_playbook(path, checks=CHECKS)
    assert refused.value.exit_code == 2
    head, *rows = refused.value.message.split("\n")
    assert head.startswith(f"{path}: {len(rows)} fault")
    return [row.strip().removeprefix(f"{path}:") for row in rows]


def test_each_kind_of_step_and_expectation_is_read(tmp_path: Path) -> None:
    playbook = load_playbook(written(tmp_path, WHOLE), checks=CHECKS)
    kinds = [type(step).__name__ for step in playbook.steps]
    assert kinds == [
        "CheckStep",
        "CheckStep",
        "WatchStep",
        "ComputeStep",
        "BenchStep",
        "RelaunchStep",
        "BenchStep",
        "RestoreStep",
    ]
    first, every = playbook.steps[0], playbook.steps[1]
    assert isinstance(first, CheckStep)
    assert isinstance(every, CheckStep)
    assert first.names == ("layer-wiring", "request-cap")
    assert every.names == ()
    figure, hypothesis, cause, verdict = playbook.expect
    assert isinstance(figure, FigureExpectation)
    assert isinstance(hypothesis, HypothesisExpectation)
    assert hypothesis.status == (Status.SUPPORTED, Status.FALSIFIED)
    assert isinstance(cause, CauseExpectation)
    assert cause.status == ("absent",)
    assert isinstance(verdict, VerdictExpectation)
    assert verdict.verdict == (Verdict.CAUSE,)
    assert (playbook.budgets.restarts, playbook.load.concurrency, playbook.load.requests) == (2, 2, 12)


def test_three_faults_are_three_lines_with_place_and_key(tmp_path: Path) -> None:
    text = WHOLE.replace("[layer-wiring,", "[layer-wirng,").replace("accept_length", "tokens")
    assert faults(tmp_path, text.replace("restarts: 2", "restarts: -1")) == [
        "3:11  budgets.restarts  must be 0 or more, got -1",
        '7:13  steps[0].check[0]  unknown check "layer-wirng"; did you mean "layer-wiring"?',
        '21:6  expect[0].metric  "tokens" is none of accept_length, throughput_tok_s, step_ms',
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("title: A trial", "titel: A trial", '1:1  titel  unknown key "titel"; did you mean "title"?'),
        ("allow: restart", "allow: all", '2:1  allow  "all" is none of read, load, restart'),
        (
            "concurrency: 2",
            "concurency: 2",
            '5:3  load.concurency  unknown key "concurency"; did you mean "concurrency"?',
        ),
        (
            "- watch: 3",
            "- wach: 3",
            '9:5  steps[2].wach  unknown key "wach"; did you mean "watch"?',
        ),
        ("- watch: 3", "- watch: soon", '9:5  steps[2].watch  must be a number, got "soon"'),
        ("compute: typed", "compute: guessed", '10:5  steps[3].compute  "guessed" is none of typed, measured'),
        ("- bench: off", "- bench: of", '18:5  steps[6].bench  unknown launch "of"; did you mean "off"?'),
        ("- bench: off", "- relaunch: off", '18:5  steps[6].relaunch  the label "off" is already taken'),
        (
            "{off: true}",
            "{off: true, draft_steps: 2}",
            "13:5  steps[5].change  needs one of: off, other_install, undo, draft_steps",
        ),
        ("{off: true}", "{topk: 2}", "13:5  steps[5].change  topk and draft_tokens need draft_steps beside them"),
        (
            "than: as found}",
            "than: as found, value: 3}",
            "17:7  steps[5].hypothesis.prediction  needs either value or than (the label of another launch)",
        ),
        (", than: as found}", ", than: before}", '17:55  steps[5].hypothesis.prediction.than  unknown launch "before"'),
        ("{hypothesis: off,", "{hypothesis: on,", '22:6  expect[1].hypothesis  unknown launch "on"'),
        ("cause: CFG-3", "cause: override", '23:6  expect[2].cause  "override" is not of the form'),
        (
            "- verdict: cause",
            "- verdikt: cause",
            '24:5  expect[3].verdikt  unknown key "verdikt"; did you mean "verdict"?',
        ),
    ],
)
def test_a_fault_is_told_with_what_would_be_right(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert WHOLE.count(old) == 1
    told = faults(tmp_path, WHOLE.replace(old, new))
    assert [row for row in told if row.startswith(fault)], told


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
"""A file of nine lines that stands for 43 million words."""


def test_a_figure_that_is_none_is_refused(tmp_path: Path) -> None:
    told = faults(tmp_path, WHOLE.replace(", than: as found}", ", value: .nan}"))
    assert [row for row in told if "prediction.value" in row and "finite" in row], told


def test_a_list_whose_items_are_all_wrong_is_not_too_short(tmp_path: Path) -> None:
    assert len(faults(tmp_path, "title: x\nsteps:\n  - watch: soon\n  - watch: later\n")) == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("title: x\nsteps:\n  - check: all\n   bad: x\n", "4:4  (syntax)"),
        ("title: x\ntitle: y\nsteps: []\n", "2:1  (syntax)"),
        ("- a\n", "1:1  (whole file)  must be a table of keys"),
        ("", "1:1  (whole file)  must be a table of keys"),
        ("title: x\nsteps: []\n", "2:1  steps"),
        ("title: x\n", "1:1  steps  is missing"),
        (BOMB, "1:1  (syntax)  its aliases stand for too much"),
    ],
)
def test_a_file_that_is_no_playbook(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text)[0].startswith(fault)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_playbook(tmp_path / "none.yaml", checks=CHECKS)
    assert title_of(tmp_path / "none.yaml") == ""


@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_playbooks_have_no_fault(path: Path) -> None:
    from specdoctor.assembly.catalogue import all_checks

    playbook = load_playbook(path, checks=[check.name for check in all_checks()])
    assert playbook.title == title_of(path)
    assert playbook.expect
    restarts = sum(isinstance(step, RelaunchStep) for step in playbook.steps)
    assert playbook.budgets.restarts >= restarts + (1 if restarts else 0)
    needed = "restart" if restarts else "load" if any(isinstance(s, BenchStep) for s in playbook.steps) else "read"
    assert playbook.allow == needed
