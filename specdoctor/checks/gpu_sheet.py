"""What does the GPUs' own table say beside the speed: busy at low power, clocks held down, reductions over PCIe?"""

from __future__ import annotations

import itertools
import re

from specdoctor.analysis.factors import plain
from specdoctor.analysis.given_lines import first_line
from specdoctor.analysis.measured_rows import LAUNCH_NOISE, ms_per_token
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import excluded, proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import GpuSheet, Row
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

BUSY = 95.0
LOW_POWER = 0.45
"""Busy by the tool's count at this share of the power limit or less is waiting, not computing (public reports of
reductions over PCIe and of wrong peer copies: 0.23 to 0.31; named heuristic)."""
FULL_CLOCK = 0.7
"""A clock under load below this share of the highest counts as held down. Cards reach 0.8 to 1.0 of the highest clock
that the tool names: for many it is a boost of a single moment (heuristic)."""
FAR_FROM_OTHERS = 0.7
"""A baseline at this share of what others measure on the same cards, or less, is slow for a reason (heuristic)."""
CUSTOM_OFF = re.compile(r"custom ?all-?_?reduce\w* is disabled|disabled.{0,40}custom ?all-?reduce", re.IGNORECASE)
_SPLIT = re.compile(r"tp|tp_size|tensor_parallel(?:_size)?|(?:num_)?gpus?|n_gpus")
NO_NVLINK = frozenset({"SYS", "NODE", "PHB", "PXB", "PIX"})
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons\.(?:\w*slowdown|\w*thermal\w*|\w*power\w*|applications_\w+)$")
HELD = 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80


class GpuSheetCheck:
    """If it is as slow without speculation, the host is at fault: its cards say whether they compute, wait or
    are held.
    """

    name = "gpu-sheet"
    summary = "Read a GPU table and topology that were given: waiting at low power, clocks held down, no NVLink."
    causes = ("ENV-1", "ENV-3", "ENV-5")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        sheets = [s for s in scene.material.gpus if s.rows and any("utilization" in k for r in s.rows for k in r)]
        slow = _slow_without(scene)
        off = first_line(scene, CUSTOM_OFF)
        if not sheets:
            if off is None or slow is None:
                return no_data(self.name, "ENV-1", "no table of the GPUs was given")
            return (self._reduction(scene, None, off, slow),)
        sheet = sheets[0]
        waiting = [n for n, row in enumerate(sheet.rows) if _waiting(row)]
        held = [n for n, row in enumerate(sheet.rows) if _held(row)]
        if held:
            return (self._clocks(scene, sheet, held),)
        if waiting and (off is not None or not _linked(scene)) and len(sheet.rows) > 1:
            return (
                self._reduction(scene, _place(sheet, waiting[0]), off, slow, sheet.rows[waiting[0]]),
                self._not_held(sheet),
            )
        return silent(self.name, "ENV-1", f"{len(sheet.rows)} GPUs, none held down and none waiting", _place(sheet, 0))

    def _clocks(self, scene: Scene, sheet: GpuSheet, held: list[int]) -> Observation:
        row = sheet.rows[held[0]]
        clock, most = _number(row, "clocks.sm"), _number(row, "clocks.max.sm")
        power, limit = _number(row, "power.draw"), _number(row, "power.limit")
        claim = (
            f"{len(held)} of {len(sheet.rows)} GPUs run at {clock:.0f} of {most:.0f} MHz and "
            f"{power:.0f} of {limit:.0f} W "
            f"under load{_reasons(row)}"
        )
        return proved(self.name, "ENV-3", claim, *(_place(sheet, n) for n in held[:3]), about="cycle")

    def _reduction(
        self, scene: Scene, place: Source | None, off: Source | None, slow: tuple[str, tuple[Source, ...]] | None,
        row: dict[str, str] | None = None,
    ) -> Observation:  # fmt: skip
        parts = [slow[0]] if slow is not None else []
        if row is not None:
            power = f"{_number(row, 'power.draw'):.0f} of {_number(row, 'power.limit'):.0f} W"
            parts.append(
                f"the GPUs are {_number(row, 'utilization.gpu'):.0f} % busy at {power} and full clocks: they wait"
            )
        if off is not None:
            parts.append("custom all-reduce is off over PCIe")
        sources = [*((off,) if off is not None else ()), *((place,) if place is not None else ())]
        sources += list(slow[1]) if slow is not None else []
        claim = "; ".join(parts)
        if slow is None:
            return suspected(self.name, "ENV-1", claim, *sources, about="cycle")
        return proved(self.name, "ENV-1", claim, *sources, about="cycle")

    def _not_held(self, sheet: GpuSheet) -> Observation:
        claim = "low power at full clocks without a clock-event reason: nothing holds the cards down"
        return excluded(self.name, "ENV-3", claim, _place(sheet, 0), against="ENV-3")


