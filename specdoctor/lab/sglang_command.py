"""The words of a command line, with `--config` files merged in, as one dictionary of given and default values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from specdoctor.lab.sglang_failures import ParseCrash
from specdoctor.lab.sglang_flags import UsageExit, arguments, parser

ReadFile = Callable[[str], str]
_ENTRIES = ("sglang.launch_server", "sglang/launch_server.py")


def command_arguments(argv: Sequence[str]) -> tuple[list[str], bool]:
    """The server's own arguments out of a whole command line, and whether it was started as a module.

    Raises ParseCrash for a command line that is no SGLang server.
    """
    for index, word in enumerate(argv):
        if word.endswith(_ENTRIES):
            return list(argv[index + 1 :]), True
        if word == "serve" and index > 0 and argv[index - 1].rsplit("/", 1)[-1] in {"sglang", "sglang.cli.main"}:
            return list(argv[index + 1 :]), False
    module = argv[argv.index("-m") + 1] if "-m" in argv[:-1] else " ".join(argv[:1])
    raise ParseCrash(f"ModuleNotFoundError: No module named {module!r}")


def parse_words(words: list[str], release: tuple[int, int, int], read_file: ReadFile) -> dict[str, Any]:
    built = parser(release)
    if "--config" in words:
        words = _merge_config(words, built, read_file)
    if "-h" in words or "--help" in words:
        raise UsageExit(0, built.format_help())
    parsed = vars(built.parse_args(words))
    args = {argument.name: argument.default for argument in arguments(release)}
    return args | {name: value for name, value in parsed.items() if name not in {"help", "config"}}


def _merge_config(words: list[str], built: argparse.ArgumentParser, read_file: ReadFile) -> list[str]:
    if words.count("--config") > 1:
        raise ParseCrash("ValueError: Multiple config files specified! Only one allowed.")
    at = words.index("--config")
    if at == len(words) - 1:
        raise ParseCrash("ValueError: No config file specified after --config flag!")
    path = words[at + 1]
    suffix = path[path.rfind(".") :] if "." in path.rsplit("/", 1)[-1] else ""
    if suffix.lower() not in {".yaml", ".yml"}:
        raise ParseCrash(f"ValueError: Config file must be YAML format, got: {suffix}")
    try:
        data = YAML(typ="safe").load(StringIO(read_file(path)))
    except OSError as error:
        raise ParseCrash(f"ValueError: Config file not found: {path}") from error
    except YAMLError as error:
        raise ParseCrash(f"yaml.scanner.ScannerError: {error}") from error
    if not isinstance(data, dict | None):
        raise ParseCrash("ValueError: Config file must contain a dictionary at root level")
    return _config_words(data or {}) + words[:at] + words[at + 2 :]


def _config_words(data: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for key, value in data.items():
        flag = "--" + str(key).replace("_", "-")
        if isinstance(value, bool):
            words += [flag] if value else []
        elif isinstance(value, list):
            words += [flag, *map(str, value)] if value else []
        elif value is not None:
            words += [flag, str(value)]
    return words
