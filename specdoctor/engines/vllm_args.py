"""Read a vLLM launch line: which arguments somebody asked for, the nested speculative configuration included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pydantic import JsonValue

from specdoctor.engines.argument_values import as_text
from specdoctor.engines.config_file import config_mapping
from specdoctor.engines.python_words import after_options, is_python
from specdoctor.engines.vllm_flags import find_flag, is_flag_word, normal_spelling

DEFAULT_PORT = 8000
SPEC = "speculative_config"
NESTED = (SPEC, "compilation_config")
METHOD, MODEL, TOKENS = f"{SPEC}.method", f"{SPEC}.model", f"{SPEC}.num_speculative_tokens"
_MODULES = re.compile(r"vllm\.entrypoints\.(?:openai\.api_server|launchers\.api_server(?:\.entry)?|api_server)")
_CLI_MODULES = ("vllm", "vllm.entrypoints.cli.main")
_IMAGE = re.compile(r"(?:^|/)vllm-openai(?:[:@][\w.:-]+)?$|/vllm(?:[:@][\w.:-]+)$")
_VARIABLE = re.compile(r"\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)")
_BARE_VARIABLE = re.compile(r"(?<=[:\[,\s])\$(?:\{\w+\}|\w+)(?=[,}\]\s])")
_PROGRAMS = frozenset({"vllm", "sh", "bash", "dash", "env", "nvidia-smi"})
_LEVEL = re.compile(r"-O\d")
# Short flags of single settings, and the flags of the older engine, under the name that they have in the JSON object.
_ALIASES = {
    "spec_method": METHOD,
    "spec_model": MODEL,
    "spec_tokens": TOKENS,
    "speculative_model": MODEL,
    "num_speculative_tokens": TOKENS,
    "speculative_draft_tensor_parallel_size": f"{SPEC}.draft_tensor_parallel_size",
    "speculative_disable_by_batch_size": f"{SPEC}.disable_by_batch_size",
    "speculative_max_model_len": f"{SPEC}.max_model_len",
    "speculative_model_quantization": f"{SPEC}.quantization",
    "ngram_prompt_lookup_max": f"{SPEC}.prompt_lookup_max",
    "ngram_prompt_lookup_min": f"{SPEC}.prompt_lookup_min",
    "max_cudagraph_capture_size": "compilation_config.max_cudagraph_capture_size",
    "cudagraph_capture_sizes": "compilation_config.cudagraph_capture_sizes",
    "spec_decoding_acceptance_method": f"{SPEC}.acceptance_method",
}
SPEC_FLAG_KEYS = (SPEC, *(key for key, name in _ALIASES.items() if name.startswith(SPEC)))


@dataclass(frozen=True)
class Asked:
    """Arguments asked for: `values` by name, nested ones by dotted name; `words` as typed (flag first).

    A switch has the value "True" or "False". `unreadable` says which nested value is no JSON, `open` that variables of
    a shell whose values are not known may hold further arguments, or how it speculates.
    """

    values: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    from_file: frozenset[str] = frozenset()
    unreadable: tuple[str, ...] = ()
    open: bool = False

    @property
    def port(self) -> int:
        text = self.values.get("port", "")
        return int(text) if text.isdigit() and len(text) < 6 else DEFAULT_PORT


def flags_start(words: Sequence[str]) -> int | None:
    """Where the server's own words begin in a command line that starts a vLLM server, None in any other."""
    if not words:
        return None
    if _IMAGE.search(words[0]):
        own_program = words[1:2] and (is_python(words[1]) or PurePosixPath(words[1]).name in _PROGRAMS)
        return 1 if words[1:2] and not own_program else None
    index = 0
    if is_python(words[0]):
        index = after_options(words, 1)
        if index + 1 < len(words) and words[index] == "-m":
            if _MODULES.fullmatch(words[index + 1]):
                return index + 2
            return index + 3 if words[index + 1] in _CLI_MODULES and words[index + 2 : index + 3] == ["serve"] else None
    if index >= len(words):
        return None
    script = PurePosixPath(words[index])
    if script.name == "vllm" and words[index + 1 : index + 2] == ["serve"]:
        return index + 2
    return index + 1 if script.name == "api_server.py" and "vllm" in script.parts and index > 0 else None


def is_launch(argv: Sequence[str]) -> bool:
    """Whether this command line is a vLLM server's launcher."""
    return flags_start(list(argv)) is not None


def _json(text: str) -> JsonValue:
    """A nested value; variables of the shell whose value is not known count as not given."""
    for candidate in (text, _BARE_VARIABLE.sub("null", text)):
        try:
            found: JsonValue = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return found
    return None


