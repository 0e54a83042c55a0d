"""Counters and gauges as a metrics endpoint prints them."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Counters, Material
from specdoctor.core.reader import Reading

_SAMPLE = re.compile(
    r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+([-+]?(?:\d[\d.eE+-]*|\.\d+|Inf|NaN))(?:\s+-?\d+)?\s*(?:#.*)?$"
)
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_HEAD_LINES = 200
_SHARE = 0.6
_MOST_SAMPLES = 100_000
_LONGEST_LINE = 8000
_ENGINES = (("sglang:", "sglang"), ("vllm:", "vllm"), ("llamacpp:", "llamacpp"), ("trtllm", "trtllm"))


class _Reader(NamedTuple):
    name: str = "prometheus"
    summary: str = "a dump of a Prometheus metrics endpoint (SGLang, vLLM, llama.cpp, TensorRT-LLM)"
    rank: int = 20

    def read(self, text: str, *, where: str) -> Reading | None:
        head = [line for line in text.split("\n", _HEAD_LINES)[:_HEAD_LINES] if line.strip()]
        comments = sum(1 for line in head if line.startswith(("# HELP", "# TYPE")))
        marked = comments or any(mark in line for line in head for mark, _ in _ENGINES)
        if not marked or comments + sum(1 for line in head if _sample(line)) < _SHARE * len(head):
            return None
        samples: dict[str, float] = {}
        lines: dict[str, int] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            found = _sample(line)
            if found is None:
                continue
            samples[found[0]] = found[1]
            lines[found[0]] = number
            if len(samples) >= _MOST_SAMPLES:
                break
        if not samples:
            return None
        engine = next((name for mark, name in _ENGINES if any(key.startswith(mark) for key in samples)), None)
        counters = Counters(where=where, engine=engine, samples=samples, lines=lines)
        return Reading(kind="counters", pieces=Material(counters=(counters,)))


def _sample(line: str) -> tuple[str, float] | None:
    if len(line) > _LONGEST_LINE or line.startswith("#"):
        return None
    match = _SAMPLE.match(line.rstrip("\r"))
    if match is None or not (":" in match[1] or "_" in match[1]):
        return None
    try:
        value = float(match[3])
    except ValueError:
        return None
    labels = sorted(_LABEL.findall(match[2])) if match[2] else []
    shown = ",".join(f'{key}="{content}"' for key, content in labels)
    return (f"{match[1]}{{{shown}}}" if shown else match[1]), value


reader = _Reader()
