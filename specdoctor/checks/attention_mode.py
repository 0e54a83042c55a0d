"""Can the attention mode of speculation matter here at all?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, no_data, silent
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView

MODE = "speculative_attention_mode"
CLAIM = "the attention mode of speculation sends verify to a slow back-end"
UNREAD = "None"
"""What no argument names; the engine itself never runs without a back-end."""


class AttentionMode:
    """The mode chooses between the prefill and the decode back-end for verify: where both are one, it has no effect."""

    name = "attention-mode"
    summary = "See whether prefill and decode use different attention back-ends, so that the mode could matter."
    causes = ("GRAPH-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or not view.spec.on:
            return silent(self.name, "GRAPH-3", "no speculation is in force")
        if not view.effective:
            return no_data(self.name, "GRAPH-3", "the attention back-ends in force were not read")
        prefill, decode = back_ends(view)
        if prefill == UNREAD or decode == UNREAD:
            return no_data(self.name, "GRAPH-3", "the attention back-ends in force were not read")
        mode = str(view.argument(MODE) or "prefill")
        subject = "attention back-ends of prefill and decode"
        sources = (in_force(view, "attention_backend"), in_force(view, MODE))
        if prefill == decode:
            return (
                Observation(
                    check=self.name,
                    cause="GRAPH-3",
                    stance="refutes",
                    claim=f"prefill and decode both use {prefill}: attention mode {mode} has no effect on verify",
                    against=CLAIM,
                    about="cycle",
                    sources=sources,
                    reading=Prediction(metric="reading", op="!=", subject=subject, text="equal"),
                ),
            )
        other = "decode" if mode == "prefill" else "prefill"
        return (
            Observation(
                check=self.name,
                cause="GRAPH-3",
                stance="suggests",
                about="cycle",
                claim=f"verify runs on the {mode} back-end ({prefill if mode == 'prefill' else decode}), "
                f"{other} uses {decode if mode == 'prefill' else prefill}",
                sources=sources,
                remedy=Remedy(label=f"attention mode {other}", set_flags={"--speculative-attention-mode": (other,)}),
                decided_by="restart",
                decides=f"cycle with --speculative-attention-mode {other}",
            ),
        )


def back_ends(view: ServerView) -> tuple[str, str]:
    """The attention back-ends of prefill and of decode in force; UNREAD where none is named."""
    both = view.argument("attention_backend")
    prefill, decode = view.argument("prefill_attention_backend"), view.argument("decode_attention_backend")
    return str(prefill or both), str(decode or both)


check = AttentionMode()
