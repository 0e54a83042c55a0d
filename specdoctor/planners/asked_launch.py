"""A launch that somebody else than the rules describes (a model, a person), as the engine would be started."""

from __future__ import annotations

from typing import Protocol

from specdoctor.core.errors import EngineError
from specdoctor.core.hypothesis import Metric, Operator, Prediction
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.ports import Briefing
from specdoctor.core.server import SpecSetting
from specdoctor.planners.experiments import OFF


class Refusal(Exception):
    """Why something that was proposed or asked for is not accepted."""


class Described(Protocol):
    """Speculation of another launch; what is None stays as it is."""

    @property
    def speculation(self) -> bool: ...

    @property
    def draft_steps(self) -> int | None: ...

    @property
    def topk(self) -> int | None: ...

    @property
    def draft_tokens(self) -> int | None: ...


def change_of(launch: Described | None, briefing: Briefing) -> LaunchChange:
    """The change of a launch that was described; only speculation can change. Raises Refusal."""
    if launch is None:
        return ORIGINAL
    scene, engine = briefing.scene, briefing.engine
    spec = scene.view.spec if scene is not None else None
    if scene is None or engine is None or spec is None or not spec.on:
        raise Refusal("no speculation is in force whose setting could be changed")
    setting = OFF
    if launch.speculation:
        steps, topk = launch.draft_steps or spec.draft_steps, launch.topk or spec.topk
        most = steps + 1 if topk == 1 else 1 + topk + (steps - 1) * topk * topk
        tokens = launch.draft_tokens or (steps + 1 if topk == 1 else min(spec.draft_tokens, most))
        if tokens > most or (topk == 1 and tokens != most):
            raise Refusal(f"{steps} steps with topk {topk} give {most} tokens to verify, not {tokens}")
        setting = SpecSetting(algorithm=spec.algorithm, draft_steps=steps, topk=topk, draft_tokens=tokens)
    if setting == spec:
        return ORIGINAL
    try:
        return engine.change_spec(scene.view, setting, label=setting.label if setting.on else "without speculation")
    except EngineError as error:
        raise Refusal(error.message) from error


def prediction_of(
    change: LaunchChange, briefing: Briefing, *, metric: Metric, op: Operator, value: float, value_from: str
) -> Prediction:
    """A prediction about a launch at the run's number of clients, with the setting that will be in force."""
    engine, scene = briefing.engine, briefing.scene
    return Prediction(
        metric=metric,
        op=op,
        value=value,
        under=change.key,
        under_label=change.label if not change.is_original else "as found",
        concurrency=briefing.ledger.settings.concurrency,
        value_from=value_from,
        setting=engine.effective_spec(scene.view, change) if engine is not None and scene is not None else None,
    )
