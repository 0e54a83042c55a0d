"""Could the drafter simply be weak, or trained on something else than it serves?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from specdoctor.checks.reading import silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source
from specdoctor.drafter.in_scene import alone_as_trained, texts_beside

LEARNED = ("EAGLE", "EAGLE3", "STANDALONE", "DFLASH", "DSPARK", "FROZEN_KV_MTP", "MTP")

_TURNS = {"conversations", "messages"}

RIVALS: tuple[tuple[str, str, str, Literal["load", "restart", "offline"]], ...] = (
    (
        "TRAIN-1",
        "the served prompts (template, system prompt, thinking mode) differ from those it was trained on",
        "accept length on the same questions with the training template and with the served one",
        "load",
    ),
    (
        "TRAIN-2",
        "the drafter saw too little data, or answers the target would not give",
        "one launch with a known-good head for this target (same prompts), else the drafter alone on stored states",
        "restart",
    ),
    (
        "TRAIN-3",
        "the drafter is accurate in training and not in service (it never learnt to draft from its own output)",
        "run the drafter alone on stored states of one served text and compare with its training accuracy",
        "offline",
    ),
)
PLAIN = "STANDALONE"
PLAIN_RIVALS: tuple[tuple[str, str, str, Literal["read", "load", "restart", "offline"]], ...] = (
    (
        "MIS-1",
        "target and draft model are no pair: another tokenizer, vocabulary, or special tokens",
        "compare vocabulary sizes and special token ids, and encode a few texts with both",
        "read",
    ),
    (
        "TRAIN-1",
        "the target writes what the draft model does not under these prompts (template, system prompt, thinking mode)",
        "accept length on the same questions with the template, bare, and with thinking on and off",
        "load",
    ),
    (
        "TRAIN-2",
        "the draft model is too weak for this target: too small, of another generation, or the target was tuned later",
        "one launch with another draft model of the target's own family (same prompts)",
        "restart",
    ),
)
"""A whole model that drafts was not trained for its target: it fits or it does not."""


class DrafterTraining:
    """Nothing on a server proves or clears a drafter's training: learned drafters keep these rivals until tested.

    Where a test of the drafter alone lies with it, fed as it was trained, its accept length is the figure that the
    training accounts for: served with as much, the training is the limit; served with less, it is not.
    """

    name = "drafter-training"
    summary = "List what about the drafter's training could lower the accept length, with the test for each."
    causes = ("TRAIN-1", "TRAIN-2", "TRAIN-3", "MIS-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or str(view.spec.family) not in LEARNED:
            return silent(self.name, None, "no learned drafter is in force")
        tested = alone_as_trained(scene)
        figure = tested.accept_length(view.spec.draft_steps) if tested is not None else None
        prompts = training_prompts(texts_beside(scene))
        cited: dict[str, tuple[Source, ...]] = {}
        if tested is not None and figure is not None:
            states = ", ".join(tested.states)
            quote = f"{figure} tokens/cycle at {view.spec.draft_steps} steps, fed {states}"
            cited = dict.fromkeys(("TRAIN-2", "TRAIN-3"), (Source(where=tested.where, key="fed", quote=quote),))
        if prompts:
            cited["TRAIN-1"] = (Source(where=prompts, quote="prompts of the training"),)
        return tuple(
            Observation(
                check=self.name,
                cause=cause,
                stance="suggests",
                about="accept_length",
                claim=claim,
                sources=cited.get(cause, ()),
                figure=figure,
                decides=test,
                decided_by=tier,
            )
            for cause, claim, test, tier in (PLAIN_RIVALS if view.spec.family == PLAIN else RIVALS)
        )


def training_prompts(texts: Mapping[str, str]) -> str:
    """The file beside a drafter that holds conversations it was trained on, by its name; empty where there is none."""
    for where in sorted(texts):
        if where.endswith(".json") and texts[where].lstrip().startswith("["):
            try:
                rows = json.loads(texts[where])
            except (ValueError, RecursionError):
                continue
            if rows and all(isinstance(row, dict) and _TURNS & set(row) for row in rows):
                return where
    return ""


check = DrafterTraining()
