"""Whole investigations of the practice worlds, on a virtual clock, held against what the worlds say is true."""

from __future__ import annotations

import re

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.model import Risk, Role, Status, Verdict
from specdoctor.core.operations import OnProgress
from specdoctor.core.ports import Answer
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World, builtin_worlds
from specdoctor.render.json_run import run_document
from tests.app.investigating import Scripted, run_of, settings_for, simulated

DOWN = {"server-down"}
LIKE_ANOTHER = (
    "in-docker",
    "under-systemd",
    "in-slurm",
    "in-kubernetes",
    "two-nodes",
    "live-traffic",
    "secret-in-argv",
    "no-python",
    "numactl-wrapped",
)
"""Worlds that have another one's server under another keeper, or in other company."""

OWN_SERVERS = tuple(name for name in builtin_worlds() if name not in LIKE_ANOTHER)


def verdict_of(run: Run) -> Verdict:
    assert run.ledger.verdict is not None
    return run.ledger.verdict.verdict


def roles(run: Run) -> dict[str, tuple[str, Role]]:
    assert run.ledger.verdict is not None
    return {c.cause: (c.status, c.role) for c in run.ledger.verdict.causes}


ONE_DRAW = frozenset(
    "batch-crossover bimodal-starts context-2048 d2t-zero eagle-flag-on-eagle3 graphs-off-in-verify healthy-noisy "
    "healthy-offbyone-convention ids-top-level-ignored missing-lm-head moe-verify-cost numa-unbound off-by-one "
    "patched-engine phantom-regression power-capped quantised-draft-inherited rope-mismatch template-mismatch "
    "tree-too-wide undertrained lost-when-sampling near-ties".split()
)
"""Worlds whose other draws are left to the end-to-end suite."""

LATER = ONE_DRAW - set("graphs-off-in-verify numa-unbound".split()) | {"kimi-k2.5-eagle3", "request-cap-48"}
"""Worlds left to the end-to-end suite altogether: each has a near relation that is always played."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[pytest.mark.slow] if seed or name in LATER else [])
        for name in OWN_SERVERS
        for seed in (0, 1)
        if not (seed and name in ONE_DRAW)
    ],
)
def test_no_world_is_answered_wrongly(name: str, seed: int) -> None:
    """Right, or honestly short of it; and the server is as it was."""
    run, code = simulated(name, seed=seed)
    truth = World.from_yaml(name).truth
    found = roles(run)
    assert verdict_of(run) in (truth.verdict, Verdict.NOT_ENOUGH_EVIDENCE)
    for cause in truth.forbidden:
        status, role = found.get(cause, ("suspected", Role.PRESENT))
        assert status == "suspected" or role is Role.PRESENT, cause
    if verdict_of(run) is Verdict.CAUSE:
        explaining = {c for c, (status, role) in found.items() if status == "supported" and role is Role.EXPLAINS}
        assert explaining == {c.id for c in truth.causes if c.role is Role.EXPLAINS}
    assert run.ledger.restored in (None, True)
    assert run.ledger.restarts <= run.ledger.settings.max_restarts
    assert code == (5 if name in DOWN else 3 if verdict_of(run) is Verdict.NOT_ENOUGH_EVIDENCE else 0)


BY_ANOTHER_IMAGE = {"image-regression"}
"""Worlds that only a launch of another image decides, which needs a real host: the end-to-end suite plays them."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LATER else [])
        for name in OWN_SERVERS
        if name not in BY_ANOTHER_IMAGE
    ],
)
def test_these_worlds_are_decided(name: str) -> None:
    run, _ = simulated(name)
    assert verdict_of(run) is World.from_yaml(name).truth.verdict


@pytest.mark.parametrize("name", LIKE_ANOTHER)
def test_a_server_that_may_not_be_restarted_is_read_right_and_left_alone(name: str) -> None:
    """The fault is found everywhere; what it explains is known where a restart was possible, and nowhere guessed."""
    run, code = simulated(name)
    world, found = World.from_yaml(name), roles(run)
    assert found["CFG-5"][0] == "supported"
    assert run.scene is not None
    assert run.scene.view is not None
    keeper = run.scene.view.keeper
    if keeper.restartable and world.live_traffic is None:
        assert (verdict_of(run), code, run.ledger.restored) == (world.truth.verdict, 0, True)
        return
    assert (verdict_of(run), code, run.ledger.restarts) == (Verdict.NOT_ENOUGH_EVIDENCE, 3, 0)
    assert run.ledger.verdict is not None
    assert world.live_traffic is not None or "to test by hand: " in dict(run.ledger.verdict.lines)["do now"]


