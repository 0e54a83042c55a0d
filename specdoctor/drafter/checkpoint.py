"""One model's files as read: configuration, tensors of the headers, the small tensors that checks look into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from specdoctor.core.server import Source
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.safetensors import Tensor
from specdoctor.drafter.vocabulary import Vocabulary


@dataclass(frozen=True)
class Checkpoint:
    """A model folder or GGUF file. `config` is flat where a wrapper nests the language model's configuration.

    `tensors` holds what the headers of a drafter say; none of a target's. `texts` are the files that evidence cites, by
    their full name. `small` holds the values of vocabulary maps and norms by tensor name. `path` is the folder on its
    host, as an engine would be given it. `template` is the chat template's text, if any.
    """

    folder: str
    config_file: str
    config: dict[str, Any]
    format: Literal["hf", "gguf"] = "hf"
    tensors: dict[str, Tensor] = field(default_factory=dict)
    tensor_files: dict[str, str] = field(default_factory=dict)
    small: dict[str, tuple[float, ...]] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None
    template: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    path: str = ""

    @property
    def text(self) -> dict[str, Any]:
        """The language model's own configuration: that of a wrapper or of the speculators format laid over the rest."""
        flat = dict(self.config)
        for key in ("text_config", "transformer_layer_config"):
            nested = self.config.get(key)
            if isinstance(nested, Mapping):
                flat.update(nested)
        return flat

    @property
    def architectures(self) -> tuple[str, ...]:
        named = self.config.get("architectures")
        return tuple(str(name) for name in named) if isinstance(named, list) else ()

    @property
    def names(self) -> frozenset[str]:
        """Architectures and model types, outer and inner."""
        found: set[str] = set()
        for part in (self.config, self.config.get("text_config")):
            if isinstance(part, Mapping):
                listed = part.get("architectures")
                found.update(map(str, listed) if isinstance(listed, list) else ())
                found.add(str(part.get("model_type", "")))
        return frozenset(found - {""})

    def whole(self, key: str) -> int | None:
        """A positive whole number of the configuration; None for anything else."""
        value = self.text.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    def shape(self) -> TargetShape | None:
        """What the engines' rules ask of a target; None when its number of layers is not known."""
        layers = self.whole("num_hidden_layers")
        return None if layers is None else TargetShape(layers=layers, names=self.names)

    def tensor(self, *endings: str) -> tuple[str, Tensor] | None:
        """The first tensor whose name is one of `endings` or ends with ".ending"."""
        for ending in endings:
            for name, tensor in self.tensors.items():
                if name == ending or name.endswith("." + ending):
                    return name, tensor
        return None

    def has(self, *endings: str) -> bool:
        return self.tensor(*endings) is not None

    def said(self, key: str) -> Source:
        """Where a key of the configuration stands, to be cited."""
        here: Any = self.config
        for part in [key] if key in self.config else key.split("."):
            here = here.get(part) if isinstance(here, Mapping) else None
        return Source(where=self.config_file, key=key, quote=_shown(here))

    def shown_tensor(self, name: str) -> Source:
        """A tensor as its file's header describes it, to be cited."""
        tensor = self.tensors[name]
        return Source(where=self.tensor_files.get(name, self.folder), key=name, quote=tensor.shown)

    def listed(self) -> Source:
        """That a tensor is not there, to be cited: the names that are."""
        files = sorted(set(self.tensor_files.values()))
        return Source(where=files[0] if files else self.folder, key="header", quote=_some(self.tensors))

    @property
    def is_eagle3(self) -> bool:
        """Whether this is a drafter that reads several states of its target."""
        named = any("eagle3" in name.lower() for name in self.names)
        speculators = str(self.config.get("speculators_model_type", "")).lower() == "eagle3"
        plain = "eagle_config" in self.config or self.config.get("general.architecture") == "eagle3"
        return named or speculators or plain or (self.has("fc.weight") and self.has("d2t"))

    @property
    def is_standalone(self) -> bool:
        """Whether this is a whole model that drafts from tokens: no part of it is made to take a target's states."""
        embedded = self.has("embed_tokens.weight", "token_embd.weight")
        words = [name.lower() for name in (*self.names, *self.tensors)]
        heads = any(part in word for word in words for part in _HEAD_PARTS) or self.has("fc.weight")
        method = "speculators_model_type" in self.config
        return (
            embedded and not heads and not method and not self.is_eagle3 and self.whole("num_hidden_layers") is not None
        )


_HEAD_PARTS = ("eagle", "mtp", "nextn", "medusa", "dflash", "eh_proj")


def _some(names: Iterable[str], *, most: int = 12) -> str:
    listed = sorted(names)
    rest = f", ... ({len(listed)})" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(str(item) for item in value[:64]) + "]"
    return str(value)
