"""The one place that names concrete classes: everything above asks here, everything below knows ports only.

Nothing heavy is imported before the function that needs it is called.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from specdoctor.core.errors import UsageError

if TYPE_CHECKING:
    from specdoctor.app.model_files import ModelFiles
    from specdoctor.app.preflight import Finding
    from specdoctor.app.run import Run
    from specdoctor.app.triage import TriageDocument
    from specdoctor.app.tune_outcome import TuneOutcome
    from specdoctor.app.wiring import WiringDocument
    from specdoctor.core.desk import Desk
    from specdoctor.core.endpoint import Endpoint
    from specdoctor.core.engine import Engine
    from specdoctor.core.engine_source import InstalledEngine
    from specdoctor.core.events import Event, RunSettings, RunStarted
    from specdoctor.core.facts import Facts
    from specdoctor.core.host import Host
    from specdoctor.core.operations import Clock, Operations
    from specdoctor.core.ports import Approver, Briefing, Check, Onlooker, Planner, Scene
    from specdoctor.core.reach import SshTransport
    from specdoctor.core.recorded import Recorded
    from specdoctor.core.server import WholeLog
    from specdoctor.drafter.comparison import EngineChoice
    from specdoctor.drafter.pair import DrafterCheck
    from specdoctor.engines.sglang_series import DecodeSeries
    from specdoctor.operations.custody import Custody
    from specdoctor.operations.exporting import Exported, ExportOrder
    from specdoctor.planners.playbook import PlaybookPlanner
    from specdoctor.planners.playbook_schema import Playbook
    from specdoctor.render.live import LiveConsole
    from specdoctor.store.mirrored import MirroredStore
    from specdoctor.transports.ssh_host_key import Notice
    from specdoctor.transports.ssh_keys import AskPassphrase

CHECKS = "specdoctor.checks"
ENGINES = "specdoctor.engines"
TRANSCRIPTS = "transcripts"
CHECKPOINTS = "checkpoints.db"


class WallClock:
    """The time of this machine as it was when this began, counted on steadily: a clock that is set meanwhile moves
    neither waits nor the order of events. Time asleep counts where the system tells it.
    """

    def __init__(self, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] | None = None) -> None:
        self._steady = steady or _steady_s
        self._offset_s = wall() - self._steady()

    def now(self) -> float:
        return self._offset_s + self._steady()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def _steady_s() -> float:
    """Seconds of a clock that nobody sets; on Linux it goes on while the machine is suspended."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def _exposed(package: str, name: str) -> list[Any]:
    """The object `name` of every module of a package that has one: a new file needs no list to be put on."""
    folder = importlib.import_module(package)
    modules = [importlib.import_module(f"{package}.{m.name}") for m in pkgutil.iter_modules(folder.__path__)]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def all_checks() -> tuple[Check, ...]:
    """Every check, sorted by name."""
    return tuple(sorted(_exposed(CHECKS, "check"), key=lambda check: str(check.name)))


def all_engines() -> tuple[Engine, ...]:
    """Every engine adapter, sorted by name."""
    return tuple(sorted(_exposed(ENGINES, "engine"), key=lambda engine: str(engine.name)))


def all_drafter_checks() -> tuple[DrafterCheck, ...]:
    """Every check of a drafter's files, sorted by name."""
    from specdoctor.drafter.every import every_check

    return every_check()


def open_store(*, database: Path | None = None, transcripts: Path | None = None) -> MirroredStore:
    """The run database (the user's own unless named) with its transcripts (`transcripts/` here unless named)."""
    from specdoctor.store.mirrored import MirroredStore
    from specdoctor.store.redaction import Redactor
    from specdoctor.store.runs import SqliteStore, default_path
    from specdoctor.store.transcript import TranscriptWriter

    redactor = Redactor()
    return MirroredStore(
        SqliteStore(database or default_path(), redactor=redactor),
        TranscriptWriter(transcripts or Path(TRANSCRIPTS), redactor=redactor),
    )


