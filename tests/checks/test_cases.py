"""Every check against its cases: `tests/cases/CHECK/*.yaml` says what is read and what must be said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from specdoctor.assembly.catalogue import all_checks
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Check, Scene
from specdoctor.core.server import ServerView
from specdoctor.readers.every import material_of

CASES = Path(__file__).parents[1] / "cases"
CHECKS = {check.name: check for check in all_checks()}


def scene_of(case: dict[str, Any]) -> Scene:
    view = ServerView.model_validate({"engine": "sglang", "state": "running", **case.get("view", {})})
    others = [ServerView.model_validate({"engine": "sglang", "state": "running", **o}) for o in case.get("others", ())]
    return Scene(
        view=view,
        others=tuple(others),
        facts=Facts.model_validate(case.get("facts", {})),
        concurrency=case.get("concurrency", 1),
        complaints=tuple(case.get("complaints", ())),
        material=material_of(case.get("files", {})),
        answers=case.get("answers", ()),
    )


def fits(observation: Observation, expected: dict[str, Any]) -> bool:
    said = expected.get("says", "")
    steps = expected.get("remedy_steps")
    remedy = observation.remedy.setting if observation.remedy else None
    plain = {k: v for k, v in expected.items() if k not in ("says", "remedy_steps")}
    same = all(getattr(observation, key) == value for key, value in plain.items())
    return (
        same
        and str(said) in observation.claim
        and (steps is None or (remedy is not None and remedy.draft_steps == steps))
    )


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*.yaml")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_case(path: Path) -> None:
    case = YAML(typ="safe").load(path.read_text())
    observations = CHECKS[path.parent.name].judge(scene_of(case))
    assert len(observations) == len(case["expect"]), [o.claim for o in observations]
    for observation, expected in zip(observations, case["expect"], strict=True):
        assert fits(observation, expected), observation


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_each_check_has_a_case_that_finds_and_one_that_does_not(check: Check) -> None:
    stances = set()
    for path in (CASES / check.name).glob("*.yaml"):
        case = YAML(typ="safe").load(path.read_text())
        stances |= {e["stance"] for e in case["expect"]}
    assert stances & {"supports", "suggests"}
    assert stances & {"silent", "no-data"}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
def test_each_check_says_what_it_is_for_and_keeps_to_its_causes(check: Check) -> None:
    assert check.summary.endswith(".")
    for path in (CASES / check.name).glob("*.yaml"):
        case = YAML(typ="safe").load(path.read_text())
        named = {o.cause for o in check.judge(scene_of(case)) if o.cause is not None}
        assert named <= set(check.causes)


def test_an_empty_scene_breaks_no_check() -> None:
    scene = scene_of({})
    for check in CHECKS.values():
        assert all(o.check == check.name for o in check.judge(scene))


def test_findings_can_be_opened() -> None:
    for path in CASES.glob("*/*.yaml"):
        case = YAML(typ="safe").load(path.read_text())
        for o in CHECKS[path.parent.name].judge(scene_of(case)):
            if o.stance == "supports":
                assert o.binds is False or o.sources or o.cause == "CFG-3", (path.name, o.claim)
