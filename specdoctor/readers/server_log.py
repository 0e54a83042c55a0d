"""A server's log, known by the words of its engine; what it says is for the engine's own adapter to read."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.reader import Reading

_HEAD_CHARS = 512 * 1024
_MARKS = re.compile(
    r"server_args=ServerArgs|Decode batch[ .,\[]|The server is fired up|Load weight end|sglang/srt/|"
    r"(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d|\(EngineCore\w*|"
    r"Avg generation throughput|SpecDecoding metrics|vllm/v1/|"
    r"llama_model_loader:|llama_context:|slot +(?:launch_slot_|update_slots|print_timing|release)|"
    r"main: server is listening|"
    r"srv +(?:load_model|update_slots|init)|common_speculative|draft acceptance rate|^build: \d+|llm_load_print_meta:|"
    r"\[TRT-LLM\]|\[TensorRT-LLM\]|tensorrt_llm",
    re.MULTILINE,
)
_MANY = 3


class _Reader(NamedTuple):
    name: str = "server_log"
    summary: str = "the log of an inference server"
    rank: int = 5

    def read(self, text: str, *, where: str) -> Reading | None:
        if (
            text.lstrip()[:1] in ("{", "[")
            and not text.lstrip().startswith('{"log":')
            and text.lstrip()[1:2] in ('"', "\n", " ", "{", "\r")
        ):
            return None
        head = text[:_HEAD_CHARS]
        marks = 0
        for marks, _ in enumerate(_MARKS.finditer(head), start=1):
            if marks >= _MANY:
                break
        lines = head.count("\n") + 1
        return (
            Reading(kind="server log") if marks >= _MANY or (marks and lines <= 40 * marks and _stamped(head)) else None
        )


def _stamped(head: str) -> bool:
    """Whether the text looks as a program's output, rather than as prose that quotes one line of it."""
    return bool(re.search(r"\d\d:\d\d:\d\d|Traceback|^\w+: +\S+ +=|^\w+: ", head, re.MULTILINE))


reader = _Reader()
