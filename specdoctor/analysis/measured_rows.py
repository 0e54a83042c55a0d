"""What several checks ask of measured tables: a row with speculation beside its baseline, and what a step costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from specdoctor.core.material import Row
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LAUNCH_NOISE = 0.05
"""Relative spread between equal launches where the host's own is not known (docs/tuning.md)."""
_LOAD = ("concurrency", "request_rate", "input_tokens", "output_tokens", "position_from", "prompt")


class Arm(Frozen):
    """One measured row with speculation, and the row of the same load without it (None where there is none)."""

    row: Row
    base: Row | None = None

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the baseline, per request."""
        if self.base is None:
            return None
        with_it, without = ms_per_token(self.row), ms_per_token(self.base)
        return without / with_it if with_it and without else None

    @property
    def accept_length(self) -> float | None:
        return accept_length_of(self.row)

    @property
    def step_ms(self) -> float | None:
        """Time of one cycle of a request: its accept length times its time per token."""
        length, token = self.accept_length, ms_per_token(self.row)
        return length * token if length and token else None

    @property
    def step_ratio(self) -> float | None:
        """The cycle in baseline steps: the accept length that it takes to break even."""
        length, gain = self.accept_length, self.speedup
        return length / gain if length and gain else None

    @property
    def tokens(self) -> int | None:
        """Tokens verified in one forward for one request, root included."""
        if self.row.draft_tokens:
            return self.row.draft_tokens
        return self.row.draft_steps + 1 if self.row.draft_steps is not None else None

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.row.source, *((self.base.source,) if self.base is not None else ()))


def own_rows(scene: Scene) -> tuple[Row, ...]:
    """Every row that was measured here, not quoted from elsewhere."""
    return tuple(row for table in scene.material.tables for row in table.rows if not row.elsewhere)


def arms(scene: Scene) -> tuple[Arm, ...]:
    """Each row with speculation beside the baseline of its load; the only baseline there is serves for any prompt."""
    rows = own_rows(scene)
    bases = [row for row in rows if row.speculative is False]
    return tuple(Arm(row=row, base=_base_for(row, bases)) for row in rows if row.speculative)


def paired(scene: Scene) -> tuple[Arm, ...]:
    """The arms whose gain is known."""
    return tuple(arm for arm in arms(scene) if arm.speedup is not None)


def _base_for(row: Row, bases: Sequence[Row]) -> Row | None:
    fitting = [b for b in bases if ms_per_token(b) is not None and _same_load(row, b)]
    if not fitting:
        alone = bases[0] if len(bases) == 1 and ms_per_token(bases[0]) is not None else None
        return alone if alone is not None and alone.concurrency == row.concurrency else None
    here = [b for b in fitting if b.source.where == row.source.where] or fitting
    return max(here, key=lambda b: _alike(row, b))


def _same_load(row: Row, base: Row) -> bool:
    pairs = [(getattr(row, name), getattr(base, name)) for name in _LOAD if name != "output_tokens"]
    return all(a == b for a, b in pairs if a not in (None, "") and b not in (None, ""))


def _alike(row: Row, base: Row) -> int:
    """How many cells the two rows share."""
    return sum(1 for key, cell in row.columns.items() if cell and base.columns.get(key) == cell)


def ms_per_token(row: Row) -> float | None:
    """Time per token of one request. A gap between chunks counts only without speculation: one chunk is one token."""
    if row.tpot_ms:
        return row.tpot_ms
    if row.throughput_tok_s:
        return 1000.0 * (row.concurrency or 1.0) / row.throughput_tok_s
    return row.itl_ms if row.speculative is False else None


def accept_length_of(row: Row) -> float | None:
    """Tokens per forward with the root's: as given, from counts, or the sum over positions."""
    if row.accept_length is not None:
        return row.accept_length
    if row.drafts and row.accepted_tokens is not None:
        return 1 + row.accepted_tokens / row.drafts
    if row.output_tokens and row.accepted_tokens is not None and row.accepted_tokens < row.output_tokens:
        return row.output_tokens / (row.output_tokens - row.accepted_tokens)
    return 1 + sum(row.per_position) if row.per_position else None


def setting_of(row: Row) -> tuple[int | None, int | None, int | None]:
    """What was drafted: steps, topk, draft tokens."""
    return row.draft_steps, row.topk, row.draft_tokens


def flat(values: Iterable[float], within: float = LAUNCH_NOISE) -> bool:
    """Whether all values lie within that share of their mean."""
    found = list(values)
    middle = sum(found) / len(found) if found else 0.0
    return bool(found) and all(abs(v - middle) <= within * middle for v in found)


def load_of(arm: Arm) -> float | None:
    """Requests at once, else requests a second; None where a row says neither."""
    return arm.row.concurrency if arm.row.concurrency is not None else arm.row.request_rate


def load_series(found: Sequence[Arm]) -> tuple[Arm, ...]:
    """Arms of the setting that was measured at most loads, by load; none for fewer than two loads."""
    settings: dict[tuple[object, ...], dict[float, Arm]] = defaultdict(dict)
    for arm in found:
        load = load_of(arm)
        if load is not None:
            settings[(setting_of(arm.row), arm.row.prompt, arm.row.input_tokens)].setdefault(load, arm)
    most = max(settings.values(), key=len, default={})
    return tuple(most[load] for load in sorted(most)) if len(most) > 1 else ()


def rarely_together(arm: Arm) -> bool:
    """Whether the batch cannot be what costs: one request at once, or rows that name no number of them."""
    return (arm.row.concurrency or 1.0) <= 1.0


def at_least_load(found: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms of the smallest number of requests at once."""
    least = min((arm.row.concurrency or 1.0 for arm in found), default=1.0)
    return tuple(arm for arm in found if (arm.row.concurrency or 1.0) == least)


def threshold(series: Sequence[Arm]) -> str:
    """Above which load to switch speculation off, where a series pays at its smaller loads and loses at its larger."""
    paying = [arm for arm in series if (arm.speedup or 0.0) >= 1.0]
    last = max((load_of(arm) or 0.0 for arm in paying), default=0.0)
    above = [load_of(arm) or 0.0 for arm in series if (load_of(arm) or 0.0) > last]
    unit = "at once" if series[0].row.concurrency is not None else "a second"
    many = "request" if last == 1 else "requests"
    between = f" (nothing was measured between {last:g} and {min(above):g})" if above and min(above) > last + 1 else ""
    return f"turn speculation off above {last:g} {many} {unit}{between}"


def busiest(found: Sequence[Arm]) -> float:
    """The most requests at once that the arms tell of."""
    return max((arm.row.concurrency or 1.0 for arm in found), default=0.0)
