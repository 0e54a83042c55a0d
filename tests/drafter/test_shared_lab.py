"""The trained tiny models of the lab and their faulty variants, where they lie beside this repository.

SPECDOCTOR_SHARED names the folder that holds `lab/`; else `../shared`. The variants are made here as the lab makes
them, without torch: other ids in config.json, other values in d2t, another tokenizer.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdoctor.app.wiring import WiringDocument
from specdoctor.core.model import Verdict
from specdoctor.drafter.comparison import EngineChoice
from tests.drafter.folders import Tensors, gguf_head, gguf_target
from tests.drafter.judging import LLAMACPP, SGLANG, VLLM_V1, VLLM_V2, causes, judged

SHARED = Path(os.environ.get("SPECDOCTOR_SHARED", Path(__file__).parents[3] / "shared")) / "lab" / "models"
pytestmark = pytest.mark.skipif(not (SHARED / "tiny-eagle3").is_dir(), reason=f"the lab's models are not at {SHARED}")

TRAINED = "out(1), out(3), out(5)"
KEY = "eagle_aux_hidden_state_layer_ids"
Edit = Callable[[dict[str, Any]], None]


def copied(name: str, folder: Path) -> Path:
    shutil.copytree(SHARED / name, folder)
    return folder


def edited(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=2))
    return folder


def head(tmp_path: Path, ids: list[int] | None) -> Path:
    folder = copied("tiny-eagle3", tmp_path / "head")
    nested = {"use_aux_hidden_state": True, **({KEY: ids} if ids is not None else {})}
    return edited(folder, eagle_config=nested)


def tensors_of(folder: Path) -> Tensors:
    raw = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    return {
        name: (entry["dtype"], tuple(entry["shape"]), data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def with_d2t(tmp_path: Path, change: Callable[[list[int]], list[int]]) -> Path:
    from tests.drafter.folders import safetensors_bytes

    folder = copied("tiny-eagle3", tmp_path / "head")
    tensors = tensors_of(folder)
    dtype, shape, raw = tensors["d2t"]
    values = change(list(struct.unpack(f"<{shape[0]}q", raw)))
    tensors["d2t"] = (dtype, shape, struct.pack(f"<{shape[0]}q", *values))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    return folder


def gguf_pair(tmp_path: Path, ids: list[int]) -> tuple[Path, Path]:
    base = json.loads((SHARED / "tiny-target" / "config.json").read_text())
    vocabulary = json.loads((SHARED / "tiny-target" / "tokenizer.json").read_text())["model"]["vocab"]
    words = [word for word, _ in sorted(vocabulary.items(), key=lambda pair: pair[1])]
    config = json.loads((SHARED / "tiny-eagle3" / "config.json").read_text())
    draft, target = tmp_path / "head.gguf", tmp_path / "target.gguf"
    draft.write_bytes(gguf_head(ids, tensors_of(SHARED / "tiny-eagle3"), config, words))
    target.write_bytes(gguf_target(base, words))
    return draft, target


TARGET = SHARED / "tiny-target"


def wire1(found: WiringDocument) -> str:
    said = [f.status for f in found.findings if f.cause == "WIRE-1"]
    assert len(said) <= 1
    return said[0] if said else "silent"


VARIANTS: list[tuple[str, list[int] | None, str]] = [
    ("healthy", [2, 4, 6], "silent"),
    ("aux_early", [1, 2, 3], "supported"),
    ("aux_off1", [1, 3, 5], "supported"),
    ("aux_missing", None, "supported"),
]


@pytest.mark.parametrize(("name", "ids", "expected"), VARIANTS)
def test_vllm_v1(tmp_path: Path, name: str, ids: list[int] | None, expected: str) -> None:
    found = judged(head(tmp_path, ids), TARGET, choice=VLLM_V1, trained=TRAINED)
    assert wire1(found) == expected, name
    assert found.verdict is (Verdict.HEALTHY if expected == "silent" else Verdict.CAUSE)


@pytest.mark.parametrize(("name", "ids", "expected"), VARIANTS)
def test_llamacpp_from_gguf(tmp_path: Path, name: str, ids: list[int] | None, expected: str) -> None:
    draft, target = gguf_pair(tmp_path, ids or [2, 4, 5])  # without ids the converter writes the default
    found = judged(draft, target, choice=LLAMACPP, trained=TRAINED)
    assert wire1(found) == expected, name
    assert found.verdict is (Verdict.HEALTHY if expected == "silent" else Verdict.CAUSE)


@pytest.mark.parametrize(("name", "ids", "expected"), VARIANTS)
def test_without_the_record_nothing_is_decided(tmp_path: Path, name: str, ids: list[int] | None, expected: str) -> None:
    found = judged(head(tmp_path, ids), TARGET, choice=VLLM_V1)
    assert (found.trained, found.verdict) == (None, Verdict.NOT_ENOUGH_EVIDENCE), (name, expected)


@pytest.mark.parametrize(
    ("choice", "states", "says"),
    [
        (SGLANG, "out(2) out(4) out(6)", "each state 1 layer later"),
        (VLLM_V2, "out(1) out(3) out(4)", "captures its defaults"),
    ],
)
def test_the_healthy_folder_elsewhere(choice: EngineChoice, states: str, says: str) -> None:
    found = judged(SHARED / "tiny-eagle3", TARGET, choice=choice, trained=TRAINED)
    assert wire1(found) == "supported"
    assert " ".join(found.captured[0].states or ()) == states
    assert says in found.findings[0].claim


def test_two_ids_for_three_states(tmp_path: Path) -> None:
    found = judged(head(tmp_path, [2, 6]), TARGET, choice=VLLM_V1)
    assert "WIRE-1" in causes(found)
    assert "that is 3 states of 128; 2 are captured" in found.headline


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda offsets: [0] * len(offsets), "all zero"),
        (lambda offsets: [i + v for i, v in enumerate(offsets)], "target ids where offsets are expected"),
    ],
)
def test_d2t(tmp_path: Path, change: Callable[[list[int]], list[int]], says: str) -> None:
    found = judged(with_d2t(tmp_path, change), TARGET, choice=VLLM_V1)
    assert causes(found) == ["WIRE-3"]
    assert says in found.headline


def test_the_draft_model_is_healthy() -> None:
    assert judged(SHARED / "tiny-draft", TARGET, choice=VLLM_V1).verdict is Verdict.HEALTHY


def test_another_vocabulary(tmp_path: Path) -> None:
    from tests.drafter.folders import safetensors_bytes

    folder = edited(copied("tiny-draft", tmp_path / "small"), vocab_size=768)
    tensors = tensors_of(folder)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        dtype, (_, hidden), raw = tensors[name]
        tensors[name] = (dtype, (768, hidden), raw[: 768 * hidden * 2])
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    found = judged(folder, TARGET, choice=VLLM_V1)
    assert causes(found) == ["MIS-1"]
    assert "the drafter has 768 tokens, the target 1024" in found.headline


def test_another_tokenizer_of_the_same_size(tmp_path: Path) -> None:
    folder = copied("tiny-draft", tmp_path / "small")
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    ids = list(range(2, 1024))
    random.Random(37).shuffle(ids)
    moved = dict(zip(range(2, 1024), ids, strict=True))
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {word: moved.get(i, i) for word, i in vocabulary.items()}
    path.write_text(json.dumps(tokenizer, ensure_ascii=False))
    found = judged(folder, TARGET, choice=VLLM_V1)
    assert causes(found) == ["MIS-1"]
    assert "another tokenizer" in found.headline
