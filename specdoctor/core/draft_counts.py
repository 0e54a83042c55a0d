"""Drafted and accepted tokens as an engine counts them, and the means that follow."""

from __future__ import annotations

from collections.abc import Mapping

from specdoctor.core.model import Frozen

MOST_POSITIONS = 1024


class DraftCounts(Frozen):
    """What became of drafted tokens over a span: an interval of a log, a whole log, between two scrapes of counters.

    A draft is one verification of one request that carried drafted tokens; `drafts` is None where only tokens are
    counted. `by_position` counts accepted tokens by draft position, the first draft first.
    """

    drafts: int | None = None
    drafted: int = 0
    accepted: int = 0
    by_position: tuple[float, ...] = ()

    @classmethod
    def of_totals(
        cls, *, drafts: float | None, drafted: float, accepted: float, positions: Mapping[int, float]
    ) -> DraftCounts:
        """Counts from an engine's counters; a position that none tells of has none accepted."""
        longest = min(max(positions, default=-1) + 1, MOST_POSITIONS)
        return cls(
            drafts=int(drafts) if drafts is not None else None,
            drafted=int(drafted),
            accepted=int(accepted),
            by_position=tuple(positions.get(i, 0.0) for i in range(longest)),
        )

    @property
    def accept_length(self) -> float | None:
        """Tokens per draft with the bonus token, a mean over drafts: spans are pooled by adding their counts."""
        return 1.0 + self.accepted / self.drafts if self.drafts else None

    @property
    def rate(self) -> float | None:
        """Accepted / drafted, bonus token left out."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def per_position(self) -> tuple[float, ...]:
        """Share of all drafts whose token at each position was accepted (marginal)."""
        return tuple(count / self.drafts for count in self.by_position) if self.drafts else ()

    def minus(self, start: DraftCounts) -> DraftCounts | None:
        """What was added since `start`; None where a counter went back: the server was started in between."""
        drafts = self.drafts - start.drafts if self.drafts is not None and start.drafts is not None else None
        drafted, accepted = self.drafted - start.drafted, self.accepted - start.accepted
        if min(drafts or 0, drafted, accepted) < 0:
            return None
        known = (*start.by_position, *[0.0] * len(self.by_position))
        added = tuple(b - a for a, b in zip(known, self.by_position, strict=False))
        return DraftCounts(drafts=drafts, drafted=drafted, accepted=accepted, by_position=added)

    def plus(self, other: DraftCounts) -> DraftCounts:
        """Both spans together."""
        longest = max(len(self.by_position), len(other.by_position))
        rows = [(*c.by_position, *[0.0] * (longest - len(c.by_position))) for c in (self, other)]
        unknown = self.drafts is None or other.drafts is None
        return DraftCounts(
            drafts=None if unknown else (self.drafts or 0) + (other.drafts or 0),
            drafted=self.drafted + other.drafted,
            accepted=self.accepted + other.accepted,
            by_position=tuple(a + b for a, b in zip(*rows, strict=True)),
        )
