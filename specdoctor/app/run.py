"""A run in progress: its ledger, and the ports it works through. Events go out here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.scene import scene_of
from specdoctor.core import events as ev
from specdoctor.core.desk import Desk, EmptyDesk
from specdoctor.core.engine import Engine
from specdoctor.core.errors import LedgerError
from specdoctor.core.facts import Facts
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.operations import Clock, Operations, Progress
from specdoctor.core.policy import Situation
from specdoctor.core.ports import Approver, Briefing, Check, Concluding, Conclusion, Onlooker, Planner, Scene, Store
from specdoctor.core.redact import redact
from specdoctor.core.server import ServerView
from specdoctor.keepers.table import configured

FACTS_ARTEFACT = "facts.json"


@dataclass
class Run:
    """The working state of one investigation; everything durable is in the store."""

    id: str
    store: Store
    operations: Operations
    engines: Sequence[Engine]
    checks: Sequence[Check]
    planner: Planner
    approver: Approver
    onlooker: Onlooker
    clock: Clock
    desk: Desk = field(default_factory=EmptyDesk)
    ledger: Ledger = field(default_factory=Ledger)
    scene: Scene | None = None
    back_unrecorded: bool = False
    """The server was put back when nothing could be written down any more."""
    unstored: list[ev.Event] = field(default_factory=list)
    """What happened and could not be stored: it goes before what is stored next, so that no event lacks its start."""

    def emit(self, event: ev.Event) -> None:
        """Stamp, check against the ledger's rules, keep, show. What breaks a rule is neither kept nor shown.

        Raises StoreError where it cannot be kept; it is then kept with the next event that can.
        """
        stamped = event.model_copy(update={"at": self.clock.now()})
        self.ledger.apply(stamped)
        self.unstored.append(stamped)
        if len(self.unstored) > 1:
            self._forget_stored()
        while self.unstored:
            self.store.append(self.id, self.unstored[0])
            del self.unstored[0]
        self.onlooker.event(stamped, self.ledger)

    def _forget_stored(self) -> None:
        """Leave out what did reach the store, though whoever stored it was interrupted or failed behind it."""
        kept = sum(1 for _ in self.store.events(self.id))
        del self.unstored[: max(0, kept - (self.ledger.count - len(self.unstored)))]

    def record(
        self,
        *,
        action: str | None,
        source: str,
        summary: str,
        artefact: str | None = None,
        content: str | None = None,
        data: dict[str, JsonValue] | None = None,
    ) -> str:
        """Record evidence; `content` goes to the store under its evidence id, which masks secrets as it writes."""
        evidence = self.ledger.next_id("E")
        name, digest = None, None
        if artefact is not None and content is not None:
            name = f"{evidence}-{artefact}"
            digest = self.store.put_artefact(self.id, name, content.encode())
        self.emit(
            ev.EvidenceRecorded(
                evidence=evidence,
                action=action,
                source=source,
                summary=redact(summary),
                artefact=name,
                sha256=digest,
                data=data or {},
            )
        )
        return evidence

    def progress(self, action: str, progress: Progress) -> None:
        self.onlooker.progress(action, progress)

    @property
    def engine(self) -> Engine | None:
        """The adapter of the server under study."""
        if self.scene is None:
            return None
        return next(e for e in self.engines if e.name == self.scene.view.engine)

    @property
    def briefing(self) -> Briefing:
        return Briefing(
            ledger=self.ledger, scene=self.scene, engine=self.engine, situation=self.situation, tell=self.emit
        )

    def conclusion(self) -> Conclusion | None:
        """What the planner's own question came to; None for a planner without one, or before anything was read."""
        if self.scene is None or not isinstance(self.planner, Concluding):
            return None
        return self.planner.conclude(self.briefing)

    @property
    def situation(self) -> Situation:
        """What policy must know: keeper, traffic last seen, time."""
        foreign, own_load = None, ""
        for evidence in reversed(list(self.ledger.evidence.values())):
            if evidence.source == "watch":
                seen = evidence.data.get("foreign_requests")
                foreign = int(seen) if isinstance(seen, int | float) else None
                own_load = str(evidence.data.get("own_load") or "")
                break
        keeper = self.scene.view.keeper if self.scene else None
        able = self.scene is None or self.scene.facts.host.runs_programs
        unable = "" if able else "the host has no Python 3.6 or later, which this needs there"
        now = self.clock.now()
        return Situation(keeper=keeper, foreign_requests=foreign, now=now, unable=unable, own_load=own_load)

    def set_scene(self, facts: Facts) -> ServerView:
        """Read facts with every engine and choose the server under study.

        Raises TargetError when there is none, or several and no port to choose by.
        """
        settings = self.ledger.settings
        self.scene = scene_of(
            facts,
            engines=self.engines,
            target=self.operations.target,
            port=settings.port,
            concurrency=settings.concurrency,
            complaints=read_symptom(settings.symptom).complaints,
            own_run=self.id,
        )
        keeper = configured(self.scene.view.keeper, settings.lifecycle)
        view = self.scene.view.model_copy(update={"keeper": keeper})
        self.scene = self.scene.model_copy(update={"view": view})
        return view

    def load(self) -> None:
        """Rebuild ledger and scene from what is stored: nothing else is needed to go on.

        There is no scene where none of the facts that were read showed a server to study: the run reads anew.
        """
        self.ledger = fold(self.store.events(self.id))
        if self.ledger.started is None:
            raise LedgerError(f"run {self.id} has no events")
        if self.ledger.server is None:
            return
        for evidence in reversed(list(self.ledger.evidence.values())):
            if evidence.source == "snapshot" and evidence.artefact is not None:
                self.set_scene(Facts.model_validate_json(self.store.artefact(self.id, evidence.artefact)))
                return
