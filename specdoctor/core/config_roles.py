"""Which config.json is the target's and which the drafter's: by what it holds, the launch line, and its file's name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Literal

from pydantic import JsonValue

ConfigRole = Literal["target", "draft", "other draft", "unknown"]

_DRAFT_CLASS = re.compile(r"eagle|nextn|\bmtp|mtp\b|speculator|medusa|dflash|dspark|draftmodel|drafter", re.IGNORECASE)
_DRAFT_KEYS = ("draft_vocab_size", "eagle_config", "speculators_config", "speculators_model_type", "medusa_num_heads",
               "dflash_config", "dspark_config", "block_size_draft")  # fmt: skip
_DRAFT_NAME = re.compile(r"draft|eagle|head|assistant|spec(?:ulator)?\b")
_OTHER_NAME = re.compile(r"other|second|another|_b\b|\bold\b|known.?good|reference|healthy|working")
_PATH_FLAGS = {
    "target": ("--model-path", "--model", "-m", "--served-model", "--model-dir", "--model_path"),
    "draft": ("--speculative-draft-model-path", "--speculative-draft-model", "--model-draft", "-md", "--draft-model",
              "--eagle-dir", "--spec-draft-model", "--speculative-model", "--draft_model"),
}  # fmt: skip
_IN_JSON = re.compile(r"""\\?["']model\\?["']\s*:\s*\\?["']([^"'\\]+)""")
_SERVED = re.compile(r"\b(?:vllm|trtllm-serve)\s+(?:serve\s+)?([^\s\\-][^\s\\]*)")
_WORD = re.compile(r"""(?:^|\s)(--?[A-Za-z][\w-]*)(?:=|\s+\\?\s*)["']?([^\s"'\\]+)""")
_LARGEST_LAUNCH = 100_000


def is_model_config(found: Mapping[str, JsonValue]) -> bool:
    """Whether a JSON object is a model's configuration, and not a server's or a trainer's."""
    if "internal_states" in found or "speculative_algorithm" in found or "choices" in found:
        return False
    if "model_path" in found or ("id" in found and "object" in found):
        return False
    named = isinstance(found.get("architectures"), list) or "speculators_model_type" in found
    shaped = "hidden_size" in found and "num_hidden_layers" in found
    return (named or isinstance(found.get("model_type"), str) or shaped) and "target_model_path" not in found


def looks_like_draft(found: Mapping[str, JsonValue]) -> bool:
    """Whether a configuration says by itself that it is a drafter's."""
    classes = f"{found.get('architectures')} {found.get('model_type')}"
    return bool(_DRAFT_CLASS.search(classes)) or any(key in found for key in _DRAFT_KEYS)


def paths_in(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Model folders that launch lines name, by role (`target`, `draft`)."""
    found: dict[str, list[str]] = {"target": [], "draft": []}
    for text in texts:
        if len(text) > _LARGEST_LAUNCH or text.lstrip()[:1] in ("{", "["):
            continue
        for flag, value in _WORD.findall(text):
            for role, flags in _PATH_FLAGS.items():
                if flag in flags and (flag != "-m" or "/" in value or value.endswith(".gguf")):
                    found[role].append(value)
        found["draft"] += _IN_JSON.findall(text)
        found["target"] += _SERVED.findall(text)
    return {role: tuple(dict.fromkeys(paths)) for role, paths in found.items()}


def config_roles(configs: Mapping[str, Mapping[str, JsonValue]], launches: Iterable[str] = ()) -> dict[str, ConfigRole]:
    """The role of each config.json by file name; at most one target and one draft, further drafts are `other draft`.

    `launches` are the texts of the launch lines beside them.
    """
    paths = paths_in(launches)
    likely = {where: _alone(where, found, paths) for where, found in configs.items()}
    undecided = [where for where, role in likely.items() if role == "unknown"]
    targets = [where for where, role in likely.items() if role == "target"]
    drafts = [where for where, role in likely.items() if role == "draft"]
    if undecided and not targets and len(undecided) == 1:
        likely[undecided[0]] = "target" if drafts or not paths["draft"] or not _draft_named(undecided[0]) else "draft"
    elif len(undecided) == 1 and not drafts and paths["draft"]:
        likely[undecided[0]] = "draft"
    elif len(undecided) >= 2 and not targets and paths["draft"]:
        ranked = sorted(undecided, key=lambda where: _size(configs[where]))
        likely |= {ranked[-1]: "target", ranked[0]: "draft"}
    return _one_each(likely)


def _alone(
    where: str, found: Mapping[str, JsonValue], paths: Mapping[str, tuple[str, ...]]
) -> Literal["target", "draft", "unknown"]:
    name = where.lower()
    folders = {PurePosixPath(where).parent.name, str(found.get("_name_or_path", "")).rstrip("/").rpartition("/")[2]}
    stem = PurePosixPath(name).stem
    if looks_like_draft(found):
        return "draft"
    if re.search(r"target|verifier|base_?model|main_?model", name):
        return "target"
    for role in ("draft", "target"):
        if any(PurePosixPath(path).name in folders for path in paths[role]):
            return role
    return "draft" if _DRAFT_NAME.search(stem) or "draft" in name else "unknown"


def _draft_named(where: str) -> bool:
    return bool(_DRAFT_NAME.search(where.lower()))


def _one_each(likely: Mapping[str, str]) -> dict[str, ConfigRole]:
    out: dict[str, ConfigRole] = {}
    for role, others in (("draft", "other draft"), ("target", "unknown")):
        group = sorted(
            (w for w, r in likely.items() if r == role), key=lambda w: (bool(_OTHER_NAME.search(w.lower())), len(w), w)
        )
        for index, where in enumerate(group):
            out[where] = role if index == 0 else others  # type: ignore[assignment]
    return {where: out.get(where, "unknown") for where in likely}


def _size(found: Mapping[str, JsonValue]) -> float:
    """Width times depth, a stand-in for the number of parameters."""
    text = found.get("text_config")
    inner: Mapping[str, JsonValue] = text if isinstance(text, dict) else found
    width, depth = inner.get("hidden_size"), inner.get("num_hidden_layers")
    numbers = [float(value) for value in (width, depth) if isinstance(value, int | float)]
    return numbers[0] * numbers[1] if len(numbers) == 2 else 0.0


def configs_in(texts: Mapping[str, str]) -> dict[str, dict[str, JsonValue]]:
    """Every model configuration among texts, by file name."""
    found: dict[str, dict[str, JsonValue]] = {}
    for where, text in texts.items():
        if (
            text.lstrip()[:1] != "{"
            or len(text) > 1 << 20
            or not ("architectures" in text or "model_type" in text or "hidden_size" in text)
        ):
            continue
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict) and is_model_config(parsed):
            found[where] = parsed
    return found
