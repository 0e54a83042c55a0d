"""From recorded facts to a verdict by the command line, and reading that run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, document

pytestmark = pytest.mark.thorough

SYMPTOM = "EAGLE-3: 57 tok/s, 90 tok/s without"
Facts = Callable[[str], Path]


def test_recorded_facts_are_judged_and_kept(specdoctor: Command, facts_of: Facts, folder: Path) -> None:
    words = ("investigate", "--from", str(facts_of("kimi-k2.5-eagle3")), "--symptom", SYMPTOM, "--allow", "restart")
    result = specdoctor(*words, "--json")
    assert result.exit_code == 3, result.stderr
    found = document(result)
    assert found["schema"] == "specdoctor.run/1"
    assert found["verdict"] == "not-enough-evidence"
    assert found["restored"] is None
    assert found["cost"]["restarts"] == 0  # type: ignore[index]
    run = str(found["run"])
    transcript = folder / "transcripts" / run
    events = [json.loads(line) for line in (transcript / "events.jsonl").read_text().splitlines()]
    assert events[0]["kind"] == "run.started"
    assert events[0]["settings"]["facts_file"] == str(facts_of("kimi-k2.5-eagle3"))
    assert events[-1]["kind"] == "run.ended"
    assert (transcript / "report.md").is_file()
    assert f"specdoctor review {run}" in result.stderr


def test_a_run_can_be_read_again(specdoctor: Command, facts_of: Facts, folder: Path) -> None:
    run = str(document(specdoctor("investigate", "--from", str(facts_of("healthy")), "--json"))["run"])
    assert run in specdoctor("runs").stdout
    listed = document(specdoctor("runs", "--json"))["runs"]
    assert [row["run"] for row in listed] == [run]  # type: ignore[attr-defined]
    for words in ((run,), (run[:2],), (f"transcripts/{run}",), (f"transcripts/{run}/events.jsonl",)):
        result = specdoctor("review", *words)
        assert result.exit_code == 0, result.stderr
        assert f"run {run}" in result.stdout
    shown = specdoctor("review", run, "--markdown").stdout
    assert shown.startswith("# ")
    assert shown.strip() == (folder / "transcripts" / run / "report.md").read_text().strip()
    assert specdoctor("review", run, "--evidence", "E1").stdout.startswith("E1 ")
    one = document(specdoctor("review", run, "--evidence", "E1", "--json"))
    assert (one["schema"], one["evidence"], one["run"]) == ("specdoctor.evidence/1", "E1", run)
    assert "run.started" not in specdoctor("review", run, "--events").stderr
    assert document(specdoctor("review", run, "--json"))["run"] == run
    wrong = specdoctor("review", run, "--evidence", "E999")
    assert wrong.exit_code == 2
    assert "E1" in wrong.stderr


def test_a_stored_run_goes_on_by_the_beginning_of_its_id(specdoctor: Command, facts_of: Facts) -> None:
    run = str(document(specdoctor("investigate", "--from", str(facts_of("healthy")), "--json"))["run"])
    again = specdoctor("investigate", "--resume", run[:3], "--json")
    assert document(again)["run"] == run
    assert f"going on with run {run}" in again.stderr


def test_for_people_the_verdict_stands_on_standard_output(specdoctor: Command, facts_of: Facts) -> None:
    result = specdoctor("investigate", "--from", str(facts_of("kimi-k2.5-eagle3")), "--symptom", SYMPTOM)
    assert result.stdout.strip().startswith("verdict ")
    assert "CFG-3" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr
    first = result.stderr.splitlines()[0]
    assert first.startswith("specdoctor: reading ")


def test_a_playbook_is_replayed_on_recorded_facts_only_as_far_as_reading_goes(
    specdoctor: Command, folder: Path
) -> None:
    (folder / "bad.yaml").write_text(
        "title: x\nsteps:\n  - check: layer-wirng\n  - watch: -1\nbudgets: {restarts: -1}\n"
    )
    result = specdoctor("replay", "bad.yaml", "--target", "ssh://nowhere", "--json")
    assert result.exit_code == 2
    rows = [line.strip() for line in result.stderr.splitlines() if line.startswith("  bad.yaml:")]
    assert [row.split()[0] for row in rows] == ["bad.yaml:3:5", "bad.yaml:4:5", "bad.yaml:5:11"]
    assert [row.split()[1] for row in rows] == ["steps[0].check", "steps[1].watch", "budgets.restarts"]
    assert "logging in" not in result.stderr


def test_catalogues_are_listed(specdoctor: Command, folder: Path) -> None:
    (folder / "playbooks").mkdir()
    (folder / "playbooks" / "mine.yaml").write_text("title: My own\nsteps:\n  - check: all\n")
    shown = document(specdoctor("playbooks", "--json"))["playbooks"]
    names = {row["name"]: row["source"] for row in shown}  # type: ignore[attr-defined]
    assert names["mine"] == "here"
    assert names["eagle3-slower-than-baseline"] == "specdoctor"
    checks = document(specdoctor("checks", "--json"))["checks"]
    assert [row["name"] for row in checks] == sorted(row["name"] for row in checks)  # type: ignore[attr-defined]
    assert all(row["summary"] for row in checks)  # type: ignore[attr-defined]
    assert "layer-wiring" in specdoctor("checks").stdout


def test_the_probe_can_be_taken_along(specdoctor: Command) -> None:
    program = specdoctor("probe", "--print").stdout
    compile(program, "probe.py", "exec")
    assert program.startswith("#!")
    assert "import specdoctor" not in program


def test_worlds_are_listed_and_described(specdoctor: Command) -> None:
    listed = document(specdoctor("lab", "list", "--json"))["worlds"]
    assert "healthy" in {row["name"] for row in listed}  # type: ignore[attr-defined]
    schema = document(specdoctor("lab", "schema"))
    assert "properties" in schema


def test_output_is_readable_on_a_very_narrow_terminal(
    specdoctor: Command, facts_of: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(document(specdoctor("investigate", "--from", str(facts_of("kimi-k2.5-eagle3")), "--json"))["run"])
    monkeypatch.setenv("COLUMNS", "20")
    for words in (("runs",), ("review", run), ("review", run, "--evidence", "E1"), ("checks",), ("lab", "list")):
        result = specdoctor(*words)
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        wide = [line for line in lines if len(line) > 20 and len(line.split()) > 2]
        assert len(wide) < len(lines) / 10, wide
