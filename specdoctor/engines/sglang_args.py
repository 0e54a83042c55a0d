"""Read a launch line: which arguments somebody asked for, as argparse would understand them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pydantic import JsonValue

from specdoctor.engines.config_file import config_mapping
from specdoctor.engines.python_words import after_options, is_python
from specdoctor.engines.sglang_flags import Flag, find_flag, is_flag_word

DEFAULT_PORT = 30000
_MODULES = ("sglang.launch_server", "sglang.cli.main", "sglang")


@dataclass(frozen=True)
class Asked:
    """Arguments asked for: `values` by argument name, `words` as typed (flag first), `unknown` words left over.

    A switch has the value "True"; a list is joined by blanks. `from_file` names the arguments of a --config file.
    """

    values: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    from_file: frozenset[str] = frozenset()

    @property
    def port(self) -> int:
        text = self.values.get("port", "")
        return int(text) if text.isdigit() else DEFAULT_PORT


def flags_start(words: Sequence[str]) -> int | None:
    """Where the server's own flags begin in a command line that starts an SGLang server, None in any other.

    Only the program itself counts: a shell, a pager or an editor whose arguments name SGLang is none.
    """
    if not words:
        return None
    index = 0
    if is_python(words[0]):
        index = after_options(words, 1)
        if index + 1 < len(words) and words[index] == "-m":
            if words[index + 1] == "sglang.launch_server":
                return index + 2
            if words[index + 1] in _MODULES and words[index + 2 : index + 3] == ["serve"]:
                return index + 3
            return None
    if index >= len(words):
        return None
    script = PurePosixPath(words[index])
    if script.name == "sglang" and words[index + 1 : index + 2] == ["serve"]:
        return index + 2
    if script.name == "launch_server.py" and "sglang" in script.parts and index > 0:
        return index + 1
    return None


def is_launch(argv: Sequence[str]) -> bool:
    """Whether this command line is an SGLang server's launcher."""
    return flags_start(list(argv)) is not None


def _take_values(flag: Flag | None, words: Sequence[str], index: int) -> int:
    """Index after the values of a flag that stands at `index - 1` without `=`."""
    if flag is not None and flag.kind == "switch":
        return index
    limit = index + 1 if flag is not None and flag.kind == "value" else len(words)
    while index < min(limit, len(words)) and not is_flag_word(words[index]):
        index += 1
    return index


def read_flags(words: Sequence[str]) -> Asked:
    """The arguments in `words` (the flags alone, without the program). The last of repeated flags wins."""
    values: dict[str, str] = {}
    typed: dict[str, tuple[str, ...]] = {}
    unknown: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not is_flag_word(word):
            unknown.append(word)
            continue
        spelling, equals, inline = word.partition("=")
        flag = find_flag(spelling)
        key = flag.key if flag is not None else spelling.lstrip("-").replace("-", "_")
        if flag is None:
            unknown.append(spelling)
        if equals:
            values[key] = inline
            typed[key] = (spelling, inline)
            continue
        end = _take_values(flag, words, index)
        given = tuple(words[index:end])
        values[key] = " ".join(given) if given else "True"
        typed[key] = (spelling, *given)
        index = end
    return Asked(values=values, words=typed, unknown=tuple(unknown))


def _yaml_value(value: JsonValue) -> str | None:
    if value is None or value is False:
        return None
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return str(value)


def with_config_file(asked: Asked, text: str | None) -> Asked:
    """`asked` with the arguments of its --config file; what the command line says itself stands above the file."""
    if not text:
        return asked
    values = dict(asked.values)
    from_file: set[str] = set()
    for name, raw in config_mapping(text).items():
        value = _yaml_value(raw)
        flag = find_flag("--" + str(name).replace("_", "-"))
        key = flag.key if flag is not None else str(name).replace("-", "_")
        if value is not None and key not in asked.values:
            values[key] = value
            from_file.add(key)
    return Asked(values=values, words=asked.words, unknown=asked.unknown, from_file=frozenset(from_file))


def read_launch(argv: Sequence[str], *, config_text: str | None = None) -> Asked:
    """What a whole launch line asks for; empty if it starts no SGLang server."""
    start = flags_start(list(argv))
    if start is None:
        return Asked()
    asked = read_flags(argv[start:])
    if start < len(argv) and not is_flag_word(argv[start]) and "model_path" not in asked.values:
        model = argv[start]
        asked = replace(
            asked, values={"model_path": model, **asked.values}, words={"model_path": (model,), **asked.words}
        )
    return with_config_file(asked, config_text)


def is_speculative(key: str) -> bool:
    """Whether an argument has a meaning under speculation only."""
    return key.startswith(("speculative_", "decoupled_spec_")) or key in {
        "enable_beta_spec",
        "enable_multi_layer_eagle",
        "spec_trace_dir",
        "uno_lora_path",
    }
