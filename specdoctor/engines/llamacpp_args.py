"""Read a launch line of llama.cpp: the server, its Python server, and the example programs that speculate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Literal

from specdoctor.core.launch import opens_flag
from specdoctor.engines.llamacpp_flags import REMOVED, Flag, find_flag, flag_for, variable_key

DEFAULT_PORT = 8080
PYTHON_PORT = 8000
Program = Literal["server", "python server", "example"]
_SERVERS = frozenset({"llama-server", "llama-cpp-server"})
_OLD_SERVERS = frozenset({"server"})
_EXAMPLES = frozenset(
    """llama-speculative llama-speculative-simple llama-lookup llama-lookahead llama-cli speculative
    speculative-simple lookup main""".split()
)
_NEW_ONLY = ("--spec-",)
_PYTHON_KEYS = {"n_ctx": "ctx_size", "draft_model_num_pred_tokens": "spec_draft_n_max", "n_gpu_layers": "gpu_layers"}


@dataclass(frozen=True)
class Asked:
    """Arguments asked for: `values` by argument name, `words` as typed (flag first), `unknown` words left over.

    A switch has the value "True". `from_env` names the arguments that environment variables set.
    """

    values: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    from_env: dict[str, str] = field(default_factory=dict)
    program: Program = "server"

    @property
    def port(self) -> int:
        text = self.values.get("port", "")
        default = PYTHON_PORT if self.program == "python server" else DEFAULT_PORT
        return int(text) if text.isdigit() else default

    @property
    def uses_old_spelling(self) -> bool:
        """Whether it holds a flag that newer builds refuse."""
        return any(words[0].partition("=")[0] in REMOVED for words in self.words.values())

    @property
    def uses_new_spelling(self) -> bool:
        """Whether it holds a flag that only builds with `--spec-type` know."""
        return any(words[0].startswith(_NEW_ONLY) for words in self.words.values())


def _name(word: str) -> str:
    return PurePosixPath(word.replace("\\", "/")).name.removesuffix(".exe")


def program_of(words: Sequence[str]) -> tuple[Program, int] | None:
    """Which program a command line starts and where its own words begin; None for any other program."""
    if not words:
        return None
    name = _name(words[0])
    if name in _SERVERS:
        return "server", 1
    if name == "llama" and list(words[1:2]) == ["serve"]:
        return "server", 2
    if name.startswith(("python", "pypy")):
        index = 1
        while index < len(words) and words[index].startswith("-") and words[index] != "-m":
            index += 1
        if list(words[index : index + 1]) == ["-m"] and list(words[index + 1 : index + 2]) == ["llama_cpp.server"]:
            return "python server", index + 2
        script = _name(words[index]) if index < len(words) else ""
        return ("server", index + 1) if script in _SERVERS else None
    if name in _EXAMPLES and _loads_a_model(words):
        return "example", 1
    return ("server", 1) if name in _OLD_SERVERS and _loads_a_model(words) else None


def _loads_a_model(words: Sequence[str]) -> bool:
    """Whether a program of an everyday name (`main`, `server`) is llama.cpp's: it is given a GGUF file."""
    return any(word.endswith(".gguf") for word in words) and bool({"-m", "--model"} & set(words))


def is_launch(argv: Sequence[str]) -> bool:
    """Whether this command line is a llama.cpp server's launcher."""
    found = program_of(argv)
    return found is not None and found[0] != "example"


def _takes(flag: Flag | None, following: Sequence[str]) -> bool:
    if flag is not None and flag.kind == "switch":
        return False
    if flag is not None and flag.kind == "value":
        return bool(following)
    return bool(following) and not opens_flag(following[0])


def read_flags(words: Sequence[str], *, program: Program = "server") -> Asked:
    """The arguments in `words` (the flags alone, without the program). The last of repeated flags wins."""
    values: dict[str, str] = {}
    typed: dict[str, tuple[str, ...]] = {}
    unknown: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not opens_flag(word):
            unknown.append(word)
            continue
        spelling, equals, inline = word.partition("=") if word.startswith("--") else (word, "", "")
        flag = find_flag(spelling)
        key = flag.key if flag is not None else spelling.lstrip("-").replace("-", "_")
        if program == "python server":
            key = _PYTHON_KEYS.get(key, "model_draft" if key == "draft_model" else key)
        if flag is None and program != "python server":
            unknown.append(spelling)
        if equals:
            values[key], typed[key] = inline, (spelling, inline)
        elif _takes(flag, words[index:]):
            values[key], typed[key] = words[index], (spelling, words[index])
            index += 1
        else:
            values[key], typed[key] = "True", (spelling,)
    return Asked(values=values, words=typed, unknown=tuple(unknown), program=program)


def read_launch(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> Asked:
    """What a whole launch line asks for, environment included (the line wins); empty for any other program."""
    found = program_of(argv)
    if found is None:
        return Asked()
    program, start = found
    asked = read_flags(argv[start:], program=program)
    values, from_env = dict(asked.values), {}
    for name, value in (env or {}).items():
        key = variable_key(name)
        if key is not None and key not in values and flag_for(key).key == key:
            values[key], from_env[key] = value, name
    return replace(asked, values=values, from_env=from_env)
