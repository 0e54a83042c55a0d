"""Is what is in force what was asked for?"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.checks.reading import log_source, no_data, silent, whole
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Notice, Rewrite, ServerView, SpecSetting

ADJUSTED = "speculative_num_draft_tokens is adjusted"


class EffectiveArguments:
    """Names every value the engine replaced, with its own words about it where it said any."""

    name = "effective-arguments"
    summary = "Compare the launch line with the values in force and name each one the engine replaced."
    causes = ("CFG-1", "CFG-3", "CFG-2", "MIS-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        replaced = [r for r in scene.view.rewrites if r.kind in ("rewritten", "dropped") and r.cause is not None]
        if not replaced and not scene.view.asked:
            told = _told_by_the_log(scene.view)
            if told:
                return told
        if not (scene.view.asked or scene.view.argv or scene.view.rewrites):
            return no_data(self.name, None, "no launch line was read: what was asked for is not known")
        if not replaced:
            return silent(self.name, None, "every value that was asked for is in force")
        asked = "asks-setting" in scene.complaints
        return tuple(self._observation(scene.view, r, asked=asked) for r in replaced)

    def _observation(self, view: ServerView, rewrite: Rewrite, *, asked: bool) -> Observation:
        off = _switched_off(view, rewrite)
        remedy = _as_asked(view) if off else _longer_chain(view, rewrite)
        return Observation(
            check=self.name,
            cause=rewrite.cause,
            stance="supports",
            claim=_claim(rewrite, off=off) + f" ({_how(view, rewrite)})",
            binds=off or remedy is not None,
            explains=off or (asked and rewrite.kind == "rewritten"),
            sources=rewrite.sources,
            remedy=remedy,
            reading=Prediction(metric="reading", op="!=", subject=f"{rewrite.key} in force", text=str(rewrite.asked)),
            fix=_fix(rewrite, remedy),
            decides=_read_it(view, rewrite) if rewrite.foretold else "",
            foretold=rewrite.foretold,
        )


def _how(view: ServerView, rewrite: Rewrite) -> str:
    """How it is known."""
    if rewrite.foretold:
        release = f"{view.engine} {view.version or view.version_range or ''}".rstrip()
        rule = f": {rewrite.note}" if rewrite.note else ""
        return f"by the rules of {release}, nothing that was read shows it in force{rule}"
    return "logged" if rewrite.logged else "silently"


def _read_it(view: ServerView, rewrite: Rewrite) -> str:
    words = "/server_info, or the server_args line of its log" if view.engine == "sglang" else "the log of its start"
    return f"read {rewrite.key} in {words}"


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


def _switched_off(view: ServerView, rewrite: Rewrite) -> bool:
    """Whether the server speculates not at all, though asked to, because of this."""
    asked_on = view.asked_spec is not None and view.asked_spec.on
    return rewrite.kind == "dropped" and asked_on and view.spec is not None and not view.spec.on


def _claim(rewrite: Rewrite, *, off: bool) -> str:
    if off:
        return f"the server does not speculate: {rewrite.key} {rewrite.asked} is given and not in use"
    if rewrite.foretold and rewrite.effective is None:
        return f"{rewrite.key}: asked {rewrite.asked}, and will not be used"
    will = "will be " if rewrite.foretold else ""
    return f"{rewrite.key}: asked {rewrite.asked}, {will}in force {rewrite.effective}"


def _as_asked(view: ServerView) -> Remedy | None:
    """The speculation that was meant, where the launch line says how long its drafts are to be."""
    wanted = view.asked_spec
    if wanted is None or wanted.draft_steps < 1 or (view.log is not None and _refused(view.log.notices)):
        return None
    return Remedy(label=f"speculation as asked ({wanted.label})", setting=wanted)


def _refused(notices: Sequence[Notice]) -> bool:
    """Whether the engine says that this pair cannot speculate: asking again in other words will not help."""
    return any(notice.kind == "spec-init-failed" for notice in notices)


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
    if rewrite.fix:
        return rewrite.fix
    if remedy is not None and remedy.setting is not None:
        return f"ask for {remedy.setting.draft_steps} steps to get {remedy.setting.draft_tokens} draft tokens"
    return f"set {rewrite.key} to a value this version keeps, and read it back after the start"


check = EffectiveArguments()
