"""Is the drafter fed the states it was trained on?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.checks.reading import log_source, silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import DECIDES, Column, EngineChoice, column_for, compare
from specdoctor.drafter.logged import column_in_range, logged_column, said_entries
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.records.table import SUFFIXES, found_record
from specdoctor.drafter.rules.table import ENGINES


class LayerWiring:
    """Accept length never clears the wiring; only the training record decides, so without one it stays a rival."""

    name = "layer-wiring"
    summary = "Compare the target states a drafter was trained on with those that this engine version captures for it."
    causes = ("WIRE-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or view.spec.algorithm != "EAGLE3":
            return silent(self.name, "WIRE-1", "no drafter that reads several target states is in force")
        config: Mapping[str, Any] = view.draft_config or {}
        where = f"{view.draft_path}/config.json"
        if view.draft_config is None:
            return _undecided("the drafter's config.json was not read")
        target = _shape(view)
        if target is None:
            return _undecided("the target's config.json was not read", Source(where=where))
        found = compare(
            _column(view, target),
            config=config,
            config_file=where,
            target=target,
            record=_record(scene, target),
        )
        return tuple(_as_hypothesis(o) for o in found)


def _as_hypothesis(o: Observation) -> Observation:
    """A difference that was read is the prediction come true: states captured are not those of the training."""
    if o.stance != "supports":
        return o
    reading = Prediction(metric="reading", op="!=", subject="states captured", text="those of the training")
    return o.model_copy(update={"reading": reading})


def _undecided(said: str, *sources: Source) -> tuple[Observation, ...]:
    return (
        Observation(
            check=LayerWiring.name,
            cause="WIRE-1",
            stance="suggests",
            about="accept_length",
            claim=said,
            sources=sources,
            decides=DECIDES,
            decided_by="read",
        ),
    )


def _shape(view: ServerView) -> TargetShape | None:
    if view.target_config is None:
        return None
    return Checkpoint(folder="", config_file="", config=dict(view.target_config)).shape()


def _column(view: ServerView, target: TargetShape) -> Column | None:
    """What is captured by the log, else by the rule of the version; files that differ from a release leave a doubt."""
    if view.engine not in ENGINES or view.draft_config is None:
        return None
    for notice in view.log.notices if view.log else ():
        entries = said_entries(notice.text)
        if entries is not None:
            choice = EngineChoice(name=view.engine, version=view.version or view.version_range or "")
            return logged_column(choice, entries, log_source(view, notice.line, notice.text), view.draft_config)
    if view.version is None:
        if view.version_range is None:
            return None
        return column_in_range(view.engine, view.version_range, view.draft_config, target)
    column = column_for(EngineChoice(name=view.engine, version=view.version), view.draft_config, target)
    if column is None or not view.version_doubts:
        return column
    return column.model_copy(update={"doubt": column.doubt or view.version_doubts[0]})


def _record(scene: Scene, target: TargetShape) -> TrainingRecord | None:
    """The training record among the files that lie with the drafter."""
    folder = f"{scene.view.draft_path}/"
    texts = {
        name: file.text
        for name, file in scene.facts.files.items()
        if name.startswith(folder) and name.endswith(SUFFIXES) and file.text is not None
    }
    return found_record(texts, draft_config=scene.view.draft_config or {}, target=target)


check = LayerWiring()
