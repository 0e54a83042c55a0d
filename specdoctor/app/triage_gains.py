"""What speculation gains at each load that both sides were measured at, each load on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specdoctor.analysis.logged_rows import all_paired
from specdoctor.analysis.measured_rows import LAUNCH_NOISE, Arm, load_series, setting_of, threshold
from specdoctor.app.facts_tables import chosen
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

MOST_SAID = 4
"""Loads that one sentence names."""


class LoadGain(Frozen):
    """Speculation against none at one number of requests at once; throughput of all requests together, in tok/s.

    `throughput_tok_s` and `baseline_tok_s` are None where the rows give times only; `sources` are the places of both.
    """

    concurrency: float
    speedup: float
    throughput_tok_s: float | None
    baseline_tok_s: float | None
    accept_length: float | None
    sources: tuple[str, ...]


def arms_by_load(scene: Scene) -> tuple[Arm, ...]:
    """Arms of one setting by number of requests at once, that of the launch under study where rows are of it."""
    arms, own = all_paired(scene), chosen(scene)
    if own is not None:
        arms = tuple(a for a in arms if setting_of(a.row) == setting_of(own.row) and a.row.prompt == own.row.prompt)
    return tuple(arm for arm in load_series(arms) if arm.row.concurrency is not None) or _alone(arms)


def _alone(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    return tuple(arm for arm in arms if arm.row.concurrency is not None)[:1]


def load_gains(arms: Sequence[Arm], named: Mapping[str, str]) -> tuple[LoadGain, ...]:
    """The arms as figures, their places by the files that were given."""
    return tuple(
        LoadGain(
            concurrency=arm.row.concurrency or 1.0,
            speedup=round(arm.speedup or 0.0, 4),
            throughput_tok_s=arm.row.throughput_tok_s and round(arm.row.throughput_tok_s, 4),
            baseline_tok_s=arm.base.throughput_tok_s and round(arm.base.throughput_tok_s, 4) if arm.base else None,
            accept_length=arm.accept_length and round(arm.accept_length, 4),
            sources=tuple(_place(s, named) for s in arm.sources),
        )
        for arm in arms
    )


def _place(source: Source, named: Mapping[str, str]) -> str:
    where = named.get(source.where, source.where)
    return f"{where}:{source.line}" if source.line is not None else where


def gain_sentence(arms: Sequence[Arm]) -> str:
    """The gain at each load (of many: at the ends and where it turns) and what follows, as one clause; empty for fewer
    than two loads.
    """
    if len(arms) < 2:
        return ""
    pays = [n for n, arm in enumerate(arms) if (arm.speedup or 0.0) >= 1.0]
    turn = pays[-1] + 1 if pays else 0
    told = sorted({0, max(turn - 1, 0), min(turn, len(arms) - 1), len(arms) - 1}) if len(arms) > MOST_SAID else None
    first, *rest = [arms[n] for n in told] if told is not None else arms
    said = f"at {_clients(first)} speculation gives {first.speedup:.2f} times the speed without"
    said += "".join(f", at {arm.row.concurrency:g} {arm.speedup:.2f}" for arm in rest)
    if told is not None:
        said += f" ({len(arms)} loads were compared)"
    if 0 in pays and any((arm.speedup or 0.0) < 1 - LAUNCH_NOISE for arm in arms[turn:]):
        return f"{said}: {threshold(arms)}"
    return f"{said}: it loses at every one of them" if not pays else said


def _clients(arm: Arm) -> str:
    at = arm.row.concurrency or 1.0
    return f"{at:g} request{'s' if at > 1 else ''} at once" if at > 1 else "1 request"