def test_a_drafter_fed_other_states_than_it_learnt_from_explains_its_accept_length() -> None:
    run, code = simulated("kimi-k2.5-eagle3")
    found = roles(run)
    assert code == 0
    assert found["WIRE-1"] == ("supported", Role.EXPLAINS)
    assert found["CFG-3"] == ("supported", Role.PRESENT)
    ruled_out = [h.cause for h in run.ledger.hypotheses.values() if h.status is Status.FALSIFIED]
    assert ruled_out == ["CFG-3", "TRAIN-1", "TRAIN-2", "TRAIN-3"]
    assert run.ledger.restarts == 3
    assert run.ledger.verdict is not None
    lines = dict(run.ledger.verdict.lines)
    assert "trained on embed, out(2), out(30)" in lines["because"]
    assert "SGLang 0.5.20 or later can, with eagle_config.eagle_aux_hidden_state_layer_ids [0, 3, 31]" in lines["fix"]
    assert "there id n is the state that enters layer n, here the one that leaves it" in lines["fix"]
    assert "train it again on out(2), out(30), out(58)" in lines["fix"]
    assert "why a cycle of 2 tokens costs" in lines["not known"]


def test_what_the_repair_would_bring_is_told_by_the_drafter_alone_and_the_measured_cycles() -> None:
    """The figures are those that the world gives once its drafter is fed what it learnt from."""
    run, _ = simulated("kimi-k2.5-eagle3")
    assert run.ledger.verdict is not None
    told = dict(run.ledger.verdict.lines)["expected"]
    figures = World.from_yaml("kimi-k2.5-eagle3").truth.figures
    at = {int(k): float(v) for v, k in re.findall(r"([\d.]+) tok/s \([^)]*\) at (\d+) steps?", told)}
    assert set(at) == {1, 6, 15}
    for steps, speed in at.items():
        assert speed == pytest.approx(figures[f"as_trained_steps{steps}_tok_s"], rel=0.02)
    best = re.search(r"6 steps \(best, accept length ([\d.]+)\)", told)
    assert best is not None
    assert float(best[1]) == pytest.approx(3.06, abs=0.05)
    assert "/Kimi-K2.5-eagle3/train/states-sample.safetensors)" in told
    document = run_document(run.ledger)
    assert {one.draft_steps for one in document.after_repair} == {1, 6, 15}
    for one in document.after_repair:
        low, high = one.throughput_interval
        assert low < figures[f"as_trained_steps{one.draft_steps}_tok_s"] < high
    assert "without speculation 89." in told


def test_prompts_of_the_training_are_tried_once_and_stand_apart() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    tried = [m for m in run.ledger.measurements if m.source == "prompts"]
    assert [m.launch_key for m in tried] == ["original on /models/Kimi-K2.5-eagle3/train/prompts-sample.json"]
    as_found = run.ledger.measured("original")
    assert as_found is not None
    assert as_found.prompt_set != tried[0].prompt_set


@pytest.mark.slow
def test_a_weak_drafter_is_told_from_a_wrong_wiring_by_what_it_gives_alone() -> None:
    run, _ = simulated("undertrained")
    assert roles(run)["TRAIN-2"] == ("supported", Role.EXPLAINS)
    assert run.ledger.verdict is not None
    assert "repair TRAIN-2" not in dict(run.ledger.verdict.lines)["then"]


@pytest.mark.slow
def test_of_a_patched_engine_the_version_tells_nothing_and_its_source_does() -> None:
    run, code = simulated("patched-engine")
    assert code == 0
    assert roles(run)["WIRE-1"] == ("supported", Role.EXPLAINS)
    assert run.ledger.verdict is not None
    assert "(by its source, /home/" in next(c.claim for c in run.ledger.verdict.causes if c.cause == "WIRE-1")


def test_a_patched_engine_whose_source_is_not_there_is_suspected() -> None:
    world = World.from_yaml("patched-engine")
    without = world.model_copy(update={"host": world.host.model_copy(update={"files": {}})})
    run = run_of(SimulatedHost(without))
    start(run, settings_for(without))
    code = investigate(run, checkpoints=None)
    assert code == 3
    assert roles(run)["WIRE-1"][0] == "suspected"
    assert run.ledger.verdict is not None
    assert "specdoctor wiring --engine-source" in dict(run.ledger.verdict.lines)["not known"]