def close_store(store: MirroredStore) -> None:
    """Flush and close both halves."""
    store.transcript.close()
    store.store.close()


def checkpoints_of(store: MirroredStore) -> Path:
    """Where the graph keeps its checkpoints: beside the run database."""
    return store.store.path.with_name(CHECKPOINTS)


def connect_operations(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    via: str | None = None,
    sudo: bool = False,
    accept_new: bool = False,
    interpreter: str | None = None,
    grace_s: float | None = None,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Operations:
    """Log in to `target`, or into a container on it, and offer what can be done there.

    `grace_s` is how long the guard of a changed server waits for a word from us (its default if None). Raises
    UsageError and the subclasses of TargetError.
    """
    from specdoctor.core.via import parse_via
    from specdoctor.operations.container import ContainerOperations
    from specdoctor.operations.remote import RemoteOperations
    from specdoctor.transports.connect import connect
    from specdoctor.transports.via import ViaHost

    place = parse_via(via) if via is not None else None
    if place is not None and sudo:
        raise UsageError(
            "--sudo reads on the host itself, --via from inside a container: only one of them can be meant",
            next_step="leave out one; from the host, --sudo also sees what runs in its containers",
        )
    host = connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )
    if place is not None:
        inside = ViaHost(host, place)
        return ContainerOperations(inside, via=place, target=target, clock=WallClock(), interpreter=interpreter)
    given = {} if grace_s is None else {"grace_s": grace_s}
    return RemoteOperations(
        host, target=target, clock=WallClock(), interpreter=interpreter, who=who_asks(), sudo=sudo, **given
    )


def connect_host(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    accept_new: bool = False,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Host:
    """Log in to `target`, to read files there. Raises as connect_operations."""
    from specdoctor.transports.connect import connect

    return connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )


def connect_custody(
    target: str,
    *,
    ssh_config: Path | None = None,
    ssh_transport: SshTransport = "auto",
    accept_new: bool = False,
    interpreter: str | None = None,
    ask_passphrase: AskPassphrase | None = None,
    on_notice: Notice | None = None,
) -> Custody:
    """Log in to `target`, to see what runs have left there and to put servers back. Raises as connect_operations."""
    from specdoctor.operations.custody import Custody
    from specdoctor.transports.connect import connect

    host = connect(
        target,
        config_file=str(ssh_config) if ssh_config else None,
        ssh_transport=ssh_transport,
        accept_new=accept_new,
        ask_passphrase=ask_passphrase,
        on_notice=on_notice,
    )
    return Custody(host, clock=WallClock(), interpreter=interpreter, target=target)


def who_asks() -> str:
    """The person at this end, as others on the host are told: user@machine."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def facts_operations(path: Path) -> Operations:
    """Operations over facts that somebody gathered by hand: only reading is possible. Raises UsageError."""
    from specdoctor.operations.facts_file import FactsFileOperations

    return FactsFileOperations(path)


def probe_program(*, ports: tuple[int, ...] = (), logs: tuple[str, ...] = ()) -> str:
    """The read-only probe as one file that anybody can read and run on a host."""
    from specdoctor.core.operations import SnapshotRequest
    from specdoctor.operations.programs import probe_program as joined_probe

    return joined_probe(SnapshotRequest(ports=ports, logs=logs, history=True))


def playbook_at(path: Path) -> Playbook:
    """A playbook file. Raises UsageError with every fault in it."""
    from specdoctor.planners.playbook_schema import load_playbook

    return load_playbook(path, checks=[check.name for check in all_checks()])


def recorded_run(history: Sequence[Event], artefact: Callable[[str], bytes]) -> tuple[Briefing, Recorded]:
    """A stored run as its planner saw it at the end, and what it found in few words."""
    from specdoctor.analysis.recording import recorded_of
    from specdoctor.app.read_again import read_again

    briefing, facts = read_again(history, artefact, all_engines())
    return briefing, recorded_of(briefing.ledger, facts)


def planner_for(settings: RunSettings, *, clock: Clock | None = None) -> Planner:
    """The planner that a run's settings name. Raises UsageError for a playbook with faults."""
    if settings.planner == "playbook":
        from specdoctor.planners.playbook import PlaybookPlanner

        playbook = PlaybookPlanner(playbook_at(Path(settings.playbook or "")))
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


