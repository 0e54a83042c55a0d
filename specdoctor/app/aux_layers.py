"""The layers of an EAGLE-3 drafter as facts: as configured, and as captured by the log or by the engine's rule."""

from __future__ import annotations

from pydantic import JsonValue

from specdoctor.core.server import ServerView
from specdoctor.drafter.capture import configured
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import column_for
from specdoctor.drafter.logged import choice_of, column_in_range, said_entries
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.states import entry_of


def aux_layers(view: ServerView) -> dict[str, JsonValue]:
    """`aux_layers_configured` as written; `aux_layers_captured` as the layers at whose input a state is taken."""
    facts: dict[str, JsonValue] = {}
    if view.spec is None or view.spec.family != "EAGLE3" or view.draft_config is None:
        return facts
    ids = next(iter(configured(view.draft_config)), None)
    if ids is not None:
        facts["aux_layers_configured"] = list(ids.ids)
    entries = _captured(view)
    if entries is not None:
        facts["aux_layers_captured"] = list(entries)
    return facts


def _captured(view: ServerView) -> tuple[int, ...] | None:
    """By the log, else by the rule of a known version; None where neither says so without a doubt."""
    said = (said_entries(notice.text) for notice in (view.log.notices if view.log else ()))
    logged = next((entries for entries in said if entries is not None), None)
    if logged is not None:
        return logged
    target = view.target_config
    shape = Checkpoint(folder="", config_file="", config=dict(target)).shape() if target is not None else None
    if shape is None or view.engine not in ENGINES or view.draft_config is None:
        return None
    if view.version is not None:
        column = column_for(choice_of(view), view.draft_config, shape)
    else:
        column = column_in_range(view.engine, view.version_range or "", view.draft_config, shape)
    if column is None or column.doubt or column.states is None or view.version_doubts:
        return None
    return tuple(sorted(entry_of(state) for state in column.states))
