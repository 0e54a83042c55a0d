"""The rule of captured states as the programs read it from an installed engine: found, bounded, never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdoctor.drafter.source_rule import source_rule
from specdoctor.remote.parts import capture_rule as part
from specdoctor.remote.parts.capture_rule import capture_rule
from specdoctor.remote.parts.model_files import architectures
from tests.remote.test_probe import install, probe
from tests.remote.workplace import PYTHONS, Workplace

DEEPSEEK = '''"""Inference-only model."""
import os

os.system("touch ran")


class DeepseekV2Model:
    layers_to_capture = []


class DeepseekV2ForCausalLM(nn.Module):
    def __init__(self):
        self.secret = 1

    def set_eagle3_layers_to_capture(
        self, layer_ids=None
    ) -> None:
        if layer_ids is None:
            n = self.config.num_hidden_layers
            self.model.layers_to_capture = [2, n // 2, n - 3]
        else:

            self.model.layers_to_capture = [v + 2 for v in layer_ids]

    def forward(self):
        self.layers_to_capture = None


class DeepseekV3ForCausalLM(
    DeepseekV2ForCausalLM
):
    pass


EntryClass = [DeepseekV2ForCausalLM, DeepseekV3ForCausalLM]
'''
WRAPPER = """
class KimiK25ForConditionalGeneration(nn.Module):
    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.language_model.set_eagle3_layers_to_capture(layer_ids)
"""
SOURCES = {"sglang/srt/models/deepseek_v2.py": DEEPSEEK, "sglang/srt/models/kimi_k25.py": WRAPPER}
NAMES = ["KimiK25ForConditionalGeneration", "DeepseekV3ForCausalLM"]


def put(site: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return site


def test_a_wrapper_and_a_parent_are_followed_to_the_lines_that_decide(tmp_path: Path) -> None:
    found = capture_rule([str(tmp_path / "no"), str(put(tmp_path, SOURCES))], NAMES)
    assert found is not None
    assert found["path"].endswith("sglang/srt/models/deepseek_v2.py")
    text = found["text"]
    assert "secret" not in text
    assert "os.system" not in text
    rule = source_rule(text, found["path"])
    assert rule.entries([2, 30, 58], 61) == [4, 32, 60]
    cited = rule.cited([2, 30, 58], 61)
    line = (cited.line or 0) - 1
    assert DEEPSEEK.split("\n")[line].strip() == cited.quote == text.split("\n")[line].strip()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({}, NAMES),
        ({"sglang/srt/models/kimi_k25.py": WRAPPER}, NAMES),
        (SOURCES, ["LlamaForCausalLM"]),
        (SOURCES, []),
        ({"sglang/srt/models/a.py": "class A(B):\n    x = 1\nclass B(A):\n    x = 2\n"}, ["A"]),
    ],
)
def test_what_does_not_decide_is_no_rule(tmp_path: Path, files: dict[str, str], names: list[str]) -> None:
    assert capture_rule([str(put(tmp_path, files))], names) is None


def test_no_more_than_the_bound_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = str(put(tmp_path, SOURCES))
    monkeypatch.setattr(part, "MOST_SOURCE_BYTES", len(DEEPSEEK) - 1)
    assert capture_rule([site], NAMES) is None
    monkeypatch.setattr(part, "MOST_SOURCE_BYTES", 1 << 20)
    monkeypatch.setattr(part, "LARGEST_SOURCE", len(DEEPSEEK) - 1)
    assert capture_rule([site], NAMES) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"architectures": ["A"], "text_config": {"architectures": ["B"]}}', ["A", "B"]),
        ('{"architectures": "A", "text_config": ["B"]}', []),
        ("[]", []),
        ("{", []),
        ("", []),
    ],
)
def test_class_names_of_a_target(text: str, names: list[str]) -> None:
    assert architectures(text) == names


def served(place: Workplace, *flags: str) -> Path:
    """A running server with EAGLE-3 whose PYTHONPATH holds a patched engine."""
    site = place.root / "site"
    install(site, "sglang", "0.5.17", SOURCES)
    (place.root / "target").mkdir()
    (place.root / "target" / "config.json").write_text(json.dumps({"architectures": NAMES}))
    fakes = Path(__file__).parent / "fakes"
    place.start("--model-path", "target", *flags, env={"PYTHONPATH": f"{fakes}:{site}"})
    return site


@pytest.mark.parametrize("python", PYTHONS)
def test_the_probe_lists_it_beside_the_target(place: Workplace, python: str) -> None:
    site = served(place, "--speculative-algorithm", "EAGLE3")
    rule = probe(place, python).files["target/capture-rule.py"]
    assert rule.path == str(site / "sglang/srt/models/deepseek_v2.py")
    assert "v + 2" in (rule.text or "")


def test_without_eagle3_it_is_not_looked_for(place: Workplace) -> None:
    served(place)
    assert "target/capture-rule.py" not in probe(place).files


@pytest.mark.parametrize("python", PYTHONS)
def test_the_engine_of_the_server_that_runs_a_target(place: Workplace, python: str) -> None:
    served(place)
    probe(place)  # narrows what can be seen to this server
    found: dict[str, Any] = place.run("installed", {"target": str(place.root / "target"), "python": None}, python)
    (one,) = found["installs"]
    assert (one["engine"]["version"], one["serving"]) == ("0.5.17", True)
    assert "v + 2" in one["rule"]["text"]
    other = place.run("installed", {"target": str(place.root), "python": None}, python)
    assert [(each["serving"], each["rule"]) for each in other["installs"]] == [(False, None)]
