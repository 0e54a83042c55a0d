"""Can the accept length of this server be trusted at all?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, silent
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

THRESHOLDS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")


class AcceptanceTrust:
    """Forced acceptance, dummy weights and lossy thresholds make figures that look real and are not."""

    name = "acceptance-trust"
    summary = "Look for forced acceptance, dummy drafter weights and lossy accept thresholds."
    causes = ("MEAS-2", "WIRE-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        found: list[Observation] = []
        forced = view.env.get("SGLANG_SIMULATE_ACC_LEN")
        if forced not in (None, "", "-1"):
            source = Source(where="environment of the server", key="SGLANG_SIMULATE_ACC_LEN", quote=str(forced))
            claim = f"the accept length is forced to {forced} by an environment variable"
            remedy = Remedy(label="accept length not forced", remove_env=("SGLANG_SIMULATE_ACC_LEN",))
            found.append(self._fault("MEAS-2", claim, source, remedy))
        if view.argument("speculative_draft_load_format") == "dummy":
            claim = "the drafter runs with random weights (load format dummy)"
            found.append(
                self._fault(
                    "WIRE-2",
                    claim,
                    in_force(view, "speculative_draft_load_format"),
                    Remedy(label="the drafter's own weights", remove_flags=("--speculative-draft-load-format",)),
                )
            )
        for key in THRESHOLDS:
            value = view.effective.get(key)
            if isinstance(value, int | float) and value < 1.0:
                found.append(
                    self._fault("MEAS-2", f"{key} is {value}: accepted text is not the target's", in_force(view, key))
                )
        return tuple(found) or silent(self.name, None, "acceptance is neither forced nor lossy")

    def _fault(self, cause: str, claim: str, source: Source, remedy: Remedy | None = None) -> Observation:
        return Observation(
            check=self.name,
            cause=cause,
            stance="supports",
            claim=claim,
            binds=True,
            about="accept_length",
            sources=(source,),
            remedy=remedy,
            reading=Prediction(metric="reading", op="==", subject=source.key or "", text=source.quote),
            fix="start without it, then measure again",
        )


check = AcceptanceTrust()
