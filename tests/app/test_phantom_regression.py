"""The second story: remembered figures belong to another state of the machine, and the update is not to blame."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.core.model import Role, Status, Verdict
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.json_run import RunDocument, run_document
from tests.app.investigating import run_of, settings_for, simulated

WORLD = "phantom-regression"


@pytest.fixture(scope="module")
def run() -> Run:
    return simulated(WORLD)[0]


@pytest.fixture(scope="module")
def document(run: Run) -> RunDocument:
    return run_document(run.ledger)


@pytest.mark.slow
def test_each_suspect_of_the_update_is_ruled_out_by_evidence(run: Run, document: RunDocument) -> None:
    falsified = {h.key: h for h in run.ledger.hypotheses.values() if h.status is Status.FALSIFIED}
    assert all(h.evidence for h in falsified.values())
    assert {key.rpartition(":")[2] for key in falsified} == {
        "engine version in force",
        "kernel packages",
        "attention back-ends of prefill and decode",
        "other-install",
    }
    assert document.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    assert not {"VER-1", "GRAPH-3"} & {c.cause for c in document.causes}


def test_both_commits_are_really_launched_and_told_apart(document: RunDocument) -> None:
    world = World.from_yaml(WORLD)
    commits = {install.commit[:12] for install in world.engine.installs}
    found = {m.software.rpartition(" at ")[2]: m for m in document.measurements if m.source == "bench"}
    assert found.keys() == commits
    installs = next(c for c in document.comparisons if c.about == "installs")
    assert installs.outcome == "no difference"
    assert 0.95 < installs.throughput_ratio < 1.05
    assert "in question would have shown" in installs.text


def test_decode_alone_and_requests_are_both_told_and_their_gap_is_a_finding(run: Run, document: RunDocument) -> None:
    now = next(m for m in document.measurements if m.launch == "as found" and m.source == "bench")
    off = next(m for m in document.measurements if m.draft_steps == 0)
    assert now.throughput_tok_s == pytest.approx(66.7, abs=1.0)
    assert now.request_throughput_tok_s == pytest.approx(60.0, abs=1.0)
    assert now.identity_gap == pytest.approx(0.10, abs=0.015)
    assert off.throughput_tok_s == pytest.approx(82.5, abs=0.6)
    assert off.throughput_interval is not None
    finding = run.ledger.by_key("finding:gap")
    assert finding is not None
    assert finding.status is Status.SUPPORTED
    assert now.step_ms == pytest.approx(30.0, abs=0.3)
    assert "decode time" in now.estimator


def test_remembered_figures_are_of_another_state_and_rank_what_may_have_changed(
    run: Run, document: RunDocument
) -> None:
    remembered = [c for c in document.claims if c.recalled_at]
    assert {c.text for c in remembered} == {"baseline=89", "spec=94", "verify_ms=19", "cycle_ms=20"}
    assert {c.status for c in remembered} == {"other-state"}
    assert all("the container has started since" in c.why for c in remembered)
    dated = {c.text: c.dated for c in remembered if c.dated is not None}
    assert dated.keys() == {"baseline=89", "spec=94", "cycle_ms=20"}
    assert all(d.agrees and d.state == "earlier" and d.lines for d in dated.values())
    assert {run.ledger.evidence[d.evidence].source for d in dated.values()} == {"history"}
    assert not any(m.source == "earlier" for m in run.ledger.measurements)
    change = document.state_change
    assert change is not None
    assert 1.07 <= change.baseline_step_factor <= 1.09
    assert change.cycle_factor == pytest.approx(1.5, abs=0.02)
    order = [s.cause for s in change.suspects]
    assert order.index("ENV-3") > max(order.index(c) for c in ("ENV-4", "ENV-1", "GRAPH-2", "GRAPH-4"))
    found = run.ledger.measured("original")
    assert found is not None
    assert found.fingerprint["host.booted_at"] < found.fingerprint["container.started_at"]


def test_arithmetic_says_what_would_pay(document: RunDocument) -> None:
    even = document.break_even
    assert even is not None
    assert even.accept_length == pytest.approx(2.46, abs=0.05)
    assert even.cycle_ms == pytest.approx(24.4, abs=0.3)
    assert (even.target_tok_s, even.maximum_accept_length, even.feasible) == (100.0, 3, False)
    assert even.accept_length_for_target == pytest.approx(3.0, abs=0.03)
    advice = document.recommendation
    assert advice is not None
    assert "--speculative" not in advice.launch
    assert "2.4" in advice.then[0]
    assert "more data" in advice.then[0]
    assert "24." in advice.then[1]


def test_the_long_cycle_stays_open_with_rivals_and_their_tests(document: RunDocument) -> None:
    rivals = {c.cause: c for c in document.causes if c.status == "suspected"}
    assert {"GRAPH-2", "GRAPH-4", "ENV-1", "ENV-4", "LOAD-3"} <= set(rivals)
    assert all(c.decides for c in rivals.values())


@pytest.mark.slow
def test_a_real_regression_is_found_by_the_same_launches() -> None:
    """The other side of it: where the new commit is slower, the old one is what explains the loss."""
    world = World.from_yaml(WORLD)
    new, old = world.engine.installs
    slower = new.model_copy(update={"host_factor": 3.0})
    engine = world.engine.model_copy(update={"installs": (slower, old)})
    host = world.physics.host.model_copy(update={"speculation_ms": 5.0, "verify_ms": 0.0})
    physics = world.physics.model_copy(update={"host": host})
    world = world.model_copy(update={"engine": engine, "physics": physics})
    run = run_of(SimulatedHost(world))
    start(run, settings_for(world))
    assert investigate(run, checkpoints=None) == 0
    document = run_document(run.ledger)
    assert document.verdict is Verdict.CAUSE
    assert [(c.cause, c.role) for c in document.causes if c.status == "supported"] == [("VER-1", Role.EXPLAINS)]
    installs = next(c for c in document.comparisons if c.about == "installs")
    assert installs.outcome == "better"


def test_another_place_with_the_same_engine_decides_nothing() -> None:
    world = World.from_yaml(WORLD)
    new, old = world.engine.installs
    engine = world.engine.model_copy(update={"installs": (new, old.model_copy(update={"commit": new.commit}))})
    world = world.model_copy(update={"engine": engine})
    run = run_of(SimulatedHost(world))
    start(run, settings_for(world))
    investigate(run, checkpoints=None)
    claim = run.ledger.by_key("explains:VER-1:other-install")
    assert claim is not None
    assert claim.status is Status.PARKED
    assert "the engine that was found" in claim.because
