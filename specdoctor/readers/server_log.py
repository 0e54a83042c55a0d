"""A server's log, known by the words of its engine; what it says is for the engine's own adapter to read."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from specdoctor.core.reader import Reading

_HEAD_CHARS = 512 * 1024
_WORDS = {
    "sglang": r"server_args=ServerArgs|Decode batch[ .,\[]|The server is fired up|Load weight end|sglang/srt/",
    "vllm": r"(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d|\(EngineCore\w*|Avg generation throughput|"
    r"SpecDecoding metrics|vllm/v1/",
    "llamacpp": r"llama_model_loader:|llama_context:|slot +(?:launch_slot_|update_slots|print_timing|release)|"
    r"main: server is listening|srv +(?:load_model|update_slots|init)|common_speculative|draft acceptance rate|"
    r"^build: \d+|llm_load_print_meta:",
    "trtllm": r"\[TRT-LLM\]|\[TensorRT-LLM\]|tensorrt_llm",
}
_MARKS = re.compile("|".join(f"(?P<{engine}>{words})" for engine, words in _WORDS.items()), re.MULTILINE)
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
        found = [match.lastgroup for match in itertools.islice(_MARKS.finditer(head), _MANY)]
        lines = head.count("\n") + 1
        if len(found) < _MANY and not (found and lines <= 40 * len(found) and _stamped(head)):
            return None
        return Reading(kind="server log", engine=found[0])


def _stamped(head: str) -> bool:
    """Whether the text looks as a program's output, rather than as prose that quotes one line of it."""
    return bool(re.search(r"\d\d:\d\d:\d\d|Traceback|^\w+: +\S+ +=|^\w+: ", head, re.MULTILINE))


reader = _Reader()
