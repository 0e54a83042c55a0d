"""The tensors of a checkpoint as text: "name DTYPE [shape]" and its variants, one on each line."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Material, TensorList, TensorSeen
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source

_NAME = r"['\"]?(?P<name>[A-Za-z_][\w.\-]{0,300})['\"]?"
_DTYPE = (
    r"(?P<dtype>(?:torch\.)?(?:BF16|F16|F32|F64|F8_E4M3\w*|F8_E5M2\w*|F4|I64|I32|I16|I8|U8|U16|U32|U64|BOOL|bfloat16"
    r"|float16|float32|float64|float8_\w+|int64|int32|int16|int8|uint8|bool|half|Q\d\w*|IQ\d\w*|MXFP4))"
)
_SHAPE = r"(?:torch\.Size\()?(?P<shape>[\[(]\s*(?:\d+\s*(?:[,x\u00d7]\s*\d*\s*)*)?[\])]|\d+(?:\s*[x\u00d7]\s*\d+)+)\)?"
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^\s*(?:[-*]\s+)?{_NAME}\s*[:,=|\s]\s*{_DTYPE}\s*[,|:\s]?\s*{_SHAPE}\s*,?\s*$",
        rf"^\s*(?:[-*]\s+)?{_NAME}\s*[:,=|\s]\s*{_SHAPE}\s*[,|:\s]?\s*{_DTYPE}\s*,?\s*$",
        rf"^\s*(?:[-*]\s+)?{_NAME}\s*[:,=|\s]\s*{_SHAPE}\s*,?\s*$",
    )
)
_LONGEST_LINE = 600
_MOST = 200_000
_FEWEST = 2
_SHARE = 0.5
_NAMES = {
    "bfloat16": "BF16", "float16": "F16", "half": "F16", "float32": "F32", "float64": "F64", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip


class _Reader(NamedTuple):
    name: str = "tensor_list"
    summary: str = "names, types and shapes of a checkpoint's tensors, one on each line"
    rank: int = 25

    def read(self, text: str, *, where: str) -> Reading | None:
        found: list[TensorSeen] = []
        other = 0
        for number, line in enumerate(text.split("\n", _MOST), start=1):
            if not line.strip():
                continue
            tensor = _tensor(line, number, where)
            if tensor is not None:
                found.append(tensor)
            else:
                other += 1
            if number > 40 and len(found) < _SHARE * other:
                return None
        dotted = sum(1 for t in found if "." in t.name or t.name in ("d2t", "t2d"))
        if len(found) < _FEWEST or len(found) < _SHARE * (len(found) + other) or dotted * 2 < len(found):
            return None
        return Reading(kind="tensor list", pieces=Material(tensors=(TensorList(where=where, tensors=tuple(found)),)))


def _tensor(line: str, number: int, where: str) -> TensorSeen | None:
    if len(line) > _LONGEST_LINE:
        return None
    match = next((m for form in _FORMS if (m := form.match(line)) is not None), None)
    if match is None:
        return None
    groups = match.groupdict()
    dtype = (groups.get("dtype") or "").removeprefix("torch.")
    return TensorSeen(
        name=match["name"],
        dtype=_NAMES.get(dtype.lower(), dtype.upper()),
        shape=tuple(int(size) for size in re.findall(r"\d+", match["shape"])),
        source=Source(where=where, line=number, quote=line.strip()),
    )


reader = _Reader()
