"""What the small tensors of a draft hold: its vocabulary maps, and the range of each norm. Weights are not read."""

import json
import re
import struct
from typing import Any, Dict, List, Optional

TENSOR_HEADER_LIMIT = 1 << 23
VALUES_LIMIT = 1 << 22
MOST_CHARACTERS = 400000
_NORM = re.compile(r"norm[\w.]*\.weight$")
_MAP = re.compile(r"(^|\.)(d2t|t2d)$")
_CODES = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "B", "F32": "f", "F16": "e", "BF16": "H"}


def small_tensors(path: str) -> str:
    """One line for each: "NAME runs 3*500 0 1*2" (first value, then differences, equal ones counted), or
    "NAME range LOW HIGH" for a norm. Nothing for a file that is no safetensors file.
    """
    try:
        with open(path, "rb") as stream:
            size = struct.unpack("<Q", stream.read(8))[0]
            header = json.loads(stream.read(size).decode("utf-8")) if size <= TENSOR_HEADER_LIMIT else None
            if not isinstance(header, dict):
                return ""
            lines = []  # type: List[str]
            for name in sorted(header):
                values = _values(stream, 8 + size, header[name]) if _wanted(name, header[name]) else None
                if values:
                    lines.append(_line(name, values))
    except (OSError, ValueError, TypeError, KeyError, struct.error):
        return ""
    return "".join(lines)


def map_or_norm_line(name: str, values: Optional[List[float]]) -> str:
    """The line of a vocabulary map or a norm; without values only whether there would be one ("" where not)."""
    if not (_MAP.search(name) or _NORM.search(name)):
        return ""
    return _line(name, values) if values else name


def _wanted(name: str, entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list) or len(entry["shape"]) != 1:
        return False
    return bool(_MAP.search(name) or _NORM.search(name))


def _values(stream: Any, base: int, entry: Dict[str, Any]) -> Optional[List[float]]:
    """The values of one tensor; None for a type that is not read, and for one that is too large or cut off."""
    begin, end = entry["data_offsets"]
    code = _CODES.get(str(entry.get("dtype")))
    if code is None or not 0 < end - begin <= VALUES_LIMIT:
        return None
    stream.seek(base + begin)
    raw = stream.read(end - begin)
    count = len(raw) // struct.calcsize("<" + code)
    if len(raw) < end - begin:
        return None
    found = struct.unpack("<%d%s" % (count, code), raw)
    if entry["dtype"] == "BF16":
        found = struct.unpack("<%df" % count, struct.pack("<%dI" % count, *[half << 16 for half in found]))
    return list(found)


def _line(name: str, values: List[float]) -> str:
    if not _MAP.search(name):
        return "%s range %r %r\n" % (name, min(values), max(values))
    text = "%s runs %s\n" % (name, " ".join(_runs(values)))
    return text if len(text) <= MOST_CHARACTERS else ""


def _runs(values: List[float]) -> List[str]:
    """The first value and then the differences, each with how often it comes in a row."""
    steps = [values[0]] + [after - before for before, after in zip(values, values[1:])]
    found = []  # type: List[str]
    first = 0
    for index in range(1, len(steps) + 1):
        if index == len(steps) or steps[index] != steps[first]:
            found.append("%d*%d" % (steps[first], index - first) if index - first > 1 else "%d" % steps[first])
            first = index
    return found
