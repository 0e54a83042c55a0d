"""What a look at a drafter's files lists of its tensors: a line of each header entry, the values of the small ones.

The practice host holds real files, and what looks at them makes these lists there. On a virtual clock nothing is
written; the lists are made from the same data.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby, pairwise

from specdoctor.lab.tensor_layouts import Tensor
from specdoctor.lab.tensors import model_tensors, tensor_data
from specdoctor.lab.world import Model

_made: dict[str, tuple[str, str]] = {}


def tensor_lists(model: Model) -> tuple[str, str]:
    """The lists of tensors and of values of one model; made once for each content."""
    key = model.model_dump_json(include={"id", "layout", "tensors", "without", "config"})
    if key not in _made:
        tensors = sorted(model_tensors(model), key=lambda one: one.name)
        heads = [f"{one.name} {one.dtype} {list(one.shape)}\n" for one in tensors]
        _made[key] = ("".join(heads), "".join(_values(one, model) for one in tensors))
    return _made[key]


def _values(tensor: Tensor, model: Model) -> str:
    """The line of a vocabulary map or of a norm; nothing for any other tensor."""
    last = tensor.name.rsplit(".", 1)[-1]
    if last in ("d2t", "t2d"):
        code = {"I64": "q", "BOOL": "B"}[tensor.dtype]
        raw = tensor_data(tensor, model)
        values = struct.unpack(f"<{tensor.shape[0]}{code}", raw)
        return f"{tensor.name} runs {_runs(values)}\n"
    if len(tensor.shape) == 1 and tensor.name.endswith("norm.weight"):
        raw = tensor_data(tensor, model)
        halves = struct.unpack(f"<{len(raw) // 2}H", raw)
        floats = struct.unpack(f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves)))
        return f"{tensor.name} range {min(floats)!r} {max(floats)!r}\n"
    return ""


def _runs(values: Sequence[int]) -> str:
    """The first value, then differences; equal ones in a row are counted."""
    steps = [values[0], *(after - before for before, after in pairwise(values))]
    counted = ((step, sum(1 for _ in same)) for step, same in groupby(steps))
    return " ".join(f"{step}*{count}" if count > 1 else str(step) for step, count in counted)
