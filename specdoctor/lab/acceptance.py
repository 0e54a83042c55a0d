"""How many draft tokens a verify step accepts.

The luck of a text position is a property of the text: the same prompt, decoded greedily, is as easy or hard to draft
each time, whatever the length of the chain. A chain ends at its first miss and a new one starts behind it; where a text
has easy and hard stretches, long chains therefore start in the hard ones more often than short chains do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import lru_cache

from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.tensors import drafts_lead_astray
from specdoctor.lab.world import Acceptance, Conditionals, World

# Gauss-Hermite nodes and weights for a standard normal variable, five points.
_NODES = ((-2.85697, 0.011257), (-1.35563, 0.222076), (0.0, 0.533333), (1.35563, 0.222076), (2.85697, 0.011257))
_CHANCE: Conditionals = (0.03, 0.01)
_RANDOM_HEAD: Conditionals = (0.004, 0.001)


def _logit(p: float) -> float:
    p = min(max(p, 1e-6), 1.0 - 1e-6)
    return math.log(p / (1.0 - p))


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def conditionals_of(resolved: Resolved, world: World) -> Conditionals:
    """Mean conditional acceptance at temperature 0 that follows from what is wired to what."""
    algorithm = resolved.args["speculative_algorithm"]
    if algorithm == "NGRAM":
        return world.physics.ngram_acceptance
    draft = resolved.draft
    if draft is None or draft.acceptance is None:
        return _CHANCE
    if resolved.args.get("speculative_draft_load_format") == "dummy":
        return _RANDOM_HEAD
    if drafts_lead_astray(draft):
        return _RANDOM_HEAD
    accept = draft.acceptance
    kinds = {"EAGLE3": {"eagle3"}, "EAGLE": {"eagle", "mtp"}, "STANDALONE": {"standalone"}}
    if draft.kind not in kinds.get(str(algorithm), set()):
        return _CHANCE
    if accept.quantised is not None and resolved.args.get("speculative_draft_model_quantization"):
        return accept.quantised
    if draft.training.rope_theta not in (None, draft.text_config.get("rope_theta")):
        return accept.other_rope or accept.otherwise
    if resolved.wired_as_trained:
        return accept.as_trained
    return accept.when_fed.get(" ".join(resolved.captured_states), accept.otherwise)


def at_position(values: Sequence[float], index: int) -> float:
    """Conditional acceptance of draft `index` (from 0); the last given value holds beyond."""
    return values[min(index, len(values) - 1)]


def _widened(p: float, width: int, gain: float) -> float:
    if width <= 1:
        return p
    return 1.0 - (1.0 - p) * math.pow(1.0 - gain, math.log2(width))


def mean_preserving_logits(values: Sequence[float], spread: float, positions: int) -> tuple[float, ...]:
    """Logits whose pooled acceptance over prompts of that log-odds spread equals `values`, position by position."""
    logits: list[float] = []
    survivors = [weight for _, weight in _NODES]
    for index in range(positions):
        wanted = at_position(values, index)
        total = sum(survivors)
        low, high = -16.0, 16.0
        for _ in range(50):
            middle = (low + high) / 2.0
            pooled = sum(s * _sigmoid(middle + spread * z) for s, (z, _) in zip(survivors, _NODES, strict=True)) / total
            low, high = (middle, high) if pooled < wanted else (low, middle)
        logits.append((low + high) / 2.0)
        survivors = [s * _sigmoid(logits[-1] + spread * z) for s, (z, _) in zip(survivors, _NODES, strict=True)]
    return tuple(logits)


class Drafter:
    """Acceptance of one server's drafts."""

    def __init__(self, resolved: Resolved, world: World) -> None:
        self._resolved = resolved
        self.steps = resolved.num_steps if resolved.args["speculative_algorithm"] != "NGRAM" else 0
        if resolved.args["speculative_algorithm"] == "NGRAM":
            self.steps = resolved.num_draft_tokens - 1
        has_own = resolved.draft is not None and resolved.draft.acceptance is not None
        own = resolved.draft.acceptance if resolved.draft is not None else None
        self._positions = resolved.draft.text_config.get("max_position_embeddings") if resolved.draft else None
        self._accept = own if has_own and own is not None else Acceptance(as_trained=_CHANCE)
        base = conditionals_of(resolved, world)
        tree = resolved.topk if resolved.args["speculative_algorithm"] != "NGRAM" else 1
        room = max(resolved.num_draft_tokens - 1, 1)
        width = min(tree, max(room // max(self.steps, 1), 1)) if tree > 1 else 1
        first = tree if tree > 1 else 1
        means = [
            _widened(at_position(base, i), first if i == 0 else width, self._accept.branch_gain)
            for i in range(max(self.steps, 1))
        ]
        spread = math.hypot(self._accept.prompt_sd, self._accept.stretch_sd)
        self._logits = mean_preserving_logits(means, spread, max(self.steps, 1))
        self._loses_sampled = world.engine.loses_sampled_text
        forced = resolved.env.get("SGLANG_SIMULATE_ACC_LEN")
        self._forced = float(forced) if forced and float(forced) > 0 else None

    @property
    def stretch_tokens(self) -> float:
        return self._accept.stretch_tokens

    def easiness(
        self, prompt_key: str, category: str | None, prompt: str | None = None, *, structured: bool = False
    ) -> float:
        """Log-odds shift of one prompt: its own effect, its category's, that of another template, and of a schema."""
        own = random.Random(f"{prompt_key}:easiness").gauss(0.0, 1.0) * self._accept.prompt_sd
        draft = self._resolved.draft
        mark = draft.training.template_mark if draft is not None else None
        other = mark is not None and mark not in (prompt or "")
        odds = self._accept.category_odds.get(category or "", 1.0)
        odds *= self._accept.structured_odds if structured else 1.0
        return own + math.log(odds * (self._accept.other_template_odds if other else 1.0))

    def beyond(self, context: int) -> float:
        """Log-odds shift where a request's context (tokens) is longer than the positions its drafter knows."""
        limit = self._positions
        return math.log(self._accept.beyond_positions_odds) if limit is not None and context > int(limit) else 0.0

    def accepted(self, luck: Luck, position: int, *, easiness: float, temperature: float) -> int:
        """Drafts accepted by the verify step whose first draft would be output token `position`."""
        if self._forced is not None:
            extra = self._forced - 1.0
            whole = int(extra)
            return min(whole + (luck.at(position) < extra - whole), self.steps)
        if self._loses_sampled and temperature > 0:
            return 0
        keep = 1.0 - self._accept.temperature_drop * min(temperature, 1.5)
        sd = self._accept.stretch_sd
        for index in range(self.steps):
            here = sd * luck.stretch(position + index) if sd else 0.0
            chance = _sigmoid(self._logits[index] + easiness + here) * keep
            if luck.at(position + index) >= chance:
                return index
        return self.steps


@lru_cache(maxsize=512)
def luck_of(text: str, stretch_tokens: float) -> Luck:
    """The luck of one text, drawn once however often the text is written."""
    return Luck(text, stretch_tokens)


class Luck:
    """One uniform number per output position of a text, and how easy the stretch is that it lies in.

    Neighbours share a stretch: its correlation falls to 1/e over `stretch_tokens` positions.
    """

    def __init__(self, key: str, stretch_tokens: float) -> None:
        self._rng = random.Random(key)
        self._drawn: list[float] = []
        self._stretch_rng = random.Random(f"{key}:stretch")
        self._stretches: list[float] = []
        self._kept = math.exp(-1.0 / stretch_tokens)

    def at(self, position: int) -> float:
        while len(self._drawn) <= position:
            self._drawn.append(self._rng.random())
        return self._drawn[position]

    def stretch(self, position: int) -> float:
        """A standard normal number that neighbours share."""
        kept = self._kept
        while len(self._stretches) <= position:
            fresh = self._stretch_rng.gauss(0.0, 1.0)
            carried = kept * self._stretches[-1] + math.sqrt(1.0 - kept * kept) * fresh if self._stretches else fresh
            self._stretches.append(carried)
        return self._stretches[position]
