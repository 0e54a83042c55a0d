"""Settings in force as a llama.cpp log says them, line by line, under the names of the launch flags."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True)
class Seen:
    """One setting with the line that says it."""

    value: JsonValue
    line: int
    quote: str


MARKS = (
    "loading model '",
    "loading draft model '",
    "implementation '",
    "n_max=",
    "n_slots",
    "EAGLE3 ",
    "eagle3 requires",
    "vocab",
    "meta data with",
    "exceeds the training context",
)
_MODEL = re.compile(r"load_model: loading model '(?P<path>[^']+)'")
_DRAFT = re.compile(r"loading draft model '(?P<path>[^']+)'")
_IMPLEMENTATION = re.compile(r"adding speculative implementation '(?P<type>[\w-]+)'")
_LENGTHS = re.compile(r"\bn_max=(?P<n_max>\d+), n_min=(?P<n_min>-?\d+), p_min=(?P<p_min>[\d.]+)")
_SLOTS = re.compile(r"n_slots = (?P<n>\d+)")
_SLOT_CONTEXT = re.compile(r"n_ctx_slot = (?P<n>\d+)")
_LAYERS = re.compile(r"EAGLE3 extract_layers = \[(?P<ids>[\d, ]+)\]")
_DRAFT_VOCABULARY = re.compile(r"EAGLE3 using d2t mapping \(draft_vocab_size = (?P<n>\d+)\)")
_SIZES = re.compile(r"target vocab size (?P<target>\d+) does not match draft vocab size (?P<draft>\d+)")
_LOADED = re.compile(r"loaded meta data with .{0,80} tensors from (?P<path>\S+)")
_VOCABULARY = re.compile(r"\bn_vocab\s+= (?P<n>\d+)")


def settings_in(message: str) -> dict[str, JsonValue]:
    """What one line says is in force; empty for all others. The first mention of a setting counts."""
    found: dict[str, JsonValue] = {}
    for key, pattern in (("model", _MODEL), ("model_draft", _DRAFT)):
        match = pattern.search(message)
        if match is not None and match["path"]:
            found[key] = match["path"]
    implementation = _IMPLEMENTATION.search(message)
    if implementation is not None:
        found["spec_type"] = implementation["type"]
    lengths = _LENGTHS.search(message)
    if lengths is not None:
        found["spec_draft_n_max"] = int(lengths["n_max"])
        found["spec_draft_n_min"] = int(lengths["n_min"])
        found["spec_draft_p_min"] = float(lengths["p_min"])
    for key, pattern in (("parallel", _SLOTS), ("ctx_slot", _SLOT_CONTEXT), ("draft_vocab_size", _DRAFT_VOCABULARY)):
        match = pattern.search(message)
        if match is not None:
            found[key] = int(match["n"])
    layers = _LAYERS.search(message)
    if layers is not None:
        found["eagle3.target_layers"] = [int(number) for number in re.findall(r"\d+", layers["ids"])]
    if "eagle3 requires ctx_other" in message:  # only a file of that architecture says so, whatever it is used as
        found["draft_architecture"] = "eagle3"
    sizes = _SIZES.search(message)
    if sizes is not None:
        found["vocab_target"], found["vocab_draft"] = int(sizes["target"]), int(sizes["draft"])
    return found


def loaded_file(message: str) -> str | None:
    """The GGUF file whose metadata the lines after this one describe."""
    match = _LOADED.search(message)
    return match["path"] if match is not None else None


def vocabulary_size(message: str) -> int | None:
    """The vocabulary size that a line of loaded metadata prints."""
    match = _VOCABULARY.search(message)
    return int(match["n"]) if match is not None else None