def _with_person(planner: Planner, settings: RunSettings) -> Planner:
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


def onlooker_for(*, live: bool) -> LiveConsole | Onlooker:
    """The live screen on a terminal, else plain lines; both write to standard error."""
    if live:
        from specdoctor.render.live import LiveConsole

        return LiveConsole()
    from specdoctor.render.plain import PlainConsole

    return PlainConsole()


def approver_for(*, terminal: bool) -> Approver:
    """Somebody who asks on the terminal; without one nobody is asked, and the run waits for a resume."""
    from specdoctor.render.approval import NobodyToAsk, TerminalApprover

    return TerminalApprover() if terminal else NobodyToAsk()


def new_run(
    *,
    store: MirroredStore,
    operations: Operations,
    settings: RunSettings,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None = None,
    desk: Desk | None = None,
) -> Run:
    """A run under a fresh id with its first event written."""
    from specdoctor.app.investigation import start

    run = _run(store.store.free_run_id(), store, operations, settings, onlooker, approver, clock, desk)
    start(run, settings, by=who_asks())
    return run


def resumed_run(
    run_id: str,
    *,
    store: MirroredStore,
    operations: Operations,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None = None,
    desk: Desk | None = None,
) -> Run:
    """A run to go on with: nothing is loaded or done yet, that is `investigation.resume`."""
    settings = stored_start(store, run_id).settings
    return _run(run_id, store, operations, settings, onlooker, approver, clock, desk)


def stored_start(store: MirroredStore, run_id: str) -> RunStarted:
    """The first event of a stored run, by its whole id. Raises StoreError where it cannot be read."""
    from specdoctor.core import events as ev

    return next(started for started in store.events(run_id) if isinstance(started, ev.RunStarted))


def scene_of(facts: Facts, *, target: str, port: int | None = None, engine: str | None = None) -> Scene:
    """The server under study among those the facts show, for a look without a run. Raises TargetError as a run does."""
    from specdoctor.app.scene import scene_of as chosen

    return chosen(facts, engines=_engines(engine), target=target, port=port)


def preflight(
    facts: Facts, *, engine: str | None = None, port: int | None = None, meant: Sequence[str] = ()
) -> tuple[list[Finding], int]:
    """What is possible on a host, and how many servers it shows; `port`: only the one there."""
    from specdoctor.app.preflight import Finding, host_findings, server_findings
    from specdoctor.app.scene import none_found, on_port

    every = [view for adapter in _engines(engine) for view in adapter.servers(facts)]
    views = on_port(every, port)
    found = host_findings(facts)
    for view in views:
        found += server_findings(view, facts, meant=meant)
    if not views:
        nothing = f"{none_found(every, port)} among the processes and logs that could be read"
        found.append(Finding(name="server", state="no", text=nothing, then="start it, or name its log with --log"))
    return found, len(views)


def tune_outcome(store: MirroredStore, run: str) -> TuneOutcome:
    """What a stored search for the best setting came to."""
    from specdoctor.app.tune_outcome import outcome_of

    return outcome_of(store, run, engines=all_engines())


def earlier_tune(store: MirroredStore, operations: Operations, settings: RunSettings) -> TuneOutcome | None:
    """The outcome of an earlier search on this target in the same state of the system; one read of the host.

    None also where the host shows no server: the search itself says so.
    """
    from specdoctor.app.scene import scene_of as chosen
    from specdoctor.app.tune_outcome import earlier_outcome
    from specdoctor.core.errors import TargetError
    from specdoctor.core.operations import SnapshotRequest

    if not any(r.target == operations.target and r.settings.planner == "tune" for r in store.runs()):
        return None
    ports = (settings.port,) if settings.port else ()
    request = SnapshotRequest(ports=ports, logs=settings.extra_logs, files=settings.extra_files)
    engines = _engines(settings.engine)
    try:
        scene = chosen(operations.snapshot(request), engines=engines, target=operations.target, port=settings.port)
    except TargetError:
        return None
    return earlier_outcome(store, scene, settings, target=operations.target, engines=engines)


