"""World facts about model folders: what lies in them, what a forward costs, how a drafter accepts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from specdoctor.core.model import Frozen

Conditionals = tuple[float, ...]
"""Acceptance of draft i given that all before it were accepted; the last value holds for all later positions."""


class Tensor(Frozen):
    """One entry of a safetensors header. `fill` says what the data hold: a hole of zeros, noise, or vocabulary maps."""

    name: str
    dtype: Literal["BF16", "F16", "F32", "I64", "I32", "U8", "BOOL", "F8_E4M3"] = "BF16"
    shape: tuple[int, ...]
    fill: Literal["zeros", "noise", "d2t", "t2d"] = "zeros"


class ForwardCost(Frozen):
    """Physical cost of one forward of a model, all ranks together, replayed from a CUDA graph. Milliseconds.

    memory = weights_ms + experts_ms * (distinct experts hit / active experts); compute = tokens * compute_ms_per_token;
    a forward takes fixed_ms + the larger of both (rounded by `knee`) + attention over the contexts of the batch.
    """

    weights_ms: float
    fixed_ms: float = 0.0
    experts_ms: float = 0.0
    experts: int = 0
    active_experts: int = 0
    expert_overlap: float = Field(default=0.0, ge=0.0, lt=1.0)
    compute_ms_per_token: float = 0.0
    attention_ms_per_ktoken: float = 0.0
    knee: float = 6.0
    eager_ms: float = 0.0
    """Host time to launch the kernels of this forward one by one, when no graph holds them."""
    extend_eager_ms: float | None = None
    """The same for a draft-extend forward; `eager_ms` without it."""


class Acceptance(Frozen):
    """How often the target agrees with this drafter, by position, at temperature 0 over the mean of all prompts."""

    as_trained: Conditionals
    otherwise: Conditionals = (0.05,)
    when_fed: dict[str, Conditionals] = Field(default_factory=dict)
    """Captured states, as `"out(1) out(29) out(57)"` -> conditionals, where these differ from `otherwise`."""
    category_odds: dict[str, float] = Field(default_factory=dict)
    other_template_odds: float = Field(default=1.0, gt=0.0)
    """Factor on the odds for prompts without the mark of the training's template."""
    structured_odds: float = Field(default=1.0, gt=0.0)
    """Factor on the odds in answers that a JSON schema binds."""
    beyond_positions_odds: float = Field(default=1.0, gt=0.0)
    """Factor on the odds in contexts longer than the drafter's max_position_embeddings."""
    prompt_sd: float = 0.12
    stretch_sd: float = Field(default=0.0, ge=0.0)
    """Spread of the log-odds between easy and hard stretches inside one text."""
    stretch_tokens: float = Field(default=12.0, gt=0.0)
    """Length of such a stretch: tokens over which the correlation falls to 1/e."""
    temperature_drop: float = Field(default=0.35, ge=0.0, le=1.0)
    branch_gain: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of the misses that doubling the branches repairs (topk > 1)."""
    other_rope: Conditionals | None = None
    """Conditionals when it is served with another rope_theta than `training` says; None: `otherwise`."""
    quantised: Conditionals | None = None
    """Conditionals when the drafter is loaded under the target's quantisation by inheritance; None: no difference."""

    @field_validator("as_trained", "otherwise")
    @classmethod
    def _probabilities(cls, value: Conditionals) -> Conditionals:
        if not value or any(not 0.0 <= p < 1.0 for p in value):
            raise ValueError("needs at least one probability, each from 0 up to (not including) 1")
        return value


class Training(Frozen):
    """What a drafter learnt from: `states` in the order of its input, as "embed" and "out(k)"; `target` a model id."""

    states: tuple[str, ...] = ()
    target: str | None = None
    rope_theta: float | None = None
    """What its positions were turned by; None: whatever its config.json says."""
    template_mark: str | None = None
    """Text that every prompt of the training holds, by its chat template; None: any prompt is as those."""


class Model(Frozen):
    """A model folder: its config, files and tensors, and (for drafters) what it was trained on and how it accepts."""

    id: str
    path: str
    kind: Literal["target", "eagle3", "eagle", "mtp", "standalone"] = "target"
    config: dict[str, Any]
    tensors: tuple[Tensor, ...] = ()
    layout: Literal["llama", "deepseek-moe", "llama-eagle3", "mla-eagle3"] | None = None
    without: tuple[str, ...] = ()
    """Tensors of the layout that are not in the files."""
    files: dict[str, str] = Field(default_factory=dict)
    stored_states: str | None = None
    """A file in its folder with texts and states of the target; its tensors are then such as can be calculated."""
    weight_gb: float
    """GiB over all ranks together."""
    shards: int = 1
    kv_kb_per_token: float = 0.0
    """KiB of KV cache one token takes on each rank, at the reference tensor-parallel size."""
    load_s: float = 1.0
    cost: ForwardCost
    training: Training = Training()
    acceptance: Acceptance | None = None

    @property
    def text_config(self) -> dict[str, Any]:
        """The language model's own configuration, inside a multimodal wrapper or not."""
        inner = self.config.get("text_config")
        return inner if isinstance(inner, dict) else self.config

    @property
    def architecture(self) -> str:
        return str((self.config.get("architectures") or ["LlamaForCausalLM"])[0])
