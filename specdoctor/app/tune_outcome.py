"""The outcome of a search from what is stored of its run: nothing of it needs the host again."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from specdoctor.analysis.launch_spread import CHANGES_WITH_A_START
from specdoctor.analysis.tune_space import candidates, change_for
from specdoctor.analysis.tuned import Tuned, TunedAt, tuned
from specdoctor.app.fingerprint import fingerprint
from specdoctor.app.run import FACTS_ARTEFACT
from specdoctor.app.scene import scene_of
from specdoctor.core.engine import Engine
from specdoctor.core.errors import SpecdoctorError, TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Briefing, Scene, Store
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting

_SAME_SEARCH = (
    "concurrency", "concurrencies", "launch_spread", "requests", "max_new_tokens", "prompt_file", "form", "port",
)  # fmt: skip


class TuneOutcome(Frozen):
    """What a search came to. `launches` has the line to paste for the best setting, by concurrency.

    `cached`: an earlier run's outcome, for the system is in the state that it was measured in.
    """

    run: str
    target: str
    tuned: Tuned
    launches: dict[int, str]
    cached: bool = False
    finished: bool = True
    reason: str = ""


def outcome_of(store: Store, run: str, *, engines: Sequence[Engine], cached: bool = False) -> TuneOutcome:
    """Fold a stored search into its outcome."""
    ledger = fold(store.events(run))
    scene = _scene(store, run, ledger, engines)
    briefing = Briefing(ledger=ledger, scene=scene, engine=_engine(scene, engines))
    found = tuned(ledger, candidates(briefing))
    assert ledger.started is not None
    return TuneOutcome(
        run=run,
        target=ledger.started.target,
        tuned=found,
        launches={r.concurrency: line for r in found.results if (line := _line(briefing, r))},
        cached=cached,
        finished=ledger.ended is not None and ledger.restored is not False,
        reason=_reason(ledger),
    )


def earlier_outcome(
    store: Store, scene: Scene, settings: RunSettings, *, target: str, engines: Sequence[Engine]
) -> TuneOutcome | None:
    """The outcome of the last search on this target that answered the same question in the same state of the system."""
    now = _state(scene)
    for first in reversed(store.runs()):
        if first.target != target or first.settings.planner != "tune" or not _same_search(first.settings, settings):
            continue
        try:
            found = _answer_in(store, first.run, now, engines)
        except (SpecdoctorError, ValidationError):  # of another version, or damaged: it answers nothing
            continue
        if found is not None:
            return found
    return None


def _answer_in(store: Store, run: str, now: dict[str, str], engines: Sequence[Engine]) -> TuneOutcome | None:
    """The confirmed outcome of a search in this state of the system, if it is one."""
    then = _scene(store, run, fold(store.events(run)), engines)
    if then is None or _state(then) != now:
        return None
    found = outcome_of(store, run, engines=engines, cached=True)
    sure = found.finished and found.tuned.results and all(r.confirmed for r in found.tuned.results)
    return found if sure else None


def _same_search(one: RunSettings, other: RunSettings) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _SAME_SEARCH)


def _state(scene: Scene) -> dict[str, str]:
    """The state of the system as far as it outlives a restart of the server."""
    found = fingerprint(
        scene,
        server=scene.view.ref,
        spec=scene.view.spec or SpecSetting(),
        launch_key="original",
        workload={},
    )
    return {key: value for key, value in found.items() if key not in CHANGES_WITH_A_START}


def _scene(store: Store, run: str, ledger: Ledger, engines: Sequence[Engine]) -> Scene | None:
    """The server as the run first read it; None where it never got that far, or found none that it may study.

    The facts were judged when they were read: what refused them then is told in that run's events.
    """
    for evidence in reversed(list(ledger.evidence.values())):
        if evidence.source == "snapshot" and evidence.artefact is not None and FACTS_ARTEFACT in evidence.artefact:
            facts = Facts.model_validate_json(store.artefact(run, evidence.artefact))
            started = ledger.started
            target = started.target if started is not None else ""
            try:
                return scene_of(facts, engines=engines, target=target, port=ledger.settings.port, own_run=run)
            except TargetError:
                return None
    return None


def _engine(scene: Scene | None, engines: Sequence[Engine]) -> Engine | None:
    return next((e for e in engines if scene is not None and e.name == scene.view.engine), None)


def _line(briefing: Briefing, result: TunedAt) -> str:
    """The launch line of the best setting; empty where there is none."""
    if result.best is None or briefing.scene is None or briefing.engine is None:
        return ""
    change = change_for(briefing, result.best)
    return briefing.engine.paste_line(briefing.scene.view, change) if change is not None else ""


def _reason(ledger: Ledger) -> str:
    """Why a search stopped before it was sure: what was refused, else how the run ended."""
    refused = [r.why for r in ledger.standing_refusals]
    if refused:
        return refused[-1]
    return ledger.ended.reason if ledger.ended is not None else "the run has not ended"
