"""Is what is in force what was asked for?"""

from __future__ import annotations

from specdoctor.checks.reading import silent, whole
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Rewrite, ServerView, SpecSetting


class EffectiveArguments:
    """Names every value the engine replaced, with its own words about it where it said any."""

    name = "effective-arguments"
    summary = "Compare the launch line with the values in force and name each one the engine replaced."
    causes = ("CFG-1", "CFG-3")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        replaced = [r for r in scene.view.rewrites if r.kind in ("rewritten", "dropped") and r.cause is not None]
        if not replaced:
            return silent(self.name, None, "every value that was asked for is in force")
        return tuple(self._observation(scene.view, r) for r in replaced)

    def _observation(self, view: ServerView, rewrite: Rewrite) -> Observation:
        said = "logged" if rewrite.logged else "silently"
        remedy = _longer_chain(view, rewrite)
        return Observation(
            check=self.name,
            cause=rewrite.cause,
            stance="supports",
            claim=f"{rewrite.key}: asked {rewrite.asked}, in force {rewrite.effective} ({said})",
            binds=remedy is not None,
            sources=rewrite.sources,
            remedy=remedy,
            reading=Prediction(metric="reading", op="!=", subject=f"{rewrite.key} in force", text=str(rewrite.asked)),
            fix=_fix(rewrite, remedy),
        )


def _longer_chain(view: ServerView, rewrite: Rewrite) -> Remedy | None:
    """Draft tokens cut below what was asked, on a chain: the chain that was asked for has tokens - 1 steps."""
    asked, effective = whole(rewrite.asked), whole(rewrite.effective)
    if rewrite.key != "speculative_num_draft_tokens" or asked is None or effective is None or asked <= effective:
        return None
    if view.spec is None or view.spec.topk != 1:
        return None
    setting = SpecSetting(algorithm=view.spec.algorithm, draft_steps=asked - 1, topk=1, draft_tokens=asked)
    return Remedy(label=f"{asked - 1} steps, {asked} draft tokens as asked", setting=setting)


def _fix(rewrite: Rewrite, remedy: Remedy | None) -> str:
    if remedy is not None and remedy.setting is not None:
        return f"ask for {remedy.setting.draft_steps} steps to get {remedy.setting.draft_tokens} draft tokens"
    return f"set {rewrite.key} to a value this version keeps, and read it back after the start"


check = EffectiveArguments()
