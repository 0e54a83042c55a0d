"""The capture rule of a patched engine, followed in its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.app.wiring import judge_wiring
from specdoctor.assembly.catalogue import all_drafter_checks
from specdoctor.core.errors import CheckpointError
from specdoctor.core.model import Verdict
from specdoctor.drafter.comparison import EngineChoice
from specdoctor.drafter.source_rule import source_rule
from specdoctor.drafter.states import at_entries
from specdoctor.lab.world import World
from tests.drafter.folders import put_head, put_target
from tests.drafter.judging import files
from tests.lab.engine_bench import launched

ALWAYS = """
class Model:
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        if not self.pp_group.is_last_rank:
            return
        self.capture_aux_hidden_states = True
        if layer_ids is None:
            num_layers = self.config.num_hidden_layers
            self.model.layers_to_capture = [2, num_layers // 2, num_layers - 3]
        else:
            self.model.layers_to_capture = [val + 1 for val in layer_ids]
"""
BY_FIRST = """
class Model:
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        if layer_ids is None:
            n = self.config.num_hidden_layers
            self.model.layers_to_capture = [2, n // 2, n - 3]
        elif layer_ids[0] == 1:
            self.model.layers_to_capture = [val + 1 for val in layer_ids]
        else:
            self.model.layers_to_capture = list(layer_ids)
"""
BY_LARGEST = """
def set_eagle3_layers_to_capture(self, layer_ids=None):
    last = self.config.num_hidden_layers
    shift = 0 if max(layer_ids) == last else 1
    self.model.layers_to_capture = sorted([v + shift for v in layer_ids if v >= 0])
"""
WRAPPER = """
def set_eagle3_layers_to_capture(self, layer_ids=None):
    self.language_model.set_eagle3_layers_to_capture(layer_ids)
"""
LOOP = """
def set_eagle3_layers_to_capture(self, layer_ids=None):
    self.layers_to_capture = []
    for v in layer_ids:
        self.layers_to_capture.append(v)
"""
HARM = """
import os
os.system("touch ran")
def set_eagle3_layers_to_capture(self, layer_ids=None):
    self.layers_to_capture = [os.system("touch ran")]
"""
ENDLESS = """
def set_eagle3_layers_to_capture(self, layer_ids=None):
    self.layers_to_capture = [a for a in [b for b in layer_ids * 900000]]
"""


@pytest.mark.parametrize(
    ("text", "ids", "entries"),
    [
        (ALWAYS, [2, 30, 58], [3, 31, 59]),
        (ALWAYS, None, [2, 30, 58]),
        (BY_FIRST, [1, 29, 57], [2, 30, 58]),
        (BY_FIRST, [0, 3, 31], [0, 3, 31]),
        (BY_LARGEST, [59, 3, 60], [4, 60, 61]),
        (BY_LARGEST, [59, 3, 61], [3, 59, 61]),
    ],
)
def test_the_forms_that_occur_are_followed(text: str, ids: list[int] | None, entries: list[int]) -> None:
    assert source_rule(text, "model.py").entries(ids, 61) == entries


@pytest.mark.parametrize("text", [WRAPPER, "x = 1", "def f(:", "\0"])
def test_a_file_without_the_rule_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError, match=r"model\.py"):
        source_rule(text, "model.py")


@pytest.mark.parametrize("text", [LOOP, HARM, ENDLESS, ALWAYS + BY_FIRST.replace("Model", "Other")])
def test_what_is_not_followed_is_said_and_not_run(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError, match=r"model\.py:\d"):
        source_rule(text, "model.py").entries([2, 30, 58], 61)
    assert not (tmp_path / "ran").exists()


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_a_message(text: str) -> None:
    with pytest.raises(CheckpointError, match="m"):
        source_rule(text, "model.py")


def test_a_patched_engine_is_decided_by_its_source(tmp_path: Path) -> None:
    head, target = put_head(tmp_path / "head", (2, 6, 9)), put_target(tmp_path / "target")
    patched = EngineChoice(name="sglang", version="0.5.12.dev3+gabc1234")
    record = ("record.yaml", "trained_on: [out(1), out(5), out(8)]")

    def verdict(text: str | None) -> Verdict:
        source = ("llama.py", text) if text is not None else None
        found = judge_wiring(
            files(head), files(target), checks=all_drafter_checks(), training=record, choice=patched, source=source
        )
        return found.verdict

    assert verdict(None) is Verdict.NOT_ENOUGH_EVIDENCE
    assert verdict(ALWAYS) is Verdict.CAUSE
    assert verdict(BY_FIRST) is Verdict.HEALTHY


def test_the_source_of_the_patched_world_says_what_its_server_takes() -> None:
    world = World.from_yaml("patched-engine")
    resolved = launched(world)
    (where, text), *_ = world.host.files.items()
    ids = world.model("llama-8b-eagle3").config["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
    entries = source_rule(text, where).entries(ids, 32)
    assert at_entries(entries) == resolved.captured_states == ("out(0)", "out(14)", "out(27)")
    assert not resolved.wired_as_trained
