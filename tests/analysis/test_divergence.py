"""What counts as a difference between two runs: figures beyond their intervals and two starts, facts exactly."""

from __future__ import annotations

from specdoctor.analysis.divergence import diverged
from specdoctor.core.model import Status, Verdict
from specdoctor.core.recorded import Recorded, RecordedFigure, RecordedFinding, RecordedHypothesis
from specdoctor.render.divergence import divergence_document, divergence_text, headline


def figure(value: float, *, launch: str = "as found", half: float = 1.0) -> RecordedFigure:
    return RecordedFigure(
        launch=launch,
        metric="throughput_tok_s",
        value=value,
        low=value - half,
        high=value + half,
        unit="tok/s",
        estimator="by hand",
        n=12,
    )


def run(name: str, *figures: RecordedFigure, **more: object) -> Recorded:
    return Recorded.model_validate({"run": name, "target": "ssh://a", "at": "then", "figures": figures, **more})


def test_figures_within_interval_and_spread_are_alike() -> None:
    found = diverged(run("a", figure(100.0)), run("b", figure(95.0)), launch_sd=0.05)
    assert not found.any
    assert headline(found) == "nothing differs beyond noise"


def test_the_spread_of_starts_is_what_makes_it_noise() -> None:
    found = diverged(run("a", figure(100.0)), run("b", figure(95.0)), launch_sd=0.001)
    assert [(f.launch, f.part.change) for f in found.beyond_noise] == [("as found", "lower")]


def test_facts_must_be_equal_and_other_folders_of_one_name_stand_apart() -> None:
    then = run("a", facts={"engine.version": "0.5.12", "engine.folder": "/a/M", "gpu.name": "H200"})
    now = run("b", facts={"engine.version": "0.5.13", "engine.folder": "/b/M", "gpu.name": "H200"})
    found = diverged(then, now, launch_sd=0.05)
    assert [(s.key, s.first, s.second) for s in found.facts] == [("engine.version", "0.5.12", "0.5.13")]
    assert [s.key for s in found.elsewhere] == ["engine.folder"]
    assert "what differs: engine.version: 0.5.12 then, 0.5.13 now" in headline(found)


def test_only_another_folder_is_no_divergence() -> None:
    found = diverged(run("a", facts={"args.x": "/a/M"}), run("b", facts={"args.x": "/b/N"}), launch_sd=0.05)
    assert not found.any, "places are no part of what is compared, those of an older record neither"
    assert not found.elsewhere


def test_findings_and_ends_are_told_from_each_other() -> None:
    wired = RecordedFinding(check="layer-wiring", cause="WIRE-1", stance="supports", claim="fed otherwise")
    capped = RecordedFinding(check="request-cap", cause="CFG-1", stance="supports", claim="48 in force")
    off = RecordedHypothesis(launch="without speculation", status=Status.SUPPORTED)
    then = run("a", findings=(capped,), hypotheses=(off,), verdict=Verdict.CAUSE)
    now = run("b", findings=(wired,), verdict=Verdict.HEALTHY)
    found = diverged(then, now, launch_sd=0.05)
    assert [(f.seen, f.finding.cause) for f in found.findings] == [("only now", "WIRE-1"), ("only then", "CFG-1")]
    assert [(o.what, o.then, o.now) for o in found.outcomes] == [
        ("what without speculation tests", "supported", "not tested"),
        ("verdict", "cause", "healthy"),
    ]
    text = divergence_text(then, found, width=80)
    assert "only now  layer-wiring supports WIRE-1: fed otherwise" in text
    assert "ends      what without speculation tests: supported then, not tested now" in text
    assert divergence_document(then, found)["diverges"] is True


def test_a_launch_that_was_not_measured_is_said_to_be() -> None:
    found = diverged(run("a", figure(90.0, launch="without speculation")), run("b"), launch_sd=0.05)
    assert found.unmeasured == ("without speculation",)
    assert "without speculation was not measured now" in divergence_text(run("a"), found, width=80)
