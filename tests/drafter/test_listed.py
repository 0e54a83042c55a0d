"""What a look at a host lists of a drafter's tensors, and what is read back from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.app.checkpoint_reading import read_drafter
from specdoctor.drafter.listed import tensors_listed, values_listed
from specdoctor.lab.tensor_lists import tensor_lists
from specdoctor.lab.tensors import write_model
from specdoctor.lab.world import World
from specdoctor.remote.parts.model_files import draft_tensors
from tests.drafter.judging import files

WORLD = World.from_yaml("d2t-zero")


@pytest.mark.parametrize("world", ["healthy-offbyone-convention", "missing-lm-head", "d2t-zero"])
def test_the_lists_are_those_of_the_files(world: str, tmp_path: Path) -> None:
    """On a virtual clock a look gives the lists that the probe makes of the same checkpoint on disk."""
    read = World.from_yaml(world)
    model = next(m for m in read.models if m.kind == "eagle3")
    write_model(read, model, tmp_path)
    made = draft_tensors("head", str(tmp_path))
    assert (made["head/tensors.txt"]["text"], made["head/values.txt"]["text"]) == tensor_lists(model)


def test_what_is_read_back_is_what_the_files_hold(tmp_path: Path) -> None:
    model = next(m for m in WORLD.models if m.kind == "eagle3")
    write_model(WORLD, model, tmp_path)
    heads, values = tensor_lists(model)
    whole = read_drafter(files(tmp_path))
    found = values_listed(values)
    assert {n: t.shown for n, t in tensors_listed(heads).items()} == {n: t.shown for n, t in whole.tensors.items()}
    for name, exact in whole.small.items():
        same = exact if name in ("d2t", "t2d") else (min(exact), max(exact))
        assert found[name] == pytest.approx(same), name


@pytest.mark.parametrize(
    "text", ["", "d2t\n", "d2t runs x\n", "d2t runs 1*x\n", "d2t runs 0*99999999999\n", "norm range a b\n", "\0\n"]
)
def test_lines_that_make_no_sense_are_left_out(text: str) -> None:
    assert values_listed(text) == {}
    assert tensors_listed(text) == {}


def test_of_a_part_of_the_names_nothing_is_said_to_be_missing() -> None:
    assert tensors_listed("fc.weight BF16 [8, 24]\n...\n") == {}
