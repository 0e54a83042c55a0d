"""Is what is in force what was asked for?"""

from __future__ import annotations

from specdoctor.checks.reading import log_source, silent, whole
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Rewrite, ServerView, SpecSetting

ADJUSTED = "speculative_num_draft_tokens is adjusted"


class EffectiveArguments:
    """Names every value the engine replaced, with its own words about it where it said any."""

    name = "effective-arguments"
    summary = "Compare the launch line with the values in force and name each one the engine replaced."
    causes = ("CFG-1", "CFG-3")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        replaced = [r for r in scene.view.rewrites if r.kind in ("rewritten", "dropped") and r.cause is not None]
        if not replaced and not scene.view.asked:
            told = _told_by_the_log(scene.view)
            if told:
                return told
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


def _told_by_the_log(view: ServerView) -> tuple[Observation, ...]:
    """Without a launch line only the engine's own words tell that it replaced the draft tokens; not what was asked."""
    for notice in view.log.notices if view.log else ():
        if ADJUSTED in notice.text:
            said = f"{view.spec.draft_tokens} in force; " if view.spec is not None else ""
            return (
                Observation(
                    check=EffectiveArguments.name,
                    cause="CFG-3",
                    stance="supports",
                    claim=f"the engine replaced the number of draft tokens ({said}no launch line says what was asked)",
                    sources=(log_source(view, notice.line, notice.text),),
                    reading=Prediction(metric="reading", op="!=", subject="draft tokens in force", text="asked"),
                    fix="look at the launch line: a chain of k steps verifies k + 1 tokens",
                ),
            )
    return ()


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
