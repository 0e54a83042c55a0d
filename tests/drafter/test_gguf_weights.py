"""A head in a GGUF file is calculated as the checkpoint that it was made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specdoctor.app.local_weights import read_local, weights_of
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.gguf_weights import as_before
from specdoctor.transports.local import LocalHost
from tests.live.tiny_models import load, write


def test_its_weights_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    head = load("tiny-eagle3", tokenizer=load("tiny-target"))
    write(head, tmp_path / "head.gguf")
    weights = weights_of(read_local(ModelFiles(LocalHost(), str(tmp_path / "head.gguf"), label="head.gguf")))
    for name, array in head.tensors.items():
        if name == "t2d":
            continue
        found = weights.find(name.removeprefix("model."))
        assert found is not None, name
        np.testing.assert_allclose(found[0], array, rtol=1e-3, atol=1e-6, err_msg=name)


def test_another_model_is_refused() -> None:
    with pytest.raises(CheckpointError, match="only EAGLE-3 heads"):
        as_before({}, {"general.architecture": "llama"}, "draft.gguf")
