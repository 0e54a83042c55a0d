"""The drafter alone against what two engines measured with the same files: the lab's tiny models, where they lie.

The target's answers and states are calculated here, in float32; the engines ran in bfloat16. Their figures are those of
the lab's README. SPECDOCTOR_SHARED names the folder that holds `lab/`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.drafter.folders import bf16, safetensors_bytes
from tests.drafter.stored import named, put_safetensors
from tests.drafter.test_shared_lab import copied, tensors_of
from tests.drafter.tiny_lab import SHARED, target, texts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not (SHARED / "tiny-eagle3").is_dir(), reason=f"the lab's models are not at {SHARED}"),
]
TORCH_PYTHON = os.environ.get("SPECDOCTOR_TORCH_PYTHON", "")
TRAINED, OFF1 = "out(1),out(3),out(5)", "out(0),out(2),out(4)"
EARLY, MISSING = "out(0),out(1),out(2)", "out(1),out(3),out(4)"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("states") / "states.safetensors"
    return put_safetensors(path, named(texts(), target().embedding))


def evaluated(states: Path, *words: str, draft: Path = SHARED / "tiny-eagle3") -> dict[str, Any]:
    """specdoctor drafter eval in a process of its own, with one thread for its small matrices."""
    command = [sys.executable, "-m", "specdoctor", "drafter", "eval", "--draft", str(draft), "--states", str(states)]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    shown = subprocess.run([*command, *words, "--json"], capture_output=True, text=True, check=False, env=env)
    assert shown.returncode == 0, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


@pytest.mark.parametrize(
    ("steps", "ending", "measured", "within"),
    [(3, "past", 3.071, 0.05), (12, "past", 4.226, 0.1), (5, "past", 3.977, 0.05), (3, "cut", 3.043, 0.05),
     (12, "cut", 4.081, 0.1)],
)  # fmt: skip
def test_the_healthy_head_as_the_engines_measured_it(
    states: Path, steps: int, ending: str, measured: float, within: float
) -> None:
    found = evaluated(states, "--feed", TRAINED, "--draft-steps", str(steps), "--ending", ending)
    fed = found["fed"][0]
    assert fed["accept_length"]["value"] == pytest.approx(measured, abs=within)
    assert fed["accept_length"]["low"] < measured < fed["accept_length"]["high"]
    assert (found["text_is_greedy"], found["sequences"], fed["unjudged"]) == (1.0, 8, 0)


@pytest.mark.parametrize(("steps", "everywhere"), [(3, 3.2), (12, 4.45)])
def test_over_all_positions_is_another_quantity(states: Path, steps: int, everywhere: float) -> None:
    fed = evaluated(states, "--feed", TRAINED, "--draft-steps", str(steps))["fed"][0]
    assert fed["over_all_positions"]["value"] == pytest.approx(everywhere, abs=0.05)
    assert fed["over_all_positions"]["value"] > fed["accept_length"]["value"] + 0.1


@pytest.mark.parametrize(
    ("fed", "vllm", "llamacpp"),
    [(OFF1, 2.364, 2.365), (EARLY, 1.757, 1.770), (MISSING, 2.877, 2.884)],
    ids=["off by one", "early", "missing"],
)
def test_other_states_as_both_engines_measured_them(states: Path, fed: str, vllm: float, llamacpp: float) -> None:
    past = evaluated(states, "--feed", fed)["fed"][0]["accept_length"]["value"]
    cut = evaluated(states, "--feed", fed, "--ending", "cut")["fed"][0]["accept_length"]["value"]
    assert (past, cut) == (pytest.approx(vllm, abs=0.05), pytest.approx(llamacpp, abs=0.05))


def test_what_an_engine_captures_beside_what_it_was_trained_on(states: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.yaml"
    record.write_text("trained_on: [out(1), out(3), out(5)]\n")
    words = ("--training", str(record), "--target", str(SHARED / "tiny-target"))
    found = evaluated(states, *words, "--engine", "sglang", "--engine-version", "0.5.17")
    rows = {fed["label"]: (fed["states"], fed["accept_length"]["value"]) for fed in found["fed"]}
    assert rows["trained on"] == (["out(1)", "out(3)", "out(5)"], pytest.approx(3.071, abs=0.05))
    late, length = rows["captured by sglang 0.5.17"]
    assert late == ["out(2)", "out(4)", "out(6)"]
    assert length < 2.9


def test_an_untrained_head_and_a_standalone_model(states: Path, tmp_path: Path) -> None:
    folder = copied("tiny-eagle3", tmp_path / "random")
    source = np.random.default_rng(43)
    tensors = tensors_of(folder)
    for name, (dtype, shape, _) in tensors.items():
        if dtype == "BF16" and len(shape) == 2:
            spread = 0.02 if "lm_head" in name else shape[1] ** -0.5 * 0.7
            tensors[name] = (dtype, shape, bf16((source.normal(size=shape) * spread).ravel()))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    untrained = evaluated(states, "--feed", TRAINED, draft=folder)["fed"][0]
    assert untrained["accept_length"]["value"] == pytest.approx(1.0, abs=0.02)
    for steps, ending, measured in ((4, "past", 3.88), (4, "cut", 3.84), (12, "past", 6.812), (12, "cut", 6.449)):
        words = ("--draft-steps", str(steps), "--ending", ending)
        alone = evaluated(states, *words, draft=SHARED / "tiny-draft")
        assert alone["kind"] == "standalone"
        assert alone["fed"][0]["accept_length"]["value"] == pytest.approx(measured, abs=0.1)


def test_the_search_finds_what_it_was_trained_on(states: Path) -> None:
    search = evaluated(states, "--feed", TRAINED, "--search-wiring")["search"]
    assert search["tried"] == 9 * 8 * 7
    assert search["best"][0]["states"] == ["out(1)", "out(3)", "out(5)"]
    assert search["clear"] is True
    assert search["best"][0]["accept_length"] > search["best"][1]["accept_length"] + 0.1


@pytest.mark.skipif(not TORCH_PYTHON, reason="SPECDOCTOR_TORCH_PYTHON names no Python with torch and transformers")
def test_states_exported_by_transformers_say_the_same(tmp_path: Path) -> None:
    prompts, out = tmp_path / "prompts.json", tmp_path / "states.safetensors"
    prompts.write_text(json.dumps(json.loads((SHARED / "prompts.json").read_text())[:8]))
    command = [sys.executable, "-m", "specdoctor", "drafter", "export", "--model", str(SHARED / "tiny-target")]
    more = ["--prompts", str(prompts), "--out", str(out), "--python", TORCH_PYTHON, "--ignore-eos", "--allow", "load"]
    subprocess.run([*command, *more], check=True, capture_output=True)
    fed = evaluated(out, "--feed", TRAINED)["fed"][0]
    assert fed["accept_length"]["value"] == pytest.approx(3.071, abs=0.05)
