"""Launch lines of TensorRT-LLM: `trtllm-serve` and `trtllm-bench`, with the options file that they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from specdoctor.core.launch import opens_flag

CONFIG_FLAGS = ("--config", "--extra_llm_api_options", "--extra-llm-api-options")
DEFAULT_PORT = 8000
_SERVE, _BENCH = "trtllm-serve", "trtllm-bench"
_MODULES = ("tensorrt_llm.commands.serve",)
_SUBCOMMANDS = ("serve", "throughput", "latency")


def program_end(words: Sequence[str]) -> int | None:
    """Where the words of a TensorRT-LLM program begin; None for any other command."""
    if not words:
        return None
    name = PurePosixPath(words[0]).name
    if name in (_SERVE, _BENCH):
        return 1
    if name.startswith("python") and len(words) > 1:
        if words[1] == "-m" and len(words) > 2 and words[2] in _MODULES:
            return 3
        if PurePosixPath(words[1]).name in (_SERVE, _BENCH):
            return 2
    return None


def is_launch(words: Sequence[str]) -> bool:
    """Whether a command line is a server's."""
    end = program_end(words)
    return end is not None and not any(PurePosixPath(word).name == _BENCH for word in words[:2])


def read_launch(words: Sequence[str]) -> dict[str, str]:
    """The arguments of a launch line by name (underscores); the model is the first word that is no flag."""
    end = program_end(words)
    if end is None:
        return {}
    values: dict[str, str] = {}
    index = end
    while index < len(words):
        word = words[index]
        index += 1
        if not opens_flag(word):
            if word not in _SUBCOMMANDS:
                values.setdefault("model", word)
            continue
        flag, equals, value = word.partition("=")
        if not equals and index < len(words) and not opens_flag(words[index]):
            value, index = words[index], index + 1
        key = "config" if flag in CONFIG_FLAGS else flag.lstrip("-").replace("-", "_")
        values[key] = value or "True"
    return values


def port_of(values: dict[str, str]) -> int:
    text = values.get("port", "")
    return int(text) if text.isdigit() else DEFAULT_PORT