def decode_columns() -> DecodeSeries:
    """Takes the pieces of a log that is too long to be kept, for the means over all its lines."""
    from specdoctor.engines.sglang_series import DecodeSeries

    return DecodeSeries()


def triaged(
    texts: Mapping[str, str],
    *,
    symptom: str,
    problems: Mapping[str, str] | None = None,
    wholes: Mapping[str, WholeLog] | None = None,
) -> TriageDocument:
    """Files judged by every engine, reader and check there is. `problems`: what was not read, or in part, and why;
    `wholes`: what all lines gave of a log of which the text holds a part.
    """
    from specdoctor.app.triage import TriageDocument, triage
    from specdoctor.app.triage_secrets import secrets_of, without_secrets
    from specdoctor.readers.every import material_of
    from specdoctor.readers.pieces import pieces_of

    pieces, behind = pieces_of(texts)
    found = triage(
        texts,
        engines=all_engines(),
        checks=all_checks(),
        material=material_of(pieces, problems),
        pieces=pieces,
        behind=behind,
        symptom=symptom,
        wholes=wholes,
    )
    shown = without_secrets(found.model_dump(mode="json", by_alias=True), secrets_of(pieces))
    return TriageDocument.model_validate(shown)


def model_files(host: Host, path: str, *, label: str) -> ModelFiles:
    """A model's folder or GGUF file on a host; `label` is how the user wrote it. Raises CheckpointError."""
    from specdoctor.app.model_files import ModelFiles

    return ModelFiles(host, path, label=label)


def export_program(order: ExportOrder) -> str:
    """The program that stores a target's states, as text to be run by hand."""
    from specdoctor.operations.exporting import export_program as made

    return made(order)


def export_states(host: Host, python: str, order: ExportOrder, *, on_line: Callable[[str], None]) -> Exported:
    """Have a host store a target's states. Raises TargetError."""
    from specdoctor.operations.exporting import export_states as carried_out

    return carried_out(host, python, order, on_line=on_line)


def installed_engines(host: Host, target: str, *, python: str | None) -> tuple[InstalledEngine, ...]:
    """SGLang as installed on a host, with its own rule for a target. Raises TargetError."""
    from specdoctor.operations.engine_source import installed_engines as looked

    return looked(host, target, python=python)


def wiring(
    draft: ModelFiles,
    target: ModelFiles,
    *,
    training: tuple[str, str] | None = None,
    choice: EngineChoice | None = None,
    method: str | None = None,
    source: tuple[str, str] | None = None,
    doubt: str = "",
) -> WiringDocument:
    """A drafter's files judged against its target's. Raises CheckpointError and UsageError."""
    from specdoctor.app.wiring import judge_wiring

    return judge_wiring(
        draft,
        target,
        checks=all_drafter_checks(),
        training=training,
        choice=choice,
        method=method,
        source=source,
        doubt=doubt,
    )


def _engines(wanted: str | None) -> tuple[Engine, ...]:
    return tuple(engine for engine in all_engines() if wanted in (None, engine.name))


def _run(
    run_id: str,
    store: MirroredStore,
    operations: Operations,
    settings: RunSettings,
    onlooker: Onlooker,
    approver: Approver,
    clock: Clock | None,
    desk: Desk | None,
) -> Run:
    from specdoctor.app.run import Run
    from specdoctor.core.desk import EmptyDesk

    return Run(
        id=run_id,
        store=store,
        operations=operations,
        engines=_engines(settings.engine),
        checks=all_checks(),
        planner=_with_person(planner_for(settings, clock=clock), settings),
        approver=approver,
        onlooker=onlooker,
        clock=clock or WallClock(),
        desk=desk or EmptyDesk(),
    )
