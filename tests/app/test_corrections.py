"""A configuration that was read to be wrong is corrected in a copy, launched, and held against what was expected."""

from __future__ import annotations

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.core.events import HypothesisOpened, ServerRelaunched
from specdoctor.core.hypothesis import ConfigEdit, Hypothesis, Observation
from specdoctor.core.launch import CorrectedCopy
from specdoctor.core.model import Risk, Role, Status, Verdict
from specdoctor.core.server import Keeper, KeeperRef, ServerView
from specdoctor.drafter.correction import correction
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import run_of, settings_for, simulated

IDS = ConfigEdit(key="eagle_config.eagle_aux_hidden_state_layer_ids", value=[3, 31, 59])
WRONG = Observation(
    check="c",
    cause="WIRE-1",
    stance="supports",
    claim="x",
    binds=True,
    explains=True,
    about="accept_length",
    edits=(IDS,),
)
PLAIN = Keeper(kind="plain", restartable=True)
JSON_LINE = ("vllm", "serve", "/m", "--speculative-config", '{"method": "eagle3", "model": "/models/head/"}')


def view(*argv: str, **more: object) -> ServerView:
    given = {"engine": "sglang", "state": "running", "version": "0.5.17", "argv": argv, "model_path": "/m"}
    return ServerView.model_validate({**given, "draft_path": "/models/head", "keeper": PLAIN, **more})


def test_the_argument_that_names_the_folder_names_the_copy() -> None:
    found = correction(view("server", "--draft", "/models/head", "--model-path", "/m"), [WRONG])
    assert found is not None
    assert found.change is not None
    assert found.change.set_flags == {"--draft": ("/models/head-corrected",)}
    assert found.change.copies == CorrectedCopy(source="/models/head", edits=(IDS,))
    assert not found.change.is_original


def test_so_does_a_value_within_json() -> None:
    found = correction(view(*JSON_LINE), [WRONG], kept="/data/right")
    assert found is not None
    assert found.change is not None
    assert found.change.set_flags["--speculative-config"] == ('{"method": "eagle3", "model": "/data/right"}',)


@pytest.mark.parametrize(
    ("more", "edit", "said"),
    [
        ({}, IDS.model_copy(update={"needs": "SGLang 0.5.20"}), "cannot serve it; SGLang 0.5.20 or later can"),
        ({"keeper": Keeper(kind="docker", through=KeeperRef(kind="docker"))}, IDS, "kept by docker"),
        ({"draft_path": "org/head"}, IDS, "no folder of its own"),
        ({"draft_path": "/m"}, IDS, "no folder of its own"),
        ({"draft_config": {"general.architecture": "eagle3"}}, IDS, "GGUF"),
        ({"argv": ("server", "--config", "x.yaml")}, IDS, "no argument of the launch line"),
    ],
)
def test_what_cannot_be_tried_says_why(more: dict[str, object], edit: ConfigEdit, said: str) -> None:
    found = correction(view("--draft", "/models/head", **more), [WRONG.model_copy(update={"edits": (edit,)})])
    assert found is not None
    assert found.change is None
    assert said in found.why_not


def test_what_no_configuration_repairs_is_not_asked_about() -> None:
    assert correction(view("--draft", "/models/head"), [WRONG.model_copy(update={"edits": ()})]) is None


def repairs(run: Run) -> dict[str, Hypothesis]:
    return {h.prediction.metric: h for h in run.ledger.hypotheses.values() if h.answers == "repairs" and h.prediction}


@pytest.mark.slow
def test_the_prediction_of_the_drafter_alone_is_written_before_and_confirmed() -> None:
    run, code = simulated("off-by-one")
    assert (code, run.ledger.restarts, run.ledger.restored) == (0, 3, True)
    found = repairs(run)
    assert {h.status for h in found.values()} == {Status.SUPPORTED}
    length = found["accept_length"].prediction
    assert length is not None
    assert length.value is not None
    assert length.most is not None
    assert length.value < 3.06 < length.most
    events = list(run.store.events(run.id))
    opened = [i for i, e in enumerate(events) if isinstance(e, HypothesisOpened) and e.hypothesis.answers == "repairs"]
    launched = [i for i, e in enumerate(events) if isinstance(e, ServerRelaunched) and e.change.copies is not None]
    assert len(opened) == 2
    assert max(opened) < min(launched)
    assert run.ledger.verdict is not None
    told = dict(run.ledger.verdict.lines)["repair"]
    assert told.count("confirmed: ") == 2
    assert "taken away with the run" in told


@pytest.mark.slow
def test_a_version_that_cannot_serve_the_wiring_is_not_started_for_it() -> None:
    run, _ = simulated("kimi-k2.5-eagle3")
    assert repairs(run) == {}
    assert run.ledger.verdict is not None
    told = dict(run.ledger.verdict.lines)["repair"]
    assert told.startswith(
        "not tried (eagle_config.eagle_aux_hidden_state_layer_ids = [0, 3, 31]): sglang 0.5.12 cannot"
    )
    assert all(r.change.copies is None for r in run.ledger.relaunches)


@pytest.mark.slow
def test_a_repair_in_vain_leaves_the_fault_real_and_the_loss_unexplained() -> None:
    """The states come right and nothing is gained: then they were not what costs acceptance."""
    world = World.from_yaml("ids-top-level-ignored")
    models = tuple(
        m.model_copy(update={"acceptance": m.acceptance.model_copy(update={"as_trained": m.acceptance.otherwise})})
        if m.acceptance is not None
        else m
        for m in world.models
    )
    run = run_of(SimulatedHost(world.model_copy(update={"models": models})))
    start(run, settings_for(world))
    assert investigate(run, checkpoints=None) == 3
    assert run.ledger.restored is True
    assert run.ledger.verdict is not None
    assert run.ledger.verdict.verdict is Verdict.NOT_ENOUGH_EVIDENCE
    named = {c.cause: c for c in run.ledger.verdict.causes}["WIRE-1"]
    assert (named.status, named.role) == ("supported", Role.PRESENT)
    assert "not decided: with " in dict(run.ledger.verdict.lines)["repair"]
    assert "is not why it is slow" in run.ledger.verdict.headline


@pytest.mark.slow
def test_without_leave_for_restarts_beforehand_nothing_is_corrected() -> None:
    run, _ = simulated("off-by-one", allow=Risk.LOAD)
    assert repairs(run) == {}
    assert run.ledger.restarts == 0


@pytest.mark.slow
def test_after_a_repair_that_removed_the_loss_no_rival_is_offered_for_it() -> None:
    run, _ = simulated("off-by-one")
    assert run.ledger.verdict is not None
    said = dict(run.ledger.verdict.lines)
    assert said["repair"].startswith("confirmed")
    assert "what explains the symptom" not in said["not known"]
