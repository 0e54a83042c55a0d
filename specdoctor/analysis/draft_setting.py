"""Settings of speculation as a search goes through them: chains, trees, and no speculation."""

from __future__ import annotations

from specdoctor.core.model import Frozen

LONGEST_USUAL = 8
LONG = 15
WIDTHS = (1, 2, 4, 8)
MOST_TREE_TOKENS = 32


class DraftSetting(Frozen):
    """Draft steps, branches a step (topk), and tokens verified in one forward, root included; all 0: no speculation."""

    draft_steps: int = 0
    topk: int = 0
    draft_tokens: int = 0

    @property
    def on(self) -> bool:
        return self.draft_steps > 0

    @property
    def is_chain(self) -> bool:
        return self.on and self.topk == 1

    @property
    def label(self) -> str:
        if not self.on:
            return "no speculation"
        steps = "1 step" if self.draft_steps == 1 else f"{self.draft_steps} steps"
        return steps if self.topk == 1 else f"{steps}, topk {self.topk}, {self.draft_tokens} draft tokens"

    @property
    def size(self) -> tuple[int, int, int]:
        """What makes one setting smaller than another: tokens to verify first, then steps, then branches."""
        return (self.draft_tokens, self.draft_steps, self.topk)


OFF = DraftSetting()


def chain(steps: int) -> DraftSetting:
    """A chain of `steps` drafts, which verifies steps + 1 tokens."""
    return DraftSetting(draft_steps=steps, topk=1, draft_tokens=steps + 1)


def tree(steps: int, topk: int) -> DraftSetting:
    """The whole tree of `steps` levels, cut to 32 tokens: min(1 + topk + (steps - 1) * topk^2, 32)."""
    tokens = min(1 + topk + (steps - 1) * topk * topk, MOST_TREE_TOKENS)
    return DraftSetting(draft_steps=steps, topk=topk, draft_tokens=tokens)


def grid(*, longest: int = LONG) -> tuple[DraftSetting, ...]:
    """The settings of a search: 1 to 8 steps and 15, with 1, 2, 4 and 8 branches; none longer than `longest`."""
    steps = [k for k in (*range(1, LONGEST_USUAL + 1), LONG) if k <= longest]
    return tuple(chain(k) if topk == 1 else tree(k, topk) for topk in WIDTHS for k in steps)
