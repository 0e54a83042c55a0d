"""Facts of the two models: how many positions and tokens each knows, and the states between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from specdoctor.app.aux_layers import aux_layers
from specdoctor.app.triage_fact import Fact
from specdoctor.core.material import Material, ModelConfig
from specdoctor.core.server import ServerView, Source

_NESTED = ("text_config", "transformer_layer_config", "llm_config", "language_config")
_VOCABULARY = ("vocab_size",)
_POSITIONS = ("max_position_embeddings", "model_max_length", "n_positions", "seq_length")


def model_facts(view: ServerView, material: Material) -> Iterator[Fact]:
    """Vocabulary and positions of target and draft, by their configurations, else by what the server's log says."""
    target = _config(view.target_config, "target", material)
    draft = _config(view.draft_config, "draft", material)
    yield from _numbers(target, "target", _VOCABULARY, "vocab")
    yield from _numbers(draft, "draft", ("draft_vocab_size", *_VOCABULARY), "vocab")
    yield from _numbers(target, "target", _POSITIONS, "context_limit")
    yield from _numbers(draft, "draft", _POSITIONS, "context_limit")
    for name in ("vocab_target", "vocab_draft"):
        value = view.effective.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            place = (view.effective_source,) if view.effective_source is not None else ()
            yield Fact(name=name, value=value, sources=place)
    layers = aux_layers(view.model_copy(update={"draft_config": dict(draft.content)}) if draft is not None else view)
    for name, ids in layers.items():
        place = (Source(where=draft.where),) if draft is not None else ()
        yield Fact(name=name, value=ids, sources=place)


def _config(seen: Mapping[str, JsonValue] | None, role: str, material: Material) -> ModelConfig | None:
    """The configuration that the engine's adapter took, else the one that the files' roles tell."""
    same = next((c for c in material.configs if seen is not None and c.content == dict(seen)), None)
    if same is not None:
        return same
    if seen is not None:
        return ModelConfig(where=f"{role} config.json", role="unknown", content=dict(seen))
    return next((c for c in material.configs if c.role == role), None)


def _numbers(config: ModelConfig | None, role: str, keys: tuple[str, ...], name: str) -> Iterator[Fact]:
    if config is None:
        return
    parts: list[Mapping[str, JsonValue]] = [config.content]
    parts += [inner for key in _NESTED if isinstance(inner := config.content.get(key), dict)]
    for key in keys:
        for part in parts:
            value = part.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                source = Source(where=config.where, key=key, quote=f'"{key}": {value}')
                yield Fact(name=f"{name}_{role}", value=value, sources=(source,))
                return
