"""The planner that a run's settings name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from specdoctor.assembly.catalogue import all_checks
from specdoctor.assembly.clock import WallClock

if TYPE_CHECKING:
    from specdoctor.core.endpoint import Endpoint
    from specdoctor.core.operations import Clock
    from specdoctor.core.ports import Planner
    from specdoctor.core.run_settings import RunSettings
    from specdoctor.planners.playbook import PlaybookPlanner
    from specdoctor.planners.playbook_schema import Playbook


def playbook_at(path: Path, values: Mapping[str, str] | None = None) -> Playbook:
    """A playbook file, with these values of its parameters. Raises UsageError with every fault in it."""
    from specdoctor.planners.playbook_file import load_playbook

    return load_playbook(path, checks=[check.name for check in all_checks()], values=values)


def planner_for(settings: RunSettings, *, clock: Clock | None = None) -> Planner:
    """The planner that a run's settings name. Raises UsageError for a playbook with faults."""
    if settings.planner == "playbook":
        from specdoctor.planners.playbook import PlaybookPlanner

        playbook = PlaybookPlanner(playbook_at(Path(settings.playbook or ""), settings.playbook_values))
        if settings.endpoint is None:
            return playbook
        return _advised(playbook, settings.endpoint, settings.advice or "auto", clock or WallClock())
    if settings.planner == "tune":
        from specdoctor.planners.tuning import TunePlanner

        return TunePlanner()
    if settings.planner == "turns":
        from specdoctor.planners.turns import TurnsPlanner

        return TurnsPlanner()
    if settings.planner in ("llm", "auto") and settings.endpoint is not None:
        return _asking_planner(settings.planner, settings.endpoint, clock or WallClock())
    from specdoctor.planners.rules import RulePlanner

    return RulePlanner()


def with_person(planner: Planner, settings: RunSettings) -> Planner:
    """A planner of investigations, with what a person at the keyboard asks for ahead of it."""
    if settings.planner not in ("rules", "llm", "auto"):
        return planner
    from specdoctor.planners.person import PersonFirst

    return PersonFirst(planner, checks=[check.name for check in all_checks()])


def _asking_planner(mode: Literal["llm", "auto"], endpoint: Endpoint, clock: Clock) -> Planner:
    from specdoctor.planners.llm import LlmPlanner
    from specdoctor.planners.llm_client import ModelClient

    checks = [check.name for check in all_checks()]
    return LlmPlanner(endpoint, ModelClient(endpoint, clock=clock), checks=checks, mode=mode)


def _advised(playbook: PlaybookPlanner, endpoint: Endpoint, mode: Literal["llm", "auto"], clock: Clock) -> Planner:
    from specdoctor.planners.llm import AdvisedPlaybook
    from specdoctor.planners.llm_client import ModelClient

    checks = [check.name for check in all_checks()]
    return AdvisedPlaybook(endpoint, ModelClient(endpoint, clock=clock), checks=checks, playbook=playbook, mode=mode)
