"""Does the same drafter accept less only where its state must be handed over?"""

from __future__ import annotations

import re

from specdoctor.analysis.logged_rows import acceptance_place, asked_differently, logged_row
from specdoctor.checks.reading import no_data, no_files, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source

HANDED_OVER = re.compile(
    r"disagg|kv_transfer|kv_connector|kv_role|dp_attention|attn_dp|enable_dp|^dp(?:_size)?$|data_parallel|hicache|lmcache|"
    r"hierarchical_cache|pd_|prefill_(?:context|node)|mooncake|nixl"
)
CLEARLY_LESS = 0.8
"""An accept length of at most this share of the other server's, on the same prompts, is no sampling noise of tens of
requests (SE of such means in public figures: 2 to 4 %; named heuristic)."""


class HandOver:
    """One server that does everything is the control: what only the split or parallel one loses, its
    hand-over loses.
    """

    name = "hand-over"
    summary = (
        "Compare the accept length of a split or data-parallel server with that of a whole one of the same drafter."
    )
    causes = ("WIRE-5",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, None, "no files were given to be judged")
        here = logged_row(scene.view)
        twins = [(v, row) for v in scene.others if _same_pair(v, scene.view) and (row := logged_row(v)) is not None]
        twins = [(v, row) for v, row in twins if row.accept_length is not None]
        if here is None or here.accept_length is None or not twins:
            return no_data(self.name, "WIRE-5", "no other server of the same target and drafter was given")
        for other, row in twins:
            low, high = (here, row) if here.accept_length <= (row.accept_length or 0.0) else (row, here)
            worse = scene.view if low is here else other
            said = f"accept length {low.accept_length:.2f} in {low.label} and {high.accept_length:.2f} in {high.label}"
            if (low.accept_length or 0.0) > CLEARLY_LESS * (high.accept_length or 0.0):
                continue
            differ = asked_differently(worse, other if worse is scene.view else scene.view)
            handed = [
                k for k, (given, _) in differ.items() if HANDED_OVER.search(k) and given not in ("", "1", "False")
            ]
            if handed:
                better = other if worse is scene.view else scene.view
                shown = [p for view in (worse, better) if (p := acceptance_place(view)) is not None]
                return self._found(said, handed, differ, shown, worse)
        return silent(self.name, "WIRE-5", "servers of the same drafter accept alike, or differ in other things")

    def _found(
        self, said: str, handed: list[str], differ: dict[str, tuple[str, str]], shown: list[Source], worse: ServerView
    ) -> tuple[Observation, ...]:
        beside = [k for k in differ if k not in handed and k != "version"]
        place = worse.asked_source
        cited = (place.model_copy(update={"key": handed[0], "quote": ""}),) if place is not None else ()
        sources: tuple[Source, ...] = (*shown, *cited)
        claim = f"{said}, with the same target, drafter and draft length: only the first has {', '.join(handed)}"
        if beside:
            claim += f" (it differs in {', '.join(beside[:4])} too)"
            return (suspected(self.name, "WIRE-5", claim, *sources, about="accept_length"),)
        return (proved(self.name, "WIRE-5", claim, *sources, about="accept_length"),)


def _same_pair(one: ServerView, other: ServerView) -> bool:
    """Whether two servers run the same target and drafter with the same draft length."""
    a, b = one.spec or one.asked_spec, other.spec or other.asked_spec
    if a is None or b is None or not a.on or not b.on:
        return False
    same_models = one.model_path == other.model_path and one.draft_path == other.draft_path
    return same_models and a.draft_steps == b.draft_steps


check = HandOver()
