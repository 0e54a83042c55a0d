"""A stored run read again: its ledger, the server as it was found, and the state of the system in named facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.fingerprint import fingerprint
from specdoctor.app.scene import scene_of
from specdoctor.core.engine import Engine
from specdoctor.core.errors import StoreError, TargetError
from specdoctor.core.events import Event
from specdoctor.core.facts import Facts
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.ports import Briefing, Scene
from specdoctor.core.server import SpecSetting


def read_again(
    history: Iterable[Event], artefact: Callable[[str], bytes], engines: Sequence[Engine]
) -> tuple[Briefing, dict[str, str]]:
    """What a planner of this run would be told at its end, and the fingerprint of the server as it was found.

    Without the artefact of what was read there is no scene, and the fingerprint is that of a measurement, or empty.
    """
    ledger = fold(history)
    scene = _scene(ledger, artefact, engines)
    if scene is None:
        found = ledger.measured("original")
        return Briefing(ledger=ledger, scene=None, engine=None), dict(found.fingerprint) if found else {}
    engine = next((e for e in engines if e.name == scene.view.engine), None)
    view = scene.view
    facts = fingerprint(scene, server=view.ref, spec=view.spec or SpecSetting(), launch_key="original", workload={})
    return Briefing(ledger=ledger, scene=scene, engine=engine), facts


def _scene(ledger: Ledger, artefact: Callable[[str], bytes], engines: Sequence[Engine]) -> Scene | None:
    settings = ledger.settings
    for evidence in reversed(ledger.evidence.values()):
        if evidence.source == "snapshot" and evidence.artefact is not None:
            try:
                return scene_of(
                    Facts.model_validate_json(artefact(evidence.artefact)),
                    engines=[e for e in engines if settings.engine in (None, e.name)],
                    target=ledger.started.target if ledger.started is not None else "",
                    port=settings.port,
                    concurrency=settings.concurrency,
                    complaints=read_symptom(settings.symptom).complaints,
                    own_run=ledger.run,
                )
            except (StoreError, TargetError, ValueError):
                return None
    return None
