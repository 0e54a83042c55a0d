"""How an installed SGLang picks the states that it hands to a drafter: the lines of its own source that say so."""

import os
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from specdoctor.remote.parts.procfs import read_text

CAPTURE_FUNCTION = "set_eagle3_layers_to_capture"
CAPTURE_RESULT = "layers_to_capture"
MODELS_FOLDER = "/sglang/srt/models"
MOST_SOURCES = 600
LARGEST_SOURCE = 1 << 20
MOST_SOURCE_BYTES = 32 << 20
_CLASS = re.compile(r"^class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:", re.MULTILINE)
_NEXT = re.compile(r"^[^\s#)]", re.MULTILINE)
_METHOD = re.compile(r"^([ \t]+)def[ \t]+%s\b" % CAPTURE_FUNCTION, re.MULTILINE)
_SETS = re.compile(r"\b%s\s*=[^=]" % CAPTURE_RESULT)


class EngineClass(NamedTuple):
    """A class of the engine: its file, that file's text, and from where to where its head and its method stand."""

    path: str
    text: str
    begin: int
    head_end: int
    bases: List[str]
    method: Optional[List[int]]


def capture_rule(folders: Sequence[str], names: Sequence[str]) -> Optional[Dict[str, Any]]:
    """The file that decides for a target with these class names (the outermost first), as FileFacts.

    Everything in its text but the class line and the method is left blank, so lines keep their numbers. A wrapper that
    passes the ids on is followed to the next name. None where no such file is installed in these folders, nothing in it
    sets the layers, or there is more of it than is read.
    """
    models = next((each + MODELS_FOLDER for each in folders if os.path.isdir(each + MODELS_FOLDER)), None)
    if models is None:
        return None
    classes: Dict[str, EngineClass] = {}
    for found in _classes(models):
        classes.update((name, each) for name, each in found.items() if name not in classes)
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop(0)
        one = classes.get(name)
        if one is None or name in seen:
            continue
        seen.add(name)
        if one.method is None:
            waiting = one.bases + waiting
        elif _SETS.search(one.text, one.method[0], one.method[1]):
            return _as_file(one)
    return None


def _classes(models: str) -> Iterator[Dict[str, EngineClass]]:
    """The classes of each source file of a folder."""
    try:
        names = sorted(name for name in os.listdir(models) if name.endswith(".py"))
    except OSError:
        return
    left = MOST_SOURCE_BYTES
    for name in names[:MOST_SOURCES]:
        path = models + "/" + name
        if not os.path.isfile(path) or os.path.getsize(path) > min(left, LARGEST_SOURCE):
            continue
        text = read_text(path, LARGEST_SOURCE) or ""
        left -= len(text)
        yield dict(_classes_in(path, text))


def _classes_in(path: str, text: str) -> Iterator[Any]:
    for match in _CLASS.finditer(text):
        after = _NEXT.search(text, match.end() + 1)
        end = after.start() if after else len(text)
        method = _METHOD.search(text, match.end(), end)
        bases = [base.split(".")[-1].strip() for base in (match.group(2) or "").split(",")]
        place = [method.start(), _end_of(text, method, end)] if method else None
        yield match.group(1), EngineClass(path, text, match.start(), match.end(), bases, place)


def _end_of(text: str, method: Any, end: int) -> int:
    """Where a method ends: before the next line that is indented no further, a closing bracket aside."""
    after = re.compile(r"^[ \t]{0,%d}[^\s#)]" % len(method.group(1)), re.MULTILINE).search(text, method.end(), end)
    return after.start() if after else end


def _as_file(one: EngineClass) -> Dict[str, Any]:
    begin, end = one.method or [0, 0]
    kept = (one.text[: one.begin], one.text[one.begin : one.head_end], one.text[one.head_end : begin])
    blank = ["\n" * kept[0].count("\n"), kept[1], "\n" * kept[2].count("\n")]
    text = "".join(blank) + one.text[begin:end]
    state = os.stat(one.path)
    return {"path": one.path, "text": text, "size": state.st_size, "mtime": state.st_mtime, "error": None}
