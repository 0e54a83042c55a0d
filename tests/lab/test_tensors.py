"""Model folders on disk."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from specdoctor.lab.engine_core import Resolved, resolve
from specdoctor.lab.tensors import model_tensors, read_mark, scan_models, write_model, write_models
from specdoctor.lab.world import World
from tests.lab.engine_bench import PLAIN, SPECULATION, bench_world

WORLD = bench_world()


def header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        found: dict[str, Any] = json.loads(file.read(size))
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    world = WORLD.model_copy(
        update={"models": tuple(m.model_copy(update={"path": f"{{models}}{m.path}"}) for m in WORLD.models)}
    )
    write_models(world, tmp_path)
    return tmp_path / "models"


def test_headers_are_true_and_files_have_their_full_size(root: Path) -> None:
    path = root / "eagle3" / "model.safetensors"
    tensors = header(path)
    assert tensors["fc.weight"]["shape"] == [1024, 3072]
    assert tensors["d2t"]["dtype"] == "I64"
    end = max(entry["data_offsets"][1] for name, entry in tensors.items() if name != "__metadata__")
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
    assert path.stat().st_size == 8 + size + end


def test_weights_are_mostly_holes(root: Path) -> None:
    target = root / "target" / "model.safetensors"
    assert target.stat().st_size > 300 << 20
    assert target.stat().st_blocks * 512 < 4 << 20


def test_the_vocabulary_map_is_sound(root: Path) -> None:
    path = root / "eagle3" / "model.safetensors"
    entry = header(path)["d2t"]
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        file.seek(8 + size + entry["data_offsets"][0])
        deltas = struct.unpack("<4096q", file.read(4096 * 8))
    kept = [index + delta for index, delta in enumerate(deltas)]
    assert kept == sorted(set(kept))
    assert kept[-1] < 8192


def test_the_fc_layer_is_not_empty(root: Path) -> None:
    path = root / "eagle3" / "model.safetensors"
    entry = header(path)["fc.weight"]
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        file.seek(8 + size + entry["data_offsets"][0])
        row = struct.unpack("<3072H", file.read(3072 * 2))
    values = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in row]
    blocks = [sum(v * v for v in values[at : at + 1024]) ** 0.5 for at in (0, 1024, 2048)]
    assert min(blocks) > 0.1
    assert max(blocks) / min(blocks) < 1.2


def test_a_copy_with_an_edited_config_is_the_same_checkpoint(root: Path) -> None:
    shutil.copytree(root / "target", root / "t2", symlinks=True, ignore=shutil.ignore_patterns("*.safetensors"))
    (root / "t2" / "model.safetensors").symlink_to(root / "target" / "model.safetensors")
    config = json.loads((root / "eagle3" / "config.json").read_text(encoding="utf-8"))
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [2, 12, 21]
    edited = root / "edited"
    edited.mkdir()
    (edited / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (edited / "model.safetensors").symlink_to(root / "eagle3" / "model.safetensors")
    found = scan_models(root, WORLD)
    words = [str(root / "t2") if word == "/models/target" else word for word in [*PLAIN, *SPECULATION]]
    words = [str(edited) if word == "/models/eagle3" else word for word in words]
    outcome = resolve(words, {}, WORLD, models=found)
    assert isinstance(outcome, Resolved)
    assert outcome.captured_states == ("out(2)", "out(12)", "out(21)")
    assert not outcome.wired_as_trained
    assert set(found) == {str(root / name) for name in ("target", "t2", "eagle3", "edited", "standalone_othervocab")}


@pytest.mark.parametrize("broken", ["config", "weights", "folder"])
def test_a_broken_folder_is_no_model(root: Path, broken: str) -> None:
    folder = root / "eagle3"
    if broken == "config":
        (folder / "config.json").write_text("{", encoding="utf-8")
    elif broken == "weights":
        (folder / "model.safetensors").write_bytes(b"xx")
    else:
        shutil.rmtree(folder)
    assert str(folder) not in scan_models(root, WORLD)


def test_shards_have_an_index(tmp_path: Path) -> None:
    world = World.from_yaml("override-is-the-cause")
    model = world.model("llama-8b")
    write_model(world, model, tmp_path / "m")
    index = json.loads((tmp_path / "m" / "model.safetensors.index.json").read_text(encoding="utf-8"))
    assert set(index["weight_map"]) == {tensor.name for tensor in model_tensors(model)}
    files = sorted(path.name for path in (tmp_path / "m").glob("*.safetensors"))
    assert len(files) == 4
    assert files == sorted(set(index["weight_map"].values()))
    assert index["metadata"]["total_size"] == pytest.approx(16.06e9, rel=0.01)
    assert len({read_mark(tmp_path / "m" / name) for name in files}) == 1


def test_training_notes_lie_beside_the_weights(tmp_path: Path) -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    write_model(world, world.model("kimi-k2.5-eagle3"), tmp_path / "d")
    assert "hidden_states: [0, 3, 31]" in (tmp_path / "d" / "train" / "run.yaml").read_text(encoding="utf-8")
    assert header(tmp_path / "d" / "model.safetensors")["fc.weight"]["shape"] == [512, 1536]


@pytest.mark.slow
def test_a_mixture_of_experts_has_all_its_experts() -> None:
    world = World.from_yaml("kimi-k2.5-eagle3")
    names = {tensor.name for tensor in model_tensors(world.model("kimi-k2.5"))}
    assert "language_model.model.layers.60.mlp.experts.383.down_proj.weight_packed" in names
    assert "language_model.model.layers.0.mlp.gate_proj.weight" in names