def _slow_without(scene: Scene) -> tuple[str, tuple[Source, ...]] | None:
    """That the baseline measured here is far below somebody's for the same, with both rows."""
    rows = [row for table in scene.material.tables for row in table.rows]
    own = [r for r in rows if r.speculative is False and not r.elsewhere and ms_per_token(r)]
    others = [r for r in rows if r.speculative is False and r.elsewhere and ms_per_token(r)]
    if not own or not others:
        return _slower_on_more(own)
    best = min(own, key=_time)
    other = min(others, key=_time)
    if _time(other) > FAR_FROM_OTHERS * _time(best):
        return None
    said = (
        f"without speculation a token takes {_time(best):.1f} ms here and {_time(other):.1f} elsewhere: "
        "speculation is not what is slow"
    )
    return said, (best.source, other.source)


def _slower_on_more(own: list[Row]) -> tuple[str, tuple[Source, ...]] | None:
    """That a token takes longer without speculation on more GPUs than on fewer: what is added is communication."""
    ranked = sorted(((n, row) for row in own if (n := _ranks(row))), key=lambda pair: pair[0])
    for (few, fast), (many, slow) in itertools.combinations(ranked, 2):
        if many > few and fast.concurrency == slow.concurrency and _time(slow) > (1 + 2 * LAUNCH_NOISE) * _time(fast):
            said = (
                f"without speculation a token takes {_time(slow):.1f} ms on {many} GPUs and {_time(fast):.1f} on "
                f"{few}: "
                "more GPUs make it slower"
            )
            return said, (slow.source, fast.source)
    return None


def _ranks(row: Row) -> int:
    """Over how many GPUs the row's server was split, 0 where it does not say."""
    cell = next((c for heading, c in row.columns.items() if _SPLIT.fullmatch(plain(heading))), "").strip()
    return int(cell) if cell.isdigit() else 0


def _time(row: Row) -> float:
    return ms_per_token(row) or 0.0


def _linked(scene: Scene) -> bool:
    """Whether NVLink joins the GPUs, as far as a matrix says; without one the name of the card tells (PCIe, RTX)."""
    links = {kind for sheet in scene.material.gpus for row in sheet.links.values() for kind in row}
    if links:
        return not links & NO_NVLINK
    names = " ".join(row.get("name", "") for sheet in scene.material.gpus for row in sheet.rows)
    return not re.search(r"PCIe|RTX|L40|L4\b|A10\b|A40|T4\b", names)


def _waiting(row: dict[str, str]) -> bool:
    power, limit = _number(row, "power.draw"), _number(row, "power.limit")
    busy = _number(row, "utilization.gpu") >= BUSY
    return busy and 0 < power <= LOW_POWER * limit and not _below_clock(row)


def _held(row: dict[str, str]) -> bool:
    return _below_clock(row) and (_number(row, "utilization.gpu") >= BUSY or bool(_reasons(row)))


def _below_clock(row: dict[str, str]) -> bool:
    clock, most = _number(row, "clocks.sm"), _number(row, "clocks.max.sm")
    return 0 < clock < FULL_CLOCK * most


def _reasons(row: dict[str, str]) -> str:
    named = [key.rpartition(".")[2] for key, value in row.items() if _REASON.search(key) and value == "Active"]
    if named:
        return f" ({', '.join(named)})"
    text = row.get("clocks_event_reasons.active") or row.get("clocks_throttle_reasons.active") or "0"
    try:
        mask = int(text, 16)
    except ValueError:
        return f" ({text})" if text and text.lower() not in ("not active", "none", "n/a", "[n/a]") else ""
    return f" (reasons {text})" if mask & HELD else ""


def _number(row: dict[str, str], key: str) -> float:
    """0 for what is no number."""
    match = re.match(r"-?\d+(?:\.\d+)?", row.get(key, "").strip())
    return float(match[0]) if match else 0.0


def _place(sheet: GpuSheet, index: int) -> Source:
    line = sheet.lines[index] if index < len(sheet.lines) else None
    return Source(where=sheet.where, line=line, quote=sheet.rows[index].get("name", "") if line is None else "")


check = GpuSheetCheck()
