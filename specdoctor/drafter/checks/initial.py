"""Was the drafter trained at all? Norms tell, and they are small."""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation
from specdoctor.drafter.pair import Pair, doubt, fault


class Initial:
    """Norms begin at one and move in training: all of them exactly one means untrained, all zero never written."""

    name = "drafter-initial"
    summary = "See whether the drafter's norms still hold the values that they are made with."
    causes = ("WIRE-2",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        norms = {n: v for n, v in pair.draft.small.items() if n.endswith(".weight") and v}
        if not pair.draft.is_eagle3 or not norms:
            return ()
        zero = [name for name, values in norms.items() if not any(values)]
        if zero:
            claim = f"all zero, so that nothing passes: {', '.join(zero)}"
            return (fault(self.name, "WIRE-2", claim, pair.draft.shown_tensor(zero[0]), fix="export it again"),)
        if all(value == 1.0 for values in norms.values() for value in values):
            claim = f"all {len(norms)} norms are exactly one, as an untrained head's are"
            decides = "test the drafter alone on stored states, or compare it with the trainer's last checkpoint"
            return (doubt(self.name, "WIRE-2", claim, pair.draft.shown_tensor(next(iter(norms))), decides=decides),)
        return ()


check = Initial()
