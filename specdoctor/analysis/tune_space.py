"""The settings that a search may try on one server, and the launches that put them in force."""

from __future__ import annotations

from specdoctor.analysis.draft_setting import OFF, DraftSetting, grid
from specdoctor.analysis.launches import setting_of
from specdoctor.core.errors import EngineError
from specdoctor.core.launch import START_MARK, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.ports import Briefing
from specdoctor.core.server import SpecSetting


def candidates(briefing: Briefing) -> tuple[DraftSetting, ...]:
    """The settings of the grid that this server can have in force, without those that a failed start speaks against."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return ()
    failed = failed_settings(briefing.ledger)
    found = []
    for setting in grid():
        change = change_for(briefing, setting)
        effective = engine.effective_spec(scene.view, change) if change is not None else None
        if change is None or (effective is not None and setting_of(effective) != setting):
            continue
        if not any(_as_hard(setting, other) for other in failed):
            found.append(setting)
    return tuple(found)


def _as_hard(setting: DraftSetting, failed: DraftSetting) -> bool:
    """Whether what failed speaks against a setting: a tree against every tree, a chain against longer chains."""
    if failed.topk > 1:
        return setting.topk > 1
    return failed.on and setting.draft_steps >= failed.draft_steps


def failed_settings(ledger: Ledger) -> list[DraftSetting]:
    """Settings whose start did not come up, came up with something else in force, or could not be measured."""
    out = []
    for launch in ledger.relaunches:
        hypothesis = ledger.by_key(claim_key(launch.change))
        wanted = hypothesis.prediction.setting if hypothesis is not None and hypothesis.prediction is not None else None
        if wanted is None or launch.outcome.status in ("refused", "undone"):
            continue
        came_up = launch.outcome.status == "ready" and launch.spec is not None
        as_asked = launch.spec is not None and setting_of(launch.spec) == setting_of(wanted)
        measured = any(m.launch_key == launch.change.key and m.throughput is not None for m in ledger.measurements)
        if not (came_up and as_asked and measured):
            out.append(setting_of(wanted))
    return out


def start_of(briefing: Briefing, setting: DraftSetting) -> LaunchChange | None:
    """The launch of a setting; a further start of one that was made before is told apart by its mark."""
    change = change_for(briefing, setting)
    if change is None:
        return None
    made = {r.change.key for r in briefing.ledger.relaunches if r.outcome.status not in ("refused", "undone")}
    again = 1
    fresh = change
    while fresh.key in made:
        again += 1
        marked = {**change.set_env, START_MARK: str(again)}
        fresh = change.model_copy(update={"set_env": marked, "label": f"{change.label}, start {again}"})
    return fresh


def change_for(briefing: Briefing, setting: DraftSetting) -> LaunchChange | None:
    """The launch change of a setting; None where no flag makes it."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return None
    label = "without speculation" if setting == OFF else setting.label
    try:
        return engine.change_spec(scene.view, spec_for(briefing, setting), label=label)
    except EngineError:
        return None


def spec_for(briefing: Briefing, setting: DraftSetting) -> SpecSetting:
    """A setting with the drafter that the server has now."""
    if setting == OFF or briefing.scene is None or briefing.scene.view.spec is None:
        return SpecSetting()
    return SpecSetting(algorithm=briefing.scene.view.spec.algorithm, **setting.model_dump())


def claim_key(change: LaunchChange) -> str:
    """The name of the hypothesis that a launch of the search tests."""
    return f"tune:{change.key}"
