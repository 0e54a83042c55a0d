"""Drafter and target of a server from what was read of its host, as checks of a drafter's files want them."""

from __future__ import annotations

import json

from specdoctor.core.errors import CheckpointError
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import Column, EngineChoice, column_for
from specdoctor.drafter.config_numbers import faults_of
from specdoctor.drafter.listed import TENSORS, VALUES, tensors_listed, values_listed
from specdoctor.drafter.logged import choice_of, column_in_range, logged_column, said_entries
from specdoctor.drafter.pair import Pair
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.records.table import SUFFIXES, found_record
from specdoctor.drafter.reported import Alone, alone
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.source_rule import source_rule

CAPTURE_RULE = "capture-rule.py"
"""What a probe lists of the engine's own source, beside the target that it is for."""
TESTED = "tested-alone.json"
"""The outcome of a test that an investigation made itself; the path of this fact is that of the stored states."""


def pair_in(scene: Scene) -> Pair | None:
    """Drafter and target as far as they were read; None without a usable configuration of one of them."""
    view = scene.view
    if view.draft_config is None or view.target_config is None or damaged(view):
        return None
    target = Checkpoint(
        folder=str(view.model_path),
        config_file=f"{view.model_path}/config.json",
        config=dict(view.target_config),
        template=_template(scene, view.model_path),
        path=str(view.model_path),
    )
    shape = target.shape()
    known = view.engine in ENGINES
    return Pair(
        draft=_drafter(scene),
        target=target,
        shape=shape,
        choice=choice_of(view) if known else None,
        column=column_in_force(scene, shape) if shape is not None else None,
        record=record_beside(scene, shape) if shape is not None else None,
    )


def _drafter(scene: Scene) -> Checkpoint:
    view = scene.view
    listed = scene.facts.files.get(f"{view.draft_path}/{TENSORS}")
    values = scene.facts.files.get(f"{view.draft_path}/{VALUES}")
    tensors = tensors_listed(listed.text or "") if listed is not None else {}
    where = listed.path if listed is not None else str(view.draft_path)
    return Checkpoint(
        folder=str(view.draft_path),
        config_file=f"{view.draft_path}/config.json",
        config=dict(view.draft_config or {}),
        format="gguf" if "general.architecture" in (view.draft_config or {}) else "hf",
        tensors=tensors,
        tensor_files=dict.fromkeys(tensors, where),
        small=values_listed(values.text or "") if values is not None else {},
        template=_template(scene, view.draft_path),
        texts=texts_beside(scene),
        path=str(view.draft_path),
    )


def _template(scene: Scene, folder: str | None) -> str | None:
    """The chat template that lies with a model."""
    own = scene.facts.files.get(f"{folder}/chat_template.jinja")
    if own is not None and own.text:
        return own.text
    config = scene.facts.files.get(f"{folder}/tokenizer_config.json")
    try:
        found = json.loads(config.text or "{}") if config is not None else {}
    except ValueError:
        return None
    template = found.get("chat_template") if isinstance(found, dict) else None
    return template if isinstance(template, str) else None


def damaged(view: ServerView) -> str:
    """What no model can have in one of the two configurations, with the file; empty for nothing."""
    for config, folder in ((view.draft_config, view.draft_path), (view.target_config, view.model_path)):
        fault = next(faults_of(config), "") if config is not None else ""
        if fault:
            return f"{folder}/config.json: {fault}"
    return ""


def target_shape(view: ServerView) -> TargetShape | None:
    """What the engines' rules ask of the target; None where its configuration does not say."""
    if view.target_config is None or next(faults_of(view.target_config), ""):
        return None
    return Checkpoint(folder="", config_file="", config=dict(view.target_config)).shape()


def column_in_force(scene: Scene, target: TargetShape) -> Column | None:
    """What is captured by the log, else by the rule of the version; where files may differ from the release by the rule
    in the installed source, and where that was not read or is not understood there is a doubt.
    """
    view = scene.view
    if view.engine not in ENGINES or view.draft_config is None or damaged(view):
        return None
    for notice in view.log.notices if view.log else ():
        entries = said_entries(notice.text)
        if entries is not None:
            choice = EngineChoice(name=view.engine, version=view.version or view.version_range or "")
            cited = Source(where=view.log.where if view.log else "log", line=notice.line, quote=notice.text)
            return logged_column(choice, entries, cited, view.draft_config)
    if view.version is None:
        if view.version_range is None:
            return None
        return column_in_range(view.engine, view.version_range, view.draft_config, target)
    column = column_for(choice_of(view), view.draft_config, target)
    if column is None or not (column.doubt or view.version_doubts):
        return column
    doubt = column.doubt or view.version_doubts[0]
    try:
        own = _by_its_source(scene, column, target)
    except CheckpointError as failure:
        own, doubt = None, f"{doubt}; {failure.message}"
    return own or column.model_copy(update={"doubt": doubt})


def _by_its_source(scene: Scene, column: Column, target: TargetShape) -> Column | None:
    """What the installed engine's own source says; None where it was not read. Raises CheckpointError."""
    file = scene.facts.files.get(f"{scene.view.model_path}/{CAPTURE_RULE}")
    if file is None or file.text is None or scene.view.draft_config is None:
        return None
    rule = source_rule(file.text, file.path)
    return column_for(column.choice, scene.view.draft_config, target, source=rule)


def record_beside(scene: Scene, target: TargetShape) -> TrainingRecord | None:
    """The training record among the files that lie with the drafter."""
    return found_record(texts_beside(scene), draft_config=scene.view.draft_config or {}, target=target)


def alone_as_trained(scene: Scene) -> Alone | None:
    """A test of the drafter alone, fed with what it was trained on, where one lies with it."""
    shape = target_shape(scene.view)
    record = record_beside(scene, shape) if shape is not None else None
    found = alone(texts_beside(scene), record.states) if record is not None and not record.doubt else None
    if found is None or not found.where.endswith(f"/{TESTED}"):
        return found
    return found.model_copy(update={"where": scene.facts.files[found.where].path})


def texts_beside(scene: Scene) -> dict[str, str]:
    """Small texts that lie with the drafter, by name."""
    folder = f"{scene.view.draft_path}/"
    return {
        name: file.text
        for name, file in scene.facts.files.items()
        if name.startswith(folder) and name.endswith(SUFFIXES) and file.text is not None
    }
