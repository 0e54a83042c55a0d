"""Parameters and included files of playbooks: what they come to, and each fault in its own file and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.assembly.catalogue import all_checks
from specdoctor.assembly.planning import planner_for
from specdoctor.core.errors import UsageError
from specdoctor.core.run_settings import RunSettings
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.playbook_file import load_playbook
from specdoctor.planners.playbook_schema import BenchStep, CheckStep, Playbook, RelaunchStep
from specdoctor.planners.playbook_values import Scalar, WrongValue, as_written, of_kind

CHECKS = [check.name for check in all_checks()]
PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
INNER = """\
title: Inner
allow: restart
parameters:
  n: {default: 2, about: steps}
steps:
  - check: all
  - relaunch: a chain of $(n)
    change: {draft_steps: $(n)}
    hypothesis: {claim: it pays, prediction: {metric: step_ms, op: "<", value: 9}}
expect:
  - {hypothesis: a chain of $(n), status: supported}
"""
OUTER = """\
title: Outer of $(steps)
allow: restart
parameters:
  steps: {default: 3}
  share: {default: 0.5}
  name: {default: chat}
load: {requests: 4, prompts: $(name)}
steps:
  - include: inner.yaml
    values: {n: $(steps)}
  - bench: a chain of $(steps)
expect:
  - {metric: step_ms, of: a chain of $(steps), op: "<", value: 3, tolerance: $(share)}
