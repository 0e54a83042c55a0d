"""Damaged, hostile and unreadable checkpoints: one clear message each, and nothing in them is run."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.app.checkpoint_reading import read_drafter, read_target
from specdoctor.app.model_files import LISTING, ModelFiles
from specdoctor.app.wiring import document, pair_of
from specdoctor.assembly.catalogue import all_drafter_checks
from specdoctor.core.errors import CheckpointError, UsageError
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import EngineChoice
from specdoctor.drafter.gguf import NeedMore, parse_gguf
from specdoctor.drafter.json_text import json_object
from specdoctor.drafter.records.table import read_record
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.safetensors import PREFIX_BYTES, Tensor, header_length, parse_header
from specdoctor.drafter.vocabulary import tokenizer_json
from specdoctor.transports.recorded import RecordedHost
from tests.drafter.folders import (
    gguf_head,
    head_config,
    head_tensors,
    put_head,
    put_target,
    safetensors_bytes,
)
from tests.drafter.judging import files

HEAD = safetensors_bytes(head_tensors())
GGUF = gguf_head([2, 6, 9], head_tensors(), head_config(), ["a", "b"])
WORDS = [f"w{i}" for i in range(32)]


def refused(folder: Path) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        read_drafter(files(folder))
    error = caught.value
    assert error.message
    assert error.next_step
    assert error.exit_code == 2
    return error


def test_a_whole_folder_is_read(tmp_path: Path) -> None:
    head = read_drafter(files(put_head(tmp_path / "head")))
    assert head.tensors["fc.weight"].shape == (8, 24)
    assert head.small["d2t"][:3] == (0, 1, 2)
    assert head.small["norm.weight"][0] == pytest.approx(0.5)


def test_cut_off_in_the_tensors(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").write_bytes(HEAD[:-10])
    assert "head/model.safetensors: cut off" in refused(folder).message


def test_cut_off_in_the_header(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").write_bytes(HEAD[:100])
    assert "cut off within its header" in refused(folder).message


@pytest.mark.parametrize("raw", [b"", b"1234567", b"\0" * 8, b"\xff" * 40, struct.pack("<Q", 4) + b"nope"])
def test_no_safetensors_file(tmp_path: Path, raw: bytes) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").write_bytes(raw)
    assert "model.safetensors" in refused(folder).message


def test_a_gigantic_header_is_not_read(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 90 << 30))
        file.truncate(100 << 30)
    assert "announce a header of 96636764160 bytes" in refused(folder).message


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "head.pt", "head.pth"])
def test_pickles_are_refused_and_never_opened(tmp_path: Path, name: str) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    assert "pickled checkpoint; it is not opened" in refused(folder).message
    assert "pickled" in refused(folder / name).message
    assert not (tmp_path / "ran").exists()


def test_a_pickle_under_another_name_is_refused(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    assert "pickled" in refused(folder).message
    assert not (tmp_path / "ran").exists()


def test_links_are_followed_as_a_hub_cache_needs_it(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "blobs")
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).symlink_to(folder / name)
    assert read_drafter(files(snapshot)).tensors


def test_links_that_lead_nowhere_or_round_are_named(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(tmp_path / "gone")
    assert "a symbolic link that leads nowhere" in refused(folder).message
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "model.safetensors")
    assert "link" in refused(folder).message
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert "round" in refused(tmp_path / "round").message


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    assert "fifo, not a regular file" in refused(folder).message
    folder = put_head(tmp_path / "other")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/dev/zero")
    assert "not a regular file" in refused(folder).message


def test_a_file_without_permission_is_named() -> None:
    listing = b"regular file|300|config.json\nregular file|9|model.safetensors\nunreadable|0|config.json\n"
    host = RecordedHost({("sh", "-c", LISTING, "sh", "/models/head"): listing}, name="gpu-7")
    with pytest.raises(CheckpointError, match=r"gpu-7:/models/head/config\.json: no permission to read it"):
        read_drafter(ModelFiles(host, "/models/head", label="gpu-7:/models/head"))


def test_a_file_that_vanishes_is_named() -> None:
    listing = b"regular file|300|config.json\nregular file|9|model.safetensors\n"
    gone = {"/models/head/config.json": FileNotFoundError(2, "No such file or directory")}
    host = RecordedHost({("sh", "-c", LISTING, "sh", "/models/head"): listing}, files=gone)
    with pytest.raises(CheckpointError, match=r"cannot be read: No such file"):
        read_drafter(ModelFiles(host, "/models/head", label="head"))


def test_folders_without_what_is_needed(tmp_path: Path) -> None:
    assert "there is no such folder" in refused(tmp_path / "nowhere").message
    (tmp_path / "empty").mkdir()
    assert "there is no config.json" in refused(tmp_path / "empty").message
    folder = put_head(tmp_path / "head")
    (folder / "model.safetensors").unlink()
    assert "no .safetensors file" in refused(folder).message
    assert "a file, and no GGUF file" in refused(folder / "config.json").message


def test_an_index_that_names_shards_in_vain(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"fc.weight": "model-00002-of-00002.safetensors"}}')
    assert "model-00002-of-00002.safetensors" in refused(folder).message
    index.write_text('{"weight_map": {"fc.weight": "../../etc/passwd"}}')
    assert "no weight_map" in refused(folder).message


def test_a_config_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "config.json").write_text('{\n "hidden_size": 8,\n}')
    assert refused(folder).message.startswith("head/config.json:3:1: this is not JSON")


def test_a_pointer_of_git_lfs_is_told_apart(tmp_path: Path) -> None:
    folder = put_head(tmp_path / "head")
    (folder / "config.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\n")
    assert refused(folder).next_step == "run git lfs pull"


def test_a_target_is_judged_without_its_weights(tmp_path: Path) -> None:
    folder = put_target(tmp_path / "target")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    assert read_target(files(folder), tokens=True).whole("num_hidden_layers") == 12
    assert not (tmp_path / "ran").exists()


def test_a_gguf_file_is_read_to_its_data(tmp_path: Path) -> None:
    path = tmp_path / "head.gguf"
    path.write_bytes(GGUF)
    head = read_drafter(files(path))
    assert head.config["eagle3.target_layers"] == [2, 6, 9]
    assert head.small["d2t"][:3] == (0, 2, 4)
    path.write_bytes(GGUF[:-4])
    assert "cut off" in refused(path).message
    path.write_bytes(GGUF[:200])
    assert "cut off within its header" in refused(path).message


def test_a_long_vocabulary_takes_several_reads(tmp_path: Path) -> None:
    path = tmp_path / "head.gguf"
    words = [f"token number {i} with a rather long text behind it" for i in range(30_000)]
    path.write_bytes(gguf_head([2, 6, 9], head_tensors(), head_config(), words))
    vocabulary = read_drafter(files(path)).vocabulary
    assert vocabulary is not None
    assert vocabulary.size == 30_000


def message_of(call: Callable[[], object]) -> str:
    """What a reader says against what it is given; `f` where it says nothing."""
    try:
        call()
    except UsageError as error:
        return error.message
    return "f"


def header_or_message(raw: bytes) -> None:
    def read() -> None:
        length = header_length(raw[:PREFIX_BYTES], "f")
        parse_header(raw[PREFIX_BYTES : PREFIX_BYTES + length], "f", length=length, data_bytes=len(raw) - 8 - length)

    assert message_of(read).startswith("f")


@given(st.integers(0, len(HEAD)), st.binary(max_size=12))
def test_any_cut_and_any_tail_of_a_safetensors_file(cut: int, tail: bytes) -> None:
    header_or_message(HEAD[:cut] + tail)


@given(st.integers(0, 1500), st.integers(0, 255))
def test_any_byte_of_a_header_may_be_wrong(at: int, byte: int) -> None:
    raw = bytearray(HEAD)
    raw[at] = byte
    header_or_message(bytes(raw))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ENTRY = st.fixed_dictionaries(
    {}, optional={"dtype": JSON | st.just("BF16"), "shape": JSON, "data_offsets": JSON | st.just([0, 4])}
)


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=6), ENTRY | JSON, max_size=4))
def test_any_json_as_a_header(header: Any) -> None:
    text = json.dumps(header).encode()
    header_or_message(struct.pack("<Q", len(text)) + text)


@given(st.integers(0, 700), st.binary(min_size=1, max_size=9))
def test_any_damage_to_a_gguf_header(at: int, damage: bytes) -> None:
    raw = GGUF[:at] + damage + GGUF[at + len(damage) :]
    with contextlib.suppress(NeedMore):
        assert message_of(lambda: parse_gguf(raw, "f")).startswith("f")


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | st.just(b"[" * 200_000))
def test_any_bytes_as_a_config(raw: bytes) -> None:
    assert message_of(lambda: json_object(raw, "f")).startswith("f")


KEYS = [
    "eagle_config", "eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state", "num_hidden_layers", "hidden_size",
    "vocab_size", "draft_vocab_size", "target_hidden_size", "rope_scaling", "rope_theta", "architectures",
    "quantization_config", "text_config", "max_position_embeddings", "norm_before_fc", "tie_word_embeddings",
]  # fmt: skip
CONFIG = st.dictionaries(st.sampled_from(KEYS), JSON | st.dictionaries(st.sampled_from(KEYS), JSON), max_size=6)


@settings(max_examples=25)
@given(CONFIG, CONFIG, st.sampled_from(["sglang", "vllm", "llamacpp", "trtllm"]))
def test_any_values_in_both_configs_end_in_a_judgement_or_a_message(mine: Any, theirs: Any, engine: str) -> None:
    tensors = {name: Tensor(dtype, shape) for name, (dtype, shape, _) in head_tensors().items()}
    draft = Checkpoint(
        folder="d",
        config_file="d/config.json",
        config={**head_config(), **mine},
        tensors=tensors,
        small={"d2t": (0, 1)},
    )
    target = Checkpoint(folder="t", config_file="t/config.json", config=theirs)
    choice = EngineChoice(name=engine, version=ENGINES[engine].newest)

    def judge() -> None:
        pair = pair_of(draft, target, training=None, choice=choice, method="EAGLE")
        assert document(pair, checks=all_drafter_checks()).verdict

    assert message_of(judge) == "f" or "t/config.json" in message_of(judge)


@given(st.text(max_size=80) | st.just("a: &a [*a]") | st.just("a: !!python/object/apply:os.system [id]"))
def test_any_text_as_a_training_file(text: str) -> None:
    for name in ("run.yaml", "run.json", "run.py"):
        said = message_of(lambda name=name: read_record(text, name, draft_config={}, target=None, strict=True))
        assert said == "f" or said.startswith(name)


@given(st.binary(max_size=80))
def test_any_bytes_as_a_tokenizer(raw: bytes) -> None:
    found = tokenizer_json(b'{"model": {"vocab": {' + raw, "f")
    assert found is None or found.size > 0
