"""What is brought here from a host for a calculation: whole, bounded, asked for, and only the parts that are needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdoctor.app.checkpoint_reading import read_drafter
from specdoctor.app.fetching import Allowance, bytes_allowed, fetch_drafter, fetch_file, fetch_parts
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import ApprovalNeeded, CheckpointError, UsageError
from specdoctor.transports.local import LocalHost
from tests.drafter.folders import noise, put, put_head, safetensors_bytes, target_config
from tests.drafter.judging import files


def wanted(name: str) -> bool:
    return name.endswith(("embed_tokens.weight", "lm_head.weight", "norm.weight"))


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def test_a_drafter_comes_whole_with_its_records(tmp_path: Path, into: Path) -> None:
    head = put_head(tmp_path / "head")
    (head / "train").mkdir()
    (head / "train" / "run.yaml").write_text("trained_on: [out(1), out(5), out(8)]\n")
    fetch_drafter(files(head), into, Allowance())
    names = sorted(str(path.relative_to(head)) for path in head.rglob("*") if path.is_file())
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()) == names
    assert all((into / name).read_bytes() == (head / name).read_bytes() for name in names)


def test_of_a_target_only_the_parts_of_the_shards_that_hold_them(tmp_path: Path, into: Path) -> None:
    base = put(tmp_path / "base", target_config(), {})
    (base / "model.safetensors").unlink()
    tensors = {
        "a": {"model.embed_tokens.weight": noise("BF16", (8, 4)), "model.layers.0.mlp.weight": noise("BF16", (64, 64))},
        "b": {"model.layers.1.mlp.weight": noise("BF16", (64, 64))},
        "c": {"model.norm.weight": noise("BF16", (4,)), "lm_head.weight": noise("F32", (8, 4))},
    }
    weight_map = {}
    for shard, inside in tensors.items():
        (base / f"{shard}.safetensors").write_bytes(safetensors_bytes(inside) if shard != "b" else b"not read")
        weight_map |= dict.fromkeys(inside, f"{shard}.safetensors")
    (base / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    fetch_parts(files(base), into, Allowance(400), wanted=wanted)
    read = read_drafter(files(into))
    assert {name: tensor.shape for name, tensor in read.tensors.items()} == {
        "model.embed_tokens.weight": (8, 4), "model.norm.weight": (4,), "lm_head.weight": (8, 4),
    }  # fmt: skip
    raw = (into / "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little") + read.tensors["lm_head.weight"].begin
    assert raw[begin : begin + 8 * 4 * 4] == tensors["c"]["lm_head.weight"][2]


def test_more_than_was_allowed_is_asked_for(tmp_path: Path, into: Path) -> None:
    (tmp_path / "states.safetensors").write_bytes(bytes(5_000_000))
    there = ModelFiles(LocalHost(), str(tmp_path / "states.safetensors"), label="gpu-7:/s/states.safetensors")
    with pytest.raises(ApprovalNeeded, match=r"5\.0 MB would be fetched, 1\.0 MB are allowed") as refused:
        fetch_file(there, "states.safetensors", into, Allowance(1_000_000))
    assert "--fetch 6MB" in str(refused.value.next_step)
    assert not any(into.iterdir())
    asked: list[str] = []
    with pytest.raises(ApprovalNeeded):
        fetch_file(there, "states.safetensors", into, Allowance(1, ask=lambda words: bool(asked.append(words))))
    assert len(asked) == 1
    fetch_file(there, "states.safetensors", into, Allowance(1, ask=lambda words: True))
    assert (into / "states.safetensors").stat().st_size == 5_000_000


def test_the_bound_holds_over_all_files(tmp_path: Path, into: Path) -> None:
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).write_bytes(bytes(600))
    allowance = Allowance(1000)
    fetch_file(files(tmp_path), "a.npz", into, allowance)
    with pytest.raises(ApprovalNeeded):
        fetch_file(files(tmp_path), "b.npz", into, allowance)


def test_a_file_that_became_shorter_is_told(tmp_path: Path, into: Path) -> None:
    (tmp_path / "a.npz").write_bytes(bytes(600))
    there = files(tmp_path)
    (tmp_path / "a.npz").write_bytes(bytes(100))
    with pytest.raises(CheckpointError, match="100 bytes came where 600 were to be read"):
        fetch_file(there, "a.npz", into, Allowance())


@pytest.mark.parametrize(("words", "size"), [("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("3kb", 3_000)])
def test_sizes(words: str, size: int) -> None:
    assert bytes_allowed(words) == size


@pytest.mark.parametrize("words", ["", "GB", "4", "-1GB", "4TB", "1.2.3MB", "nanGB"])
def test_what_is_no_size(words: str) -> None:
    with pytest.raises(UsageError, match="no size"):
        bytes_allowed(words)