def test_what_was_read_explains_nothing_before_the_loss_was_measured() -> None:
    run, code = simulated("kimi-k2.5-eagle3", allow=Risk.READ)
    assert code == 4
    assert run.ledger.by_key("explains:WIRE-1:read") is None


@pytest.mark.parametrize(("allow", "measured"), [(Risk.READ, False), (Risk.RESTART, True)])
def test_what_is_known_without_a_restart_stands_in_the_verdict_until_it_is_measured(
    allow: Risk, measured: bool
) -> None:
    run, _ = simulated("kimi-k2.5-eagle3", allow=allow)
    reached = run.ledger.verdict
    assert reached is not None
    lines = dict(reached.lines)
    assert ("arithmetic" in lines) is not measured
    assert lines.get("arithmetic", "").startswith("if 90 tok/s without, your figure, holds: 1 step") is not measured
    assert ("by your figure that is faster, 90 against" in lines["do now"]) is not measured


def test_the_tempting_fault_is_real_and_does_not_explain() -> None:
    run, code = simulated("kimi-k2.5-eagle3", recorded=False)
    found = roles(run)
    assert code == 3
    assert found["CFG-3"] == ("supported", Role.PRESENT)
    assert found["WIRE-1"][0] == "suspected"
    assert {"TRAIN-1", "TRAIN-2", "TRAIN-3"} & set(found)
    assert {"LOAD-3", "GRAPH-4"} <= set(found)
    falsified = [h for h in run.ledger.hypotheses.values() if h.status is Status.FALSIFIED]
    assert [h.cause for h in falsified] == ["CFG-3"]
    assert "90" in falsified[0].because
    assert run.ledger.restarts == 3


def test_arithmetic_speaks_before_any_restart() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    first = min(e.at for e in run.ledger.relaunches)
    typed = [b for b in run.ledger.bounds if b.basis == "typed"]
    same, longer = typed
    assert all(b.at < first for b in typed)
    assert "2.54" in same.text
    assert same.refuted
    assert longer.value == pytest.approx(88.7, abs=0.1)
    assert longer.refuted
    measured = [b for b in run.ledger.bounds if b.basis == "measured" and b.at < first and b.about == longer.about]
    assert measured
    assert all(b.high >= 90.0 and not b.refuted for b in measured)


def test_a_fix_that_pays_is_recommended_with_what_it_was_measured_to_bring() -> None:
    run, _ = simulated("override-is-the-cause")
    assert run.ledger.verdict is not None
    advice = run.ledger.verdict.recommendation
    off = next(m for m in run.ledger.measurements if not m.spec.on)
    assert advice is not None
    assert off.throughput is not None
    assert advice.basis == "measured"
    speed = advice.expected["throughput_tok_s"]
    assert isinstance(speed, float)
    assert speed > off.throughput.high
    assert "--speculative-num-steps 5" in advice.launch


@pytest.mark.parametrize("allow", [Risk.READ, Risk.LOAD, Risk.RESTART])
def test_a_healthy_server_is_never_restarted(allow: Risk) -> None:
    run, code = simulated("healthy", allow=allow)
    assert (code, run.ledger.restarts, run.ledger.restored) == (0, 0, None)


def test_without_permission_the_run_stops_and_says_what_is_known() -> None:
    run, code = simulated("kimi-k2.5-eagle3", allow=Risk.READ)
    assert code == 4
    assert run.ledger.restarts == 0
    assert run.ledger.bounds
    assert run.ledger.ended is not None
    assert "--resume" in run.ledger.ended.reason


def test_no_is_an_answer() -> None:
    approver = Scripted([Answer(granted=True, scope="once", by="me"), Answer(granted=False, by="me")])
    run, code = simulated("kimi-k2.5-eagle3", allow=Risk.READ, approver=approver)
    assert code == 3
    assert run.ledger.restarts == 0
    assert run.ledger.measured("original") is not None
    asked = approver.asked[1]
    assert "way back" in asked.text
    assert any("sglang.launch_server" in c for c in asked.commands)


