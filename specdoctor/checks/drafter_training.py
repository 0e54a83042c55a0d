"""Could the drafter simply be weak, or trained on something else than it serves?"""

from __future__ import annotations

from typing import Literal

from specdoctor.checks.reading import silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

LEARNED = ("EAGLE", "EAGLE3", "STANDALONE", "DFLASH", "DSPARK", "FROZEN_KV_MTP")

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


class DrafterTraining:
    """Nothing on a server proves or clears a drafter's training: learned drafters keep these rivals until tested."""

    name = "drafter-training"
    summary = "List what about the drafter's training could lower the accept length, with the test for each."
    causes = ("TRAIN-1", "TRAIN-2", "TRAIN-3")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or str(view.spec.algorithm) not in LEARNED:
            return silent(self.name, None, "no learned drafter is in force")
        return tuple(
            Observation(
                check=self.name,
                cause=cause,
                stance="suggests",
                about="accept_length",
                claim=claim,
                decides=test,
                decided_by=tier,
            )
            for cause, claim, test, tier in RIVALS
        )


check = DrafterTraining()
