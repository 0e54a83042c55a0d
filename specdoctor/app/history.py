"""What the host still tells of other days: older logs, boots, and when packages were put in place.

Read only where somebody recalls figures, and kept apart from what is measured: no test rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath

from specdoctor.analysis.dated import CHANGED, LAST_LINE, LOG, MOMENT
from specdoctor.analysis.recall import recalled_before
from specdoctor.app.measuring import traffic_measurement
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.engine import Engine
from specdoctor.core.facts import Facts, LogFacts
from specdoctor.core.measurement import Measurement
from specdoctor.core.server import ServerView, SpecSetting

MOST_NAMED = 6


def note_history(run: Run, action: str, facts: Facts) -> str | None:
    """Record what the facts hold of the past as one piece of evidence, with a measurement for each older log.

    Returns the evidence id; None where nobody recalls anything, or nothing is left.
    """
    ledger = run.ledger
    engine = run.engine
    if not ledger.recalled or engine is None:
        return None
    evidence = ledger.next_id("E")
    read = [found for log in facts.older_logs if (found := _earlier(run, engine, log, evidence)) is not None]
    when = recalled_before(ledger.settings.recalled_at, now=run.clock.now())
    told = [*(_words(m) for m in read), *_boots(facts, when), *_packages(facts, when)]
    if not told:
        return None
    logs = f"{len(facts.older_logs)} older logs, {len(read)} of them with clean decode lines"
    run.record(action=action, source="history", summary="; ".join([logs, *told]))
    for m in read:
        run.emit(ev.Measured(measurement=m.model_copy(update={"id": ledger.next_id("M")})))
    return evidence


def _earlier(run: Run, engine: Engine, log: LogFacts, evidence: str) -> Measurement | None:
    """What an older log shows with as many clients as this run measures with."""
    view = engine.view_from_files({log.path: log.text})
    if view is None or view.log is None:
        return None
    windows = [w for w in view.log.decode if w.running == run.ledger.settings.concurrency]
    found = traffic_measurement(
        measurement_id="",
        evidence=evidence,
        launch=f"logged in {PurePosixPath(log.path).name}",
        launch_key=f"earlier {log.path}",
        spec=_spec(view),
        windows=windows,
    )
    stamps = [w.at for w in windows if w.at is not None]
    if found is None or found.throughput is None or not stamps:
        return None
    facts = {
        LOG: PurePosixPath(log.path).name,
        LAST_LINE: _moment(max(stamps)),
        CHANGED: f"{_moment(log.mtime)} UTC" if log.mtime is not None else "",
        "engine.version": view.version or view.version_range or "",
        "args.speculation": found.spec.label if view.spec is not None else "",
    }
    return found.model_copy(update={"source": "earlier", "fingerprint": {k: v for k, v in facts.items() if v}})


def _spec(view: ServerView) -> SpecSetting:
    """As the log's start says; where it begins later, lines that tell an accept length are those of speculation."""
    if view.spec is not None:
        return view.spec
    drafting = view.log is not None and any(w.accept_length is not None for w in view.log.decode)
    return SpecSetting(algorithm="not logged") if drafting else SpecSetting()


def _words(m: Measurement) -> str:
    speed = m.throughput.with_unit() if m.throughput is not None else "no speed"
    n = m.throughput.n if m.throughput is not None else 0
    how = "with speculation" if m.spec.on else "without speculation"
    return f"{m.fingerprint[LOG]} until {m.fingerprint[LAST_LINE]}: {speed} {how} ({n} clean decode lines)"


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(round(at), UTC):{MOMENT}}"


def _boots(facts: Facts, when: float | None) -> Iterator[str]:
    """How often the host was booted since then, as far as its records reach."""
    if not facts.host.boots or when is None:
        return
    since = [at for at in facts.host.boots if at > when]
    reach = "" if min(facts.host.boots) <= when else f" (its records begin {_moment(min(facts.host.boots))} UTC)"
    days = ", ".join(f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in since[-MOST_NAMED:])
    yield f"host booted {len(since)} times since{f' ({days})' if days else ''}{reach}"


def _packages(facts: Facts, when: float | None) -> Iterator[str]:
    """Packages that were put in place since then, by interpreter."""
    for where, packages in facts.packages.items() if when is not None else ():
        newer = [p for p in packages if p.installed_at is not None and when is not None and p.installed_at > when]
        if newer:
            named = ", ".join(
                f"{p.name} {p.version} ({datetime.fromtimestamp(p.installed_at or 0.0, UTC):%Y-%m-%d})"
                for p in sorted(newer, key=lambda p: -(p.installed_at or 0.0))[:MOST_NAMED]
            )
            yield f"put in place since, {where}: {named}" + (", ..." if len(newer) > MOST_NAMED else "")
