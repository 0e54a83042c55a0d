"""Do requests wait because the engine filled in a cap on running requests?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, log_source, no_data, silent, whole, windows
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, Rewrite, Source

MIN_PINNED = 3
"""Decode lines at the cap with a queue before it is called pinned: one alone can be a moment (heuristic)."""


class RequestCap:
    """A defaulted cap is a fault only where it binds: running requests at the cap while others queue."""

    name = "request-cap"
    summary = "See whether running requests stand at a cap nobody asked for while others queue."
    causes = ("CFG-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        cap = whole(view.effective.get("max_running_requests"))
        defaulted = next((r for r in view.rewrites if r.key == "max_running_requests" and r.kind == "defaulted"), None)
        if cap is None:
            return no_data(self.name, "CFG-1", "max_running_requests in force is not known")
        if defaulted is None:
            return silent(
                self.name, "CFG-1", f"max_running_requests {cap} was asked for", in_force(view, "max_running_requests")
            )
        ranks = max(whole(view.argument("dp_size")) or 1, 1)
        pinned = [w for w in windows(view) if w.running >= cap // ranks and w.queue > 0]
        if len(pinned) < MIN_PINNED:
            said = f"a default of {cap} is in force; no queue was seen at it"
            if "asks-limit" in scene.complaints:
                return (self._asked(said, defaulted),)
            return silent(self.name, "CFG-1", said, *defaulted.sources)
        return self._pinned(scene, cap, ranks, pinned, defaulted)

    def _asked(self, said: str, defaulted: Rewrite) -> Observation:
        """Somebody asks which limit holds: it answers that, and does no harm."""
        words = f"{said}; set by {'the engine: ' + defaulted.logged if defaulted.logged else defaulted.rule}"
        return Observation(
            check=self.name,
            cause="CFG-1",
            stance="supports",
            claim=words,
            explains=True,
            sources=defaulted.sources,
            reading=Prediction(metric="reading", op="==", subject="max_running_requests", text=defaulted.effective),
            fix="set --max-running-requests if a limit is wanted, and read it back",
        )

    def _pinned(
        self, scene: Scene, cap: int, ranks: int, pinned: list[DecodeWindow], defaulted: Rewrite
    ) -> tuple[Observation, ...]:
        view = scene.view
        deepest = max(pinned, key=lambda w: w.queue)
        need = max(scene.concurrency, deepest.running * ranks + deepest.queue * ranks)
        quote = f"#running-req: {deepest.running}, #queue-req: {deepest.queue}"
        sources: tuple[Source, ...] = (*defaulted.sources, log_source(view, deepest.line, quote))
        return (
            Observation(
                check=self.name,
                cause="CFG-1",
                stance="supports",
                claim=f"max_running_requests defaulted to {cap} by the engine; {len(pinned)} decode lines stand at "
                f"{deepest.running} running with up to {deepest.queue} queued",
                binds=True,
                explains="queueing" in scene.complaints or not scene.complaints,
                sources=sources,
                remedy=Remedy(label=f"max running requests {need}", set_flags={"--max-running-requests": (str(need),)}),
                reading=Prediction(metric="reading", op=">", subject="#queue-req at the cap", text="0"),
                fix=f"set --max-running-requests {need} (memory for {need} requests permitting)",
            ),
        )


check = RequestCap()
