"""Do the run and its baseline differ in more than speculation?"""

from __future__ import annotations

import re

from specdoctor.analysis.logged_rows import all_paired, asked_differently
from specdoctor.analysis.measured_rows import LAUNCH_NOISE
from specdoctor.checks.reading import no_data, no_files, silent, truth
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source

SCHEDULING = re.compile(r"async(?:hronous)? scheduling (?:is |not supported.{0,80}?)?(?P<state>enabled|disabled)", re.I)
OVERLAP_OFF = re.compile(r"overlap scheduler .{0,40}?(?:disabled|is disabled)", re.I)
SWITCHES = (
    "enforce_eager", "disable_cuda_graph", "cuda_graph_max_bs", "max_num_seqs", "enable_prefix_caching",
    "disable_radix_cache", "tensor_parallel_size", "tp_size", "dtype", "quantization", "kv_cache_dtype",
    "attention_backend", "max_num_batched_tokens", "chunked_prefill_size", "compilation_config", "version",
    "async_scheduling", "disable_overlap_schedule",
)  # fmt: skip
WORTH = 0.15
"""A scheduling mode or another switch is worth up to about this much of the speed (public reports: 3 to 14 %); a larger
difference is not explained by it alone (named heuristic)."""


class UnequalSides:
    """A ratio of two servers charges speculation with everything else that differs between them."""

    name = "unequal-sides"
    summary = "Compare the run with its baseline: scheduling, graphs, caches and versions on one side only."
    causes = ("MEAS-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, None, "no files were given to be judged")
        plain = next((v for v in scene.others if not _speculates(v)), None)
        if plain is None or not _speculates(scene.view):
            return no_data(self.name, "MEAS-3", "no server without speculation was given beside the run")
        found = [*_scheduling(scene, plain), *_arguments(scene.view, plain)]
        if not found:
            return silent(self.name, "MEAS-3", "run and baseline differ in speculation alone, as far as the files say")
        words = "; ".join(text for text, _ in found[:3])
        sources = [s for _, places in found[:3] for s in places]
        arm = next(iter(all_paired(scene)), None)
        if arm is None or arm.speedup is None:
            return (
                suspected(self.name, "MEAS-3", f"run and baseline differ in more than speculation: {words}", *sources),
            )
        change = arm.speedup - 1
        claim = f"the {change:+.0%} against the baseline mix two changes: speculation, and {words}"
        fix = "a third run: the baseline with that switch as in the run"
        length = arm.accept_length
        if length is not None and arm.speedup > (1 + LAUNCH_NOISE) * length:
            beyond = (
                f"{arm.speedup:.2f} times as fast at {length:.2f} tokens a cycle cannot be: a cycle takes a forward of "
                f"the target at least; between run and baseline lies also {words}"
            )
            return (proved(self.name, "MEAS-3", beyond, *sources, *arm.sources, fix=fix),)
        within = abs(change) <= WORTH
        if within or change < 0:
            return (proved(self.name, "MEAS-3", claim, *sources, *arm.sources, explains=within, fix=fix),)
        return (suspected(self.name, "MEAS-3", claim, *sources, *arm.sources),)


def _speculates(view: ServerView) -> bool:
    spec = view.spec or view.asked_spec
    return spec is not None and spec.on


def _scheduling(scene: Scene, plain: ServerView) -> list[tuple[str, tuple[Source, ...]]]:
    """Asynchronous scheduling on one side only, by the logs' own words."""
    here, there = _state(scene, scene.view), _state(scene, plain)
    if here is None or there is None or here[0] == there[0]:
        return []
    text = f"asynchronous scheduling {here[0]} in the run and {there[0]} in the baseline"
    return [(text, (here[1], there[1]))]


def _state(scene: Scene, view: ServerView) -> tuple[str, Source] | None:
    where = view.log.where if view.log is not None else ""
    for number, line in enumerate(scene.material.texts.get(where, "").split("\n"), start=1):
        match = SCHEDULING.search(line, 0, 2000)
        if match is not None:
            return match["state"].lower(), Source(where=where, line=number, quote=line.strip()[:200])
        if OVERLAP_OFF.search(line, 0, 2000):
            return "disabled", Source(where=where, line=number, quote=line.strip()[:200])
    off = view.argument("disable_overlap_schedule")
    return None if off is None or not where else ("disabled" if truth(off) else "enabled", Source(where=where))


def _arguments(view: ServerView, plain: ServerView) -> list[tuple[str, tuple[Source, ...]]]:
    """Switches that matter and were asked for on one side only; what was asked for must be known of both."""
    out: list[tuple[str, tuple[Source, ...]]] = []
    known = view.asked_source is not None and plain.asked_source is not None
    for key, (here, there) in asked_differently(view, plain).items():
        if key in SWITCHES and (known if key != "version" else here and there):
            place = view.asked_source if here else plain.asked_source
            cited = (place.model_copy(update={"key": key, "quote": ""}),) if place is not None else ()
            out.append((f"{key} {here or 'default'} in the run and {there or 'default'} in the baseline", cited))
    return out


check = UnequalSides()