def test_a_dry_run_prints_commands_and_touches_nothing() -> None:
    run, _ = simulated("kimi-k2.5-eagle3", allow=Risk.READ, dry_run=True)
    assert run.ledger.restarts == 0
    assert all(m.source != "bench" for m in run.ledger.measurements)
    assert any("POST /generate" in n.text for n in run.ledger.notes)


def test_no_secret_is_kept() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    argv = World.from_yaml("kimi-k2.5-eagle3").launch.argv
    secret = argv[argv.index("--api-key") + 1]
    kept = "".join(e.model_dump_json() for e in run.store.events(run.id))
    artefacts = getattr(run.store, "artefacts")  # noqa: B009  the port does not offer them all at once
    assert secret not in kept
    assert all(secret.encode() not in content for content in artefacts.values())


@pytest.mark.parametrize(
    "symptom",
    [
        "lower throughput than without speculation",
        pytest.param("Throughput went from 90 tok/s to 57 tok/s after enabling EAGLE-3", marks=pytest.mark.slow),
        pytest.param("accept length is 1.6, very low", marks=pytest.mark.slow),
        pytest.param("EAGLE-3 bringt nichts, 57 Tokens pro Sekunde, ohne 90", marks=pytest.mark.slow),
        pytest.param("90 tok/s with EAGLE and 57 without", marks=pytest.mark.slow),
        pytest.param("EAGLE-3 is slow: 57 tok/s; it was 40 tok/s without", marks=pytest.mark.slow),
        "",
        pytest.param("is everything ok?", marks=pytest.mark.slow),
    ],
)
def test_no_wording_makes_a_loss_healthy(symptom: str) -> None:
    run, code = simulated("kimi-k2.5-eagle3", symptom=symptom, recorded=False)
    assert verdict_of(run) is Verdict.NOT_ENOUGH_EVIDENCE
    assert code == 3
    slower = run.ledger.by_key("symptom:slower")
    assert slower is not None
    assert slower.status is Status.SUPPORTED


class DeafHost(SimulatedHost):
    """Every request of a benchmark fails."""

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        record = super().bench(plan, on_progress)
        failed = tuple(r.model_copy(update={"ok": False, "error": "http 500"}) for r in record.requests)
        return record.model_copy(update={"requests": failed})


@pytest.mark.parametrize("symptom", ["is everything ok?", "Is it all right? 57 tok/s with, 40 tok/s without"])
def test_a_benchmark_that_gives_nothing_proves_nothing(symptom: str) -> None:
    world = World.from_yaml("kimi-k2.5-eagle3").model_copy(update={"history": ()})
    run = run_of(DeafHost(world))
    start(run, RunSettings(symptom=symptom, allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == 3
    assert verdict_of(run) is Verdict.NOT_ENOUGH_EVIDENCE


@pytest.mark.parametrize("symptom", ["slow", ""])
def test_a_binding_fault_is_tested_where_the_user_gives_no_figures(symptom: str) -> None:
    run, _ = simulated("graphs-off-by-flag", symptom=symptom)
    assert verdict_of(run) is Verdict.CAUSE
    assert roles(run)["CFG-5"] == ("supported", Role.EXPLAINS)


def test_what_was_not_tested_is_not_called_harmless() -> None:
    run, _ = simulated("kimi-k2.5-eagle3", max_restarts=2, recorded=False)
    assert run.ledger.verdict is not None
    assert "not tested" in run.ledger.verdict.headline
    assert "does not explain" not in dict(run.ledger.verdict.lines)["because"]


def test_one_request_is_enough_for_an_honest_end() -> None:
    run, code = simulated("kimi-k2.5-eagle3", requests=1)
    assert code == 3
    assert run.ledger.restored in (None, True)


@pytest.mark.slow
def test_requests_that_wait_are_a_cause_where_nothing_was_said() -> None:
    run, _ = simulated("request-cap-48", symptom="")
    assert verdict_of(run) is Verdict.CAUSE
    assert roles(run)["CFG-1"] == ("supported", Role.EXPLAINS)


def test_a_run_that_measured_no_baseline_has_no_break_even() -> None:
    run, _ = simulated("healthy")
    assert run_document(run.ledger).break_even is None


def test_typed_figures_are_tested_or_open() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    claims = run_document(run.ledger).claims
    assert {c.status for c in claims} <= {"tested", "open"}
    assert any(c.status == "tested" and c.metric == "throughput_tok_s" for c in claims)
