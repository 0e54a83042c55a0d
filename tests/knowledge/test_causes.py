"""The knowledge base: whole, of one mind with the checks, and readable one by one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specdoctor.assembly.catalogue import all_checks, all_drafter_checks
from specdoctor.cli.main import app
from specdoctor.core.errors import UsageError
from specdoctor.knowledge.table import CAUSES, GROUPS, cause_named

PACKAGE = Path(__file__).parents[2] / "specdoctor"


def test_no_id_is_given_twice_and_each_stands_in_its_group() -> None:
    ids = [cause.id for group in GROUPS for cause in group.causes]
    assert len(ids) == len(set(ids)) == len(CAUSES)
    assert all(cause.id.startswith(group.prefix + "-") for group in GROUPS for cause in group.causes)


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES.keys())
def test_each_cause_can_be_told_and_tested(cause: object) -> None:
    said = cause.model_dump()  # type: ignore[attr-defined]
    assert all(said[part].strip() for part in ("title", "seen", "check", "predicts", "fix"))
    assert said["engines"]
    assert said["reports"] > 0 or said["sources"]


def test_every_cause_that_a_check_can_name_is_known() -> None:
    named = {cause for check in (*all_checks(), *all_drafter_checks()) for cause in check.causes}
    assert named <= set(CAUSES)


def test_every_id_written_in_the_code_is_known() -> None:
    pattern = re.compile(r"\b(?:" + "|".join(group.prefix for group in GROUPS) + r")-[0-9]+\b")
    written = {word for path in PACKAGE.rglob("*.py") for word in pattern.findall(path.read_text())}
    assert written <= set(CAUSES)


def test_a_cause_is_found_in_any_case_and_a_wrong_one_is_named() -> None:
    assert cause_named("load-3").id == "LOAD-3"
    with pytest.raises(UsageError, match="LOAD-9"):
        cause_named("LOAD-9")


def test_the_command_explains_one_and_lists_all() -> None:
    one = CliRunner().invoke(app, ["causes", "GRAPH-1"])
    assert one.exit_code == 0
    assert CAUSES["GRAPH-1"].title in one.output
    listed = json.loads(CliRunner().invoke(app, ["causes", "--json"]).output)
    assert listed["schema"] == "specdoctor.causes/1"
    assert [row["id"] for row in listed["causes"]] == list(CAUSES)
