"""Which single switch of a table of runs goes with the loss?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from specdoctor.analysis.factors import Contrast, cell, contrasts, fell, plain
from specdoctor.analysis.logged_rows import logged_table
from specdoctor.analysis.measured_rows import LAUNCH_NOISE
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene

CLEAR = 2 * LAUNCH_NOISE
"""A difference between two runs of less than this may be one of equal launches."""
What = Literal["accept length", "acceptance", "speed"]
STATED = re.compile(
    r"\b(?:vllm|sglang|llama\.cpp|tensorrt[-_]llm|trt-llm|build|version)\b\W{0,3}v?(?P<version>b?\d+(?:\.\d[\w.]*)?)",
    re.I,
)
_LOW_PRECISION = re.compile(r"fp8|int8|q[2-8]|e4m3|e5m2|fp4|nf4|awq|gptq|mxfp|w[48]a|int4|quant", re.I)
_ON = re.compile(r"^(?:on|true|yes|1|enabled?|with)\b", re.I)


def _number(text: str) -> float:
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return float(found[0]) if found else 0.0


def _larger(worse: str, better: str) -> bool:
    return _number(worse) > _number(better)


def _lower_precision(worse: str, better: str) -> bool:
    return bool(_LOW_PRECISION.search(worse)) and not _LOW_PRECISION.search(better)


def _switched_on(worse: str, better: str) -> bool:
    return bool(_ON.match(worse)) or (_number(worse) > 0 and worse[:1].isdigit() and _number(worse) > _number(better))


def _switched_off(worse: str, better: str) -> bool:
    return bool(_ON.match(better)) and not _ON.match(worse)


def _two_numbers(worse: str, better: str) -> bool:
    """Two versions of one thing, not two engines by name."""
    return bool(re.search(r"\d", worse) and re.search(r"\d", better))


def _any(worse: str, better: str) -> bool:
    return worse != better


class _Switch(NamedTuple):
    """A column by its heading; which cause it speaks for if the value that `worse_is` tells comes out worse."""

    cause: str
    heading: re.Pattern[str]
    moves: tuple[What, ...]
    worse_is: Callable[[str, str], bool] = _any


_LENGTH: tuple[What, ...] = ("accept length", "acceptance")
_SPEED: tuple[What, ...] = ("speed",)
_ALL: tuple[What, ...] = (*_LENGTH, *_SPEED)
SWITCHES = (
    _Switch("SAMP-1", re.compile(r"^(?:t|temp|temperature|sampling_temperature)$"), _LENGTH, _larger),
    _Switch("MIS-4", re.compile(
        r"kv_?(?:cache)?_?(?:d?type|quant\w*|precision)|cache_type|"
        r"^ctk|^kv$"
    ), _LENGTH, _lower_precision),
    _Switch("MIS-3", re.compile(r"draft\w*_(?:quant\w*|d?type|precision)"), _LENGTH),
    _Switch("MIS-2", re.compile(
        r"^(?:target_)?(?:quant\w*|precision|weights?|dtype|"
        r"checkpoint)$|^(?:target(?:_model)?|model)$"
    ), _LENGTH, _lower_precision),
    _Switch("MIS-5", re.compile(r"lora|adapter|fine_?tun"), _LENGTH),
    _Switch("GRAPH-3", re.compile(
        r"^(?!.*(?:dp_att|attention_dp|attn_dp)).*(?:attention|attn|back_?end|kernel)"
    ), _ALL),
    _Switch("TRAIN-1", re.compile(
        r"template|prompt_(?:form|format|style|type)|endpoint|"
        r"thinking|reasoning|system_prompt|^format$"
    ), _LENGTH),
    _Switch("CORR-1", re.compile(r"(?:prefix|radix)_?cach|^cache$"), _LENGTH, _switched_on),
    _Switch("WIRE-5", re.compile(r"disagg|^pd$|dp_?att|attention_dp|attn_dp|^dp(?:_size)?$|deployment|split"), _LENGTH),
    _Switch("WIRE-4", re.compile(r"modalit|image|vision|multimodal"), _LENGTH),
    _Switch("CORR-5", re.compile(r"grammar|json|schema|structured|tools?$"), _LENGTH),
    _Switch("VER-1", re.compile(r"^(?:\w+_)?(?:version|build|release|commit|image_tag|image|wheel)$|"
        r"^(?:sglang|vllm|llama_cpp|trt_llm|tensorrt_llm|engine)$"
    ), _ALL, _two_numbers),
    _Switch("ENV-4", re.compile(r"numa|affinity|binding|bound|pinned?$|governor"), _SPEED),
    _Switch("ENV-3", re.compile(r"power_?limit|clock"), _SPEED),
    _Switch("ENV-1", re.compile(r"^tp(?:_size)?$|tensor_parallel|^gpus$|p2p|all_?reduce|nvlink"), _SPEED),
    _Switch("CFG-5", re.compile(r"cuda_?graphs?|eager|graph_mode|^graphs?$"), _SPEED),
    _Switch("GRAPH-4", re.compile(r"overlap|async"), _SPEED, _switched_off),
    _Switch("LOAD-7", re.compile(r"offload|n_?cpu_?moe|ncmoe|ngl"), _SPEED),
    _Switch("LOAD-4", re.compile(r"draft_tp|draft_tensor_parallel|ngld"), _SPEED),
    _Switch("CFG-4", re.compile(r"p_?min|threshold"), _ALL),
    _Switch("MEAS-1", re.compile(r"^dataset|ignore_eos"), _LENGTH),
)  # fmt: skip


class OneSwitch:
    """Two runs that differ in one switch and in nothing else: what came out differently goes with that switch."""

    name = "one-switch"
    summary = "Compare runs of a table that differ in one switch alone, and name what that switch stands for."
    causes = tuple(sorted({switch.cause for switch in SWITCHES} | {"SAMP-2"}))

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        tables = [*scene.material.tables, *_single_results(scene)]
        servers = logged_table(scene)
        tables += [servers] if servers is not None else []
        pairs = [c for table in tables for c in contrasts(table)]
        if not pairs:
            return no_data(self.name, None, "no table holds two runs that differ in one switch alone")
        strongest: dict[str, tuple[float, Observation]] = {}
        for contrast in pairs:
            for said in self._said(contrast):
                share, observation = said
                cause = observation.cause or ""
                if cause not in strongest or share < strongest[cause][0]:
                    strongest[cause] = said
        if not strongest:
            return silent(self.name, None, f"{len(pairs)} pairs of runs differ in one switch; none moves the figures")
        return tuple(observation for _, observation in sorted(strongest.values(), key=lambda s: s[0]))

    def _said(self, contrast: Contrast) -> list[tuple[float, Observation]]:
        if not (contrast.first.speculative and contrast.second.speculative):
            return []
        moved = fell(contrast.first, contrast.second, clear=CLEAR)
        if moved is None:
            return []
        what, ratio = moved
        worse_second = ratio < 1.0
        worse, better = (contrast.second, contrast.first) if worse_second else (contrast.first, contrast.second)
        share = ratio if worse_second else (1 / ratio if ratio else 0.0)
        a, b = contrast.values
        low, high = (b, a) if worse_second else (a, b)
        if share > 1 - CLEAR:
            return []
        out = _by_name(contrast, worse, better, share, what)
        for switch in SWITCHES:
            if switch.heading.search(plain(contrast.heading)) and what in switch.moves and switch.worse_is(low, high):
                claim = (
                    f"{what} with {contrast.heading} {low or 'not given'} is {share:.2f} of that with "
                    f"{high or 'not given'}"
                )
                about: Literal["accept_length", "cycle"] = "cycle" if what == "speed" else "accept_length"
                claim += "; nothing else of the two runs differs"
                out.append((share, proved(self.name, switch.cause, claim, worse.source, better.source, about=about)))
                if switch.cause == "SAMP-1" and any(_differ(worse, better, name) for name in _CLIENTS):
                    said = f"{claim.partition(';')[0]}; each client sends its own"
                    out.append((share, proved(self.name, "SAMP-2", said, worse.source, better.source, about=about)))
        return out[:2] if out and out[-1][1].cause == "SAMP-2" else out[:1]


def _by_name(contrast: Contrast, worse: Row, better: Row, share: float, what: str) -> list[tuple[float, Observation]]:
    """Rows that are told apart by their names: a part of one name that the other lacks is the switch."""
    low, high = (_parts(cell(row, contrast.heading)) for row in (worse, better))
    named = sorted({*low} ^ {*high})
    found = [
        switch
        for switch in SWITCHES
        if switch.cause in _NAMED and what in switch.moves and named
        if all(any(switch.heading.search(word) for word in _words(part)) for part in named)
        if switch.worse_is(_state(low, switch), _state(high, switch))
    ]
    if not found:
        return []
    claim = f"{what} of '{worse.label or ', '.join(low)}' is {share:.2f} of that of '{better.label or ', '.join(high)}'"
    claim += f"; {', '.join(named)} alone tells them apart"
    return [(share, proved(OneSwitch.name, found[0].cause, claim, worse.source, better.source, about="accept_length"))]


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[,;+]", name) if part.strip())


def _words(part: str) -> tuple[str, str]:
    """A part of a name as a heading: with and without its value."""
    return plain(part), plain(_VALUE.sub(" ", part))


def _state(parts: tuple[str, ...], switch: _Switch) -> str:
    """The value that a name gives a switch: off where it says nothing of it."""
    mine = [part for part in parts if any(switch.heading.search(word) for word in _words(part))]
    return "off" if not mine or re.search(r"\b(?:no|off|without|disabled)\b", mine[0], re.I) else f"on ({mine[0]})"


_VALUE = re.compile(r"\([^)]*\)|\b(?:no|off|on|without|with|default|enabled|disabled)\b|[\d.]+")
_NAMED = frozenset({"WIRE-5", "WIRE-4", "CORR-1", "CORR-5", "CFG-4"})
"""Causes whose switch has a name of its own, that no model, method or machine has."""
_CLIENTS = ("client", "frontend", "ui")


def _differ(one: Row, other: Row, name: str) -> bool:
    cells = [next((c for h, c in row.columns.items() if plain(h) == name), "") for row in (one, other)]
    return cells[0] != cells[1]


def _single_results(scene: Scene) -> list[Table]:
    """Results of one run each, in files of their own, as rows of a table with the version that each file names."""
    alone = [t for t in scene.material.tables if len(t.rows) == 1]
    rows = []
    for table in alone:
        named = STATED.search(scene.material.texts.get(table.where, ""))
        if named is not None:
            rows.append(table.rows[0].model_copy(update={"columns": {"version": named["version"]}}))
    if len(rows) < 2 or len({(len(r.per_position), r.draft_steps) for r in rows}) > 1:
        return []
    return [Table(where=rows[0].source.where, header=("version",), rows=tuple(rows))]


check = OneSwitch()