def nested(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """A nested object as dotted names (one level), dashes of names as underscores; null is not asked for."""
    for key, item in value.items() if isinstance(value, dict) else ():
        text = as_text(item)
        if text is not None:
            yield f"{name}.{key.replace('-', '_')}", text


class _Flags:
    """One walk over the words of a launch line."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.words: dict[str, tuple[str, ...]] = {}
        self.unreadable: list[str] = []
        self.open = False

    def put(self, key: str, value: str, typed: tuple[str, ...]) -> None:
        name, dot, _ = key.partition(".")
        key = _ALIASES.get(key, key)
        self.values[key] = value
        self.words[key] = typed
        self.open = self.open or (key in (METHOD, TOKENS) and _VARIABLE.search(value) is not None)
        if name not in NESTED or dot or key != name:
            return
        self.open = self.open or _BARE_VARIABLE.search(value) is not None
        parsed = _json(value)
        if not isinstance(parsed, dict):
            self.open = self.open or _VARIABLE.search(value) is not None
            self.unreadable.append(key)
            return
        for inner, text in nested(name, parsed):
            self.values[inner] = text
            self.words[inner] = typed

    def walk(self, words: Sequence[str]) -> None:
        index = 0
        while index < len(words):
            word = words[index]
            index += 1
            if not is_flag_word(word):
                if "model" not in self.values:
                    self.put("model", word, (word,))
                elif _VARIABLE.search(word):
                    self.open = True
                continue
            spelling, equals, inline = word.partition("=")
            name, dot, rest = spelling.partition(".")
            flag = find_flag(name)
            key = f"{flag.key}.{rest.replace('-', '_')}" if dot else flag.key
            if _LEVEL.fullmatch(spelling):
                self.put("optimization_level", spelling[2:], (spelling,))
                continue
            if equals:
                self.put(key, inline, (spelling, inline))
                continue
            if flag.kind == "switch" and not dot:
                self.put(key, "False" if flag.off else "True", (spelling,))
                continue
            end = index
            limit = len(words) if flag.kind == "list" else index + 1
            while end < min(limit, len(words)) and not is_flag_word(words[end]):
                end += 1
            given = tuple(words[index:end])
            self.put(key, " ".join(given) if given else "True", (spelling, *given))
            index = end


def read_flags(words: Sequence[str]) -> Asked:
    """What the words after the program ask for; the first word that is no flag is the model."""
    walk = _Flags()
    walk.walk(words)
    return Asked(values=walk.values, words=walk.words, unreadable=tuple(walk.unreadable), open=walk.open)


def with_config_file(asked: Asked, text: str | None) -> Asked:
    """`asked` with the arguments of its --config file; the command line stands above the file."""
    values = dict(asked.values)
    from_file: set[str] = set()
    for name, raw in config_mapping(text).items() if text else ():
        key = find_flag(normal_spelling("--" + str(name))).key
        for inner, value in [(key, as_text(raw)), *nested(key, raw)]:
            if value is not None and inner not in asked.values and key not in asked.values:
                values[inner] = value
                from_file.add(inner)
    return replace(asked, values=values, from_file=frozenset(from_file)) if from_file else asked


def read_launch(argv: Sequence[str], *, config_text: str | None = None) -> Asked:
    """What a whole launch line asks for; empty if it starts no vLLM server."""
    start = flags_start(list(argv))
    return Asked() if start is None else with_config_file(read_flags(argv[start:]), config_text)


_DRIVER = "spec_decode.py"
_DRIVER_NAMES = {"num_spec_tokens": TOKENS, "eagle_dir": MODEL, "draft_model": MODEL, "model_dir": "model",
                 "method": METHOD, "tp": "tensor_parallel_size"}  # fmt: skip


def read_driver(argv: Sequence[str]) -> Asked | None:
    """What vLLM's own offline example of speculation (no server) asks for; None for any other command."""
    start = next((i for i, word in enumerate(argv[:3]) if PurePosixPath(word).name == _DRIVER), None)
    if start is None:
        return None
    found = read_flags(argv[start + 1 :])
    names = {key: _DRIVER_NAMES.get(key, key) for key in found.values}
    if TOKENS not in names.values():
        return None
    return Asked(
        values={names[key]: value for key, value in found.values.items()},
        words={names.get(key, key): words for key, words in found.words.items()},
    )


def asked_of_dict(given: Mapping[str, JsonValue]) -> dict[str, str]:
    """Arguments of the log's `non-default args` line, by the same names."""
    found: dict[str, str] = {}
    for name, value in given.items():
        text = as_text(value)
        if text is None or name == "model_tag":
            continue
        found[name] = text
        if name in NESTED:
            found.update(nested(name, value))
    return found


def is_speculative(key: str) -> bool:
    """Whether an argument has a meaning under speculation only."""
    return key == SPEC or key.startswith(f"{SPEC}.")
