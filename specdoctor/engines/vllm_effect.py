"""The speculation that arguments and values in force make effective, by vLLM's own rules."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from specdoctor.core.server import SpecSetting
from specdoctor.engines.vllm_args import METHOD, MODEL, SPEC, TOKENS, is_speculative

_WITHOUT_MODEL = frozenset({"ngram", "ngram_gpu", "suffix", "extract_hidden_states", "custom_class"})
_KEPT = frozenset({"eagle", "eagle3", "dflash", "dspark"})
# In this order the engine looks for them in the lower-cased path of the draft.
_IN_PATH = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"))
_SUFFIX_TOKENS = 24


def _config(config: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue]:
    return config or {}


def method_in_force(
    asked: Mapping[str, str], *, draft: Mapping[str, JsonValue] | None, target: Mapping[str, JsonValue] | None
) -> str | None:
    """The method that the engine will use; None without speculation or where nothing tells.

    Unless one of the head methods is asked for by name, parts of the draft's path decide.
    """
    method, model = asked.get(METHOD), asked.get(MODEL)
    if method is not None and method.endswith("_mtp"):
        return "mtp"
    if method in _WITHOUT_MODEL or method in _KEPT:
        return method
    if model in ("ngram", "[ngram]"):
        return "ngram"
    if model is None:
        tells = method is None and isinstance(_config(target).get("num_nextn_predict_layers"), int)
        return "mtp" if tells else method
    for part, name in _IN_PATH:
        if part in model.lower():
            return name
    kind = str(_config(draft).get("model_type") or "").lower()
    if kind in ("medusa", "mlp_speculator"):
        return kind
    if kind.endswith("_mtp") or method == "mtp":
        return "mtp"
    speculators = _config(draft).get("speculators_config")
    if isinstance(speculators, dict) and isinstance(speculators.get("algorithm"), str):
        return str(speculators["algorithm"])
    return "draft_model"


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < 10 else None


def _default_tokens(
    method: str | None, draft: Mapping[str, JsonValue] | None, target: Mapping[str, JsonValue] | None
) -> int | None:
    if method == "suffix":
        return _SUFFIX_TOKENS
    if method == "mtp":
        found = _config(draft).get("n_predict", _config(target).get("num_nextn_predict_layers"))
        return found if isinstance(found, int) and not isinstance(found, bool) else None
    return None


def speculates(asked: Mapping[str, str]) -> bool:
    """Whether any speculative argument was asked for."""
    return any(is_speculative(key) and value.lower() not in ("none", "null", "") for key, value in asked.items())


def asked_setting(asked: Mapping[str, str]) -> SpecSetting:
    """The speculation asked for as typed: what was left out is 0, a method left out is `AUTO`."""
    if not speculates(asked):
        return SpecSetting()
    return chain(asked.get(METHOD, "auto"), _whole(asked.get(TOKENS)) or 0)


def chain(method: str, tokens: int) -> SpecSetting:
    """A chain of drafts: vLLM's methods have no tree."""
    return SpecSetting(
        algorithm=method.upper(), draft_steps=tokens, topk=1 if tokens else 0, draft_tokens=tokens + 1 if tokens else 0
    )


def predict(
    asked: Mapping[str, str],
    *,
    draft: Mapping[str, JsonValue] | None = None,
    target: Mapping[str, JsonValue] | None = None,
) -> SpecSetting | None:
    """The speculation that a launch line will make effective, None where the rules do not tell."""
    if not speculates(asked):
        return SpecSetting()
    method = method_in_force(asked, draft=draft, target=target)
    tokens = _whole(asked.get(TOKENS)) or _default_tokens(method, draft, target)
    return chain(method, tokens) if method is not None and tokens else None


def setting_in_force(values: Mapping[str, JsonValue]) -> SpecSetting | None:
    """The speculation that values in force show; None where they do not show it."""
    if SPEC in values and values[SPEC] is None:
        return SpecSetting()
    method, tokens = values.get(METHOD), values.get(TOKENS)
    if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0:
        return chain(str(method) if method else "unknown", tokens)
    return None
