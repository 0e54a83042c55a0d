"""The page of rules that rest on one report names checks and causes that exist."""

from __future__ import annotations

from specdoctor.assembly.catalogue import all_checks
from specdoctor.cli.docs_rules import ON_ONE_REPORT, rules_page
from specdoctor.knowledge.table import CAUSES


def test_each_sign_belongs_to_a_check_that_can_name_the_cause() -> None:
    causes = {check.name: check.causes for check in all_checks()}
    assert [row for row in ON_ONE_REPORT if row[1] not in causes[row[0]]] == []


def test_a_cause_of_many_reports_is_listed_for_a_sign_only() -> None:
    first = rules_page(all_checks()).split("## Signs")[0]
    many = [cause.id for cause in CAUSES.values() if cause.reports > 1]
    assert not any(f"| {cause} |" in first for cause in many)
