"""Stored states in each layout and kind of file; damaged, foreign and hostile ones end in one message."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.app.dump_reading import read_dumps
from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.dumps.torch_file import torch_arrays
from tests.drafter.stored import put_safetensors, torch_bytes, torch_zip

COUNT, WIDTH = 9, 4
TOKENS = np.arange(COUNT, dtype=np.int64)
NAMES = ("embed", "out(2)", "out(5)")


def state(seed: int, width: int = WIDTH) -> Any:
    return np.random.default_rng(seed).normal(size=(COUNT, width)).astype(np.float32)


STATES = {name: state(number) for number, name in enumerate(NAMES)}
JOINED = np.concatenate(list(STATES.values()), axis=1)
MASK = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0], dtype=np.int64)


def in_file(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    if path.suffix == ".safetensors":
        return put_safetensors(path, value)
    if path.suffix == ".npz":
        np.savez(path, **value)
    else:
        path.write_bytes(torch_bytes(value))
    return path


SPECFORGE = {"input_ids": TOKENS, "loss_mask": MASK, "hidden_state": state(9)[None], "aux_hidden_state": JOINED[None]}
SPECULATORS_OLD = {"input_ids": TOKENS, "loss_mask": MASK, "hidden_states": [*STATES.values(), state(9)]}
SPECULATORS = {"token_ids": TOKENS, "hidden_states": np.stack([*STATES.values(), state(9)], axis=1)}


@pytest.mark.parametrize(
    ("file", "value", "layout", "answer"),
    [
        ("data_3.ckpt", SPECFORGE, "SpecForge", (3, 5)),
        ("data_3.pt", SPECULATORS_OLD, "speculators", (3, 5)),
        ("hs_3.safetensors", SPECULATORS, "speculators", (1, COUNT - 1)),
        ("a.npz", {"tokens": TOKENS, "loss_mask": MASK, **STATES}, "named states", (3, 5)),
        ("a.safetensors", {"tokens": TOKENS, **STATES, "answer": np.array([2, 4])}, "named states", (2, 4)),
    ],
)
def test_the_same_states_in_each_layout(
    tmp_path: Path, file: str, value: Any, layout: str, answer: tuple[int, int]
) -> None:
    (dump,) = read_dumps(in_file(tmp_path, file, value), names=NAMES)
    (sample,) = dump.samples
    assert (dump.layout, (sample.answer_at, sample.answer_tokens)) == (layout, answer)
    assert sample.tokens.tolist() == TOKENS.tolist()
    assert list(sample.states) == list(NAMES)
    for name, wanted in STATES.items():
        assert np.array_equal(sample.states[name], wanted), name
    if layout != "named states":
        assert sample.last is not None
        assert np.array_equal(sample.last, state(9))
        assert sample.last_normed == (layout == "SpecForge")


def test_states_without_names_are_called_by_their_place(tmp_path: Path) -> None:
    (dump,) = read_dumps(in_file(tmp_path, "d.ckpt", SPECFORGE), names=())
    assert list(dump.samples[0].states) == ["place 1", "place 2", "place 3"]
    assert dump.samples[0].unnamed
    with pytest.raises(CheckpointError, match="3 states a token, 2 names"):
        read_dumps(tmp_path / "d.ckpt", names=NAMES[:2])


def test_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        in_file(tmp_path, f"data_{number}.ckpt", {**SPECFORGE, "input_ids": TOKENS + number})
    found = read_dumps(tmp_path, names=NAMES, most=2)
    assert [int(dump.samples[0].tokens[0]) for dump in found] == [1, 2]


class Ran(Exception):
    """Something in a file was executed."""


def run_me() -> None:
    raise Ran


class Hostile:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, ("touch executed",)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (pickle.dumps({"a": Hostile()}, protocol=2), "posix.system"),
        (pickle.dumps({"a": Hostile()}, protocol=4), "posix.system"),
        (pickle.dumps(run_me, protocol=2), "run_me"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
        (b"ctorch\nload\n.", "torch.load"),
        (b"(S'os'\nios\nsystem\n.", "INST"),
        (pickle.dumps([1, 2]), "holds list"),
        (b"\x80\x02}q\x00.trailing", ""),
        (b"garbage", "damaged index"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"\x80\x04\x8c\x05torch\x94\x8c\x0cFloatStorage\x94\x8c\x02os\x94h\x02h\x01\x93.", ""),
    ],
)
def test_nothing_in_a_pickle_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: bytes, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.pt"
    path.write_bytes(torch_zip(index))
    with pytest.raises(CheckpointError) as caught:
        read_dumps(path, names=())
    assert said in str(caught.value)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.pt", b"\x80\x02}q\x00.", "older formats are one pickle"),
        ("x.pt", b"", "older formats are one pickle"),
        ("x.npz", b"PK\x05\x06" + bytes(18), "no known layout"),
        ("x.npz", b"nothing", "not a plain .npz"),
        ("x.safetensors", b"\xff" * 40, "announce a header"),
        ("x.safetensors", b"", "cannot be read"),
        ("x.txt", b"1 2 3", "not read"),
    ],
)
def test_files_that_are_something_else(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=said):
        read_dumps(tmp_path / name, names=())


def test_objects_in_an_npz_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", tokens=TOKENS, embed=np.array([{"a": 1}], dtype=object))
    with pytest.raises(CheckpointError, match="arrays of objects are pickled"):
        read_dumps(tmp_path / "x.npz", names=())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"out(2)": state(1)[:-1]}, "out\\(2\\) is \\[8, 4\\], the text has 9 tokens"),
        ({"tokens": TOKENS.astype(np.float32)}, "not a list of three ids"),
        ({"tokens": TOKENS - 5}, "not a list of three ids"),
        ({"embed": np.full((COUNT, WIDTH), np.nan, dtype=np.float32)}, "not finite"),
        ({"answer": np.array([7, 5])}, r"answer says \[7, 5\]"),
    ],
)
def test_arrays_that_contradict_each_other(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        read_dumps(in_file(tmp_path, "x.safetensors", {"tokens": TOKENS, **STATES, **change}), names=())


GOOD = torch_bytes(SPECFORGE)


with zipfile.ZipFile(io.BytesIO(GOOD)) as _archive:
    INDEX_OF_GOOD = _archive.read("archive/data.pkl")
    BLOBS = [_archive.read(f"archive/data/{number}") for number in range(4)]


@given(at=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), cut=st.booleans(), inside=st.booleans())
def test_a_damaged_torch_file_is_read_or_refused(at: int, byte: int, cut: bool, inside: bool) -> None:
    """Damage anywhere, or in the index alone, of which the archive's checksum then knows nothing."""
    whole = INDEX_OF_GOOD if inside else GOOD
    at %= len(whole)
    damaged = whole[:at] if cut else whole[:at] + bytes([byte]) + whole[at + 1 :]
    if inside:
        damaged = torch_zip(damaged, BLOBS)
    refusal: CheckpointError | None = None
    try:
        torch_arrays(io.BytesIO(damaged), "x.pt")
    except CheckpointError as error:
        refusal = error
    assert refusal is None or (refusal.message.startswith("x.pt: ") and refusal.next_step)