"""


def loaded(folder: Path, *, outer: str = OUTER, inner: str = INNER, **values: Scalar) -> Playbook:
    (folder / "outer.yaml").write_text(outer)
    (folder / "inner.yaml").write_text(inner)
    return load_playbook(folder / "outer.yaml", checks=CHECKS, values=values)


def faults(folder: Path, **given: str) -> list[str]:
    with pytest.raises(UsageError) as raised:
        loaded(folder, **given)
    return [line.strip().removeprefix(f"{folder}/") for line in raised.value.message.splitlines() if ":" in line[2:]]


def test_an_included_file_stands_in_its_place_with_its_values(tmp_path: Path) -> None:
    book = loaded(tmp_path, steps="5")
    assert [type(step) for step in book.steps] == [CheckStep, RelaunchStep, BenchStep]
    made, benched = book.steps[1:]
    assert isinstance(made, RelaunchStep)
    assert isinstance(benched, BenchStep)
    assert (made.relaunch, made.change.draft_steps, benched.bench) == ("a chain of 5", 5, "a chain of 5")
    assert book.title == "Outer of 5"
    assert (book.load.requests, book.load.prompts) == (4, "chat"), "the head is that of the outer one"
    assert [next(iter(e.model_dump())) for e in book.expect] == ["hypothesis", "metric"]
    assert loaded(tmp_path).title == "Outer of 3"


def test_a_text_that_looks_like_a_parameter_can_be_written(tmp_path: Path) -> None:
    assert as_written("from $(nproc) and $$(x)") == "from $$(nproc) and $$(x)"
    outer = OUTER.replace("load:", "about: from $$(nproc) to $(steps)\nload:")
    assert loaded(tmp_path, outer=outer).about == "from $(nproc) to 3"
    assert "steps[0].values" in " ".join(faults(tmp_path, outer=OUTER.replace("{n: $(steps)}", "[3]")))


@pytest.mark.parametrize(
    ("default", "given", "came"),
    [
        (3, "5", 5),
        (3, 4, 4),
        (0.5, "1", 1.0),
        (0.5, 2, 2.0),
        (True, "false", False),
        ("x", "7", "7"),
        ("x", True, "true"),
    ],
)
def test_a_value_is_of_the_kind_of_its_default(default: Scalar, given: Scalar, came: Scalar) -> None:
    found = of_kind(default, given)
    assert found == came
    assert type(found) is type(default)


@pytest.mark.parametrize(("default", "given"), [(3, "x"), (3, 1.5), (3, True), (0.5, "a"), (True, "yes"), (True, 1)])
def test_a_value_of_another_kind_is_refused(default: Scalar, given: Scalar) -> None:
    with pytest.raises(WrongValue, match="as its default"):
        of_kind(default, given)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("prompts: $(name)", "prompts: $(nme)", 'outer.yaml:7:21  load.prompts  unknown parameter "nme"; did you mean'),
        ("prompts: $(name)", "prompts: chat", "outer.yaml:6:3  parameters.name  $(name) stands nowhere in the file"),
        ("requests: 4", "requests: $(n)", 'outer.yaml:7:8  load.requests  unknown parameter "n"; known: steps, share'),
        ("requests: 4", "requests: $(name)", 'outer.yaml:7:8  load.requests  must be a whole number, got "chat"'),
        ("{n: $(steps)}", "{m: 3}", 'outer.yaml:10:14  steps[0].values.m  unknown parameter "m"; known: n'),
        (
            "{n: $(steps)}",
            "{n: $(name)}",
            "outer.yaml:10:14  steps[0].values.n  must be a whole number as its default 2",
        ),
        ("include: inner", "include: none", "outer.yaml:9:5  steps[0].include  there is no file"),
        ("include: inner", "include: outer", "outer.yaml:9:5  steps[0].include  outer.yaml: includes itself"),
        (
            "allow: restart",
            "allow: load",
            "outer.yaml:9:5  steps[0].include  needs allow: restart, and the head says load",
        ),
        ("{default: 0.5}", "{about: 0.5}", "outer.yaml:5:3  parameters.share.default  is missing"),
        ("{default: 0.5}", "{default: [1]}", "outer.yaml:5:11  parameters.share.default"),
        ("values:", "vals:", 'outer.yaml:10:5  steps[0].vals  unknown key "vals"; did you mean "values"?'),
    ],
)
def test_each_fault_has_its_place(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert OUTER.count(old) == 1
    told = faults(tmp_path, outer=OUTER.replace(old, new))
    assert [row for row in told if row.startswith(fault)], told


def test_faults_of_an_included_file_are_told_in_that_file(tmp_path: Path) -> None:
    told = faults(
        tmp_path, inner=INNER.replace("check: all", "chek: all"), outer=OUTER.replace("requests: 4", "reqs: 4")
    )
    assert 'outer.yaml:7:8  load.reqs  unknown key "reqs"; did you mean "requests"?' in told
    assert 'inner.yaml:6:5  steps[0].chek  unknown key "chek"; did you mean "check"?' in told


def test_values_that_nothing_takes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='unknown parameter "step"; did you mean "steps"'):
        loaded(tmp_path, step="5")


def test_files_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    told = faults(tmp_path, inner=INNER.replace("- check: all", "- include: outer.yaml"))
    assert any("inner.yaml:6:5  steps[0].include  outer.yaml: includes itself" in row for row in told), told


def test_a_resumed_run_keeps_the_values_it_was_begun_with() -> None:
    place = str(PLAYBOOKS / "one-draft-length.yaml")
    settings = RunSettings(planner="playbook", playbook=place, playbook_values={"draft_steps": "7"})
    planner = planner_for(RunSettings.model_validate_json(settings.model_dump_json()))
    assert isinstance(planner, PlaybookPlanner)
    assert any(isinstance(s, RelaunchStep) and s.change.draft_steps == 7 for s in planner.playbook.steps)


def test_a_shipped_playbook_has_parameters_and_includes_another() -> None:
    book = load_playbook(
        PLAYBOOKS / "one-draft-length.yaml", checks=CHECKS, values={"draft_steps": "5", "clients": "8"}
    )
    assert book.load.concurrency == 8
    changes = [step.change.draft_steps for step in book.steps if isinstance(step, RelaunchStep)]
    assert changes == [None, 5]
    read_only = load_playbook(PLAYBOOKS / "read-only-checkup.yaml", checks=CHECKS)
    assert book.steps[: len(read_only.steps)] == read_only.steps
    assert book.expect[: len(read_only.expect)] == read_only.expect
