"""The launch flags of llama.cpp's programs: which argument a spelling means, and whether a value follows."""

from __future__ import annotations

from specdoctor.engines.flag_table import Flag, flag_table

__all__ = ["GONE", "PREFIX", "REMOVED", "Flag", "find_flag", "flag_for", "is_speculative", "variable_key"]

REMOVED = frozenset(
    """--draft --draft-n --draft-max --draft-min --draft-n-min --spec-ngram-size-n --spec-ngram-size-m
    --spec-ngram-min-hits""".split()
)
"""Spellings that newer builds refuse to start with ("the argument has been removed")."""
GONE = frozenset({"--ctx-size-draft", "-cd", "--spec-replace"})
"""Spellings that newer builds do not know at all."""
PREFIX = "LLAMA_ARG_"
_VARIABLES = {
    "LLAMA_ARG_DRAFT_MAX": "spec_draft_n_max",
    "LLAMA_ARG_DRAFT_MIN": "spec_draft_n_min",
    "LLAMA_ARG_DRAFT_P_MIN": "spec_draft_p_min",
    "LLAMA_ARG_MODEL_DRAFT": "model_draft",
    "LLAMA_ARG_SPEC_DRAFT_MODEL": "model_draft",
    "LLAMA_ARG_SPEC_DRAFT_HF_REPO": "hf_repo_draft",
    "LLAMA_ARG_N_GPU_LAYERS": "gpu_layers",
    "LLAMA_ARG_N_GPU_LAYERS_DRAFT": "gpu_layers_draft",
    "LLAMA_ARG_N_PARALLEL": "parallel",
    "LLAMA_ARG_ENDPOINT_METRICS": "metrics",
    "LLAMA_ARG_ENDPOINT_SLOTS": "slots",
    "LLAMA_ARG_ENDPOINT_PROPS": "props",
}


def _table() -> dict[str, Flag]:
    return flag_table("llamacpp_flags.txt")


def find_flag(spelling: str) -> Flag | None:
    """The flag that `spelling` means; these programs take no abbreviations, but underscores for dashes."""
    table = _table()
    if spelling.startswith("--"):
        return table.get("--" + spelling[2:].replace("_", "-"))
    return table.get(spelling)


def flag_for(key: str) -> Flag:
    """The flag of an argument name; an unknown name gets the usual spelling."""
    found = next((f for f in _table().values() if f.key == key), None)
    return found or Flag(key=key, kind="value", spellings=("--" + key.replace("_", "-"),))


def variable_key(name: str) -> str | None:
    """The argument that an environment variable sets, None if it sets none."""
    if not name.startswith(PREFIX):
        return None
    if name in _VARIABLES:
        return _VARIABLES[name]
    return name[len(PREFIX) :].lower()


def is_speculative(key: str) -> bool:
    """Whether an argument has a meaning under speculation only."""
    return key.startswith(("spec_", "lookup_cache_")) or key.endswith("_draft")
