"""What is said of machine, load and noise, beyond the cause that each of these worlds has."""

from __future__ import annotations

import pytest

from specdoctor.core.model import Role, Status
from specdoctor.render.json_run import run_document
from tests.app.investigating import simulated

pytestmark = pytest.mark.slow


def test_noise_is_told_by_what_the_design_can_show_and_never_as_a_cause() -> None:
    run, _ = simulated("healthy-noisy")
    document = run_document(run.ledger)
    assert document.causes == ()
    (found,) = [c for c in document.comparisons if c.about == "speculation"]
    assert found.outcome in ("inconclusive", "no difference")
    assert found.visible > found.at_stake > 0
    assert found.starts_needed is not None
    assert found.starts_needed > 30
    assert "starts of each" in document.headline


def test_a_clamp_is_seen_while_the_gpu_works_and_slows_both_alike() -> None:
    run, _ = simulated("power-capped")
    read = [o for o in run.ledger.observations if o.observation.cause == "ENV-3"]
    assert [o.observation.stance for o in read] == ["suggests", "supports"]
    assert "1140 of 1980 MHz under load (software power cap" in read[-1].observation.claim
    slower = run.ledger.by_key("symptom:slower")
    assert slower is not None
    assert slower.status is Status.FALSIFIED
    assert run.ledger.verdict is not None
    assert "nvidia-smi -pl" in dict(run.ledger.verdict.lines)["fix"]


def test_a_clamp_never_explains_that_speculation_loses() -> None:
    """Slower than without speculation, on a GPU whose clocks are held down: the clamp is real and not the reason."""
    run, _ = simulated("power-capped", symptom="got slower since the move: 220 tok/s, was 300; 250 tok/s without")
    roles = {c.cause: c.role for c in run_document(run.ledger).causes if c.status == "supported"}
    assert roles.keys() == {"ENV-3"}
    lossy, _ = simulated("power-capped", symptom="EAGLE-3 is slower than no speculation")
    roles = {c.cause: c.role for c in run_document(lossy.ledger).causes if c.status == "supported"}
    assert roles == {"ENV-3": Role.PRESENT}


def test_the_crossover_is_predicted_between_what_was_measured() -> None:
    run, _ = simulated("batch-crossover")
    assert run.ledger.verdict is not None
    advice = run.ledger.verdict.recommendation
    assert advice is not None
    assert "--speculative" not in advice.launch
    assert "on below about" in advice.then[0]
    assert "predicted" in advice.then[0]


def test_experts_are_told_by_load_on_the_launch_without_speculation() -> None:
    run, _ = simulated("moe-verify-cost")
    assert run.ledger.restarts == 2
    four = run.ledger.baseline(4)
    one = run.ledger.baseline(1)
    assert four is not None
    assert one is not None
    assert four.step is not None
    assert one.step is not None
    assert four.step.value > 1.8 * one.step.value


@pytest.mark.parametrize("world", ["bimodal-starts"])
def test_equal_starts_are_measured_until_two_speeds_are_seen(world: str) -> None:
    run, _ = simulated(world)
    claim = run.ledger.by_key("explains:ENV-6:starts")
    assert claim is not None
    assert claim.status is Status.SUPPORTED
    assert len(claim.evidence) >= 4
    assert run.ledger.verdict is not None
    assert run.ledger.verdict.recommendation is None
    few, code = simulated(world, max_restarts=2)
    undecided = few.ledger.by_key("explains:ENV-6:starts")
    assert undecided is not None
    assert (undecided.status, code) == (Status.OPEN, 3)
