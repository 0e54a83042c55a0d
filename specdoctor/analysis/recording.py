"""What a run found, drawn from its ledger for a later replay: figures by launch, findings, how each claim ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from specdoctor.core.clean import one_line
from specdoctor.core.estimate import Estimate
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED
from specdoctor.core.recorded import (
    Recorded,
    RecordedCause,
    RecordedFigure,
    RecordedFinding,
    RecordedHypothesis,
    RecordedMetric,
)
from specdoctor.core.redact import secret_name

OF_ONE_HOST = ("host.name", "host.boot", "gpu.uuid", "container.", "server.started", "workload.", "args.launch")
"""Facts that differ from host to host, from start to start, or from launch to launch."""
OF_ONE_LOGIN = frozenset(
    "HOME PWD OLDPWD USER LOGNAME USERNAME SHELL MAIL HOSTNAME HOST LANG LANGUAGE TERM SHLVL TZ _".split()
) | {"TMPDIR", "TMP", "TEMP"}
"""Variables of whoever started the server, and of where; so are those that begin with a prefix of LOGIN_PREFIXES."""
LOGIN_PREFIXES = ("SSH_", "XDG_", "LC_", "SUDO_", "TMUX", "DBUS_", "SYSTEMD_", "INVOCATION_ID", "JOURNAL_STREAM")
UNSET = ("null", "")
AS_FOUND = "as found"


def recorded_of(ledger: Ledger, facts: Mapping[str, str]) -> Recorded:
    """The outcome of a run; `facts` is the fingerprint of the server as it was found."""
    started = ledger.started
    reached = ledger.verdict
    return Recorded(
        run=ledger.run,
        target=one_line(started.target) if started is not None else "",
        at=f"{datetime.fromtimestamp(ledger.first_at, UTC):%Y-%m-%d %H:%M} UTC",
        tool_version=started.tool_version if started is not None else "",
        facts={k: one_line(v) for k, v in sorted(facts.items()) if lasting(k, v) and v not in UNSET},
        figures=tuple(_figures(ledger)),
        findings=tuple(_findings(ledger)),
        hypotheses=tuple(_hypotheses(ledger)),
        verdict=reached.verdict if reached is not None else None,
        causes=tuple(RecordedCause(cause=c.cause, status=c.status, role=c.role) for c in reached.causes)
        if reached is not None
        else (),
    )


def lasting(name: str, value: str) -> bool:
    """Whether a fact says something on another host as well.

    Left out are secrets, variables of a login, and arguments and variables that are places on a machine: what lies
    there has facts of its own (the configurations of target and drafter by their digests).
    """
    group, _, last = name.partition(".")
    if name.startswith(OF_ONE_HOST) or secret_name(name.rpartition(".")[2]):
        return False
    if group == "env" and (last in OF_ONE_LOGIN or last.startswith(LOGIN_PREFIXES)):
        return False
    return group not in ("args", "env") or not _place(value)


def _place(value: str) -> bool:
    """Whether a value is an absolute path, or some of them joined by colons."""
    return all(part.startswith("/") for part in value.split(":") if part) and value.startswith(("/", ":/"))


def _figures(ledger: Ledger) -> Iterator[RecordedFigure]:
    """The latest benchmark of each launch, with so many clients and prompts."""
    latest: dict[tuple[str, int, str], Measurement] = {}
    for m in ledger.measurements:
        if m.source in ("bench", "prompts") and not m.stopped:
            latest[m.launch_key, m.concurrency, m.prompt_set] = m
    labels = {"original": AS_FOUND} | {r.change.key: r.change.label for r in ledger.relaunches}
    for m in latest.values():
        key, _, prompts = m.launch_key.partition(" on ")
        if key not in labels or " in the template of " in m.launch_key:
            continue
        for metric, figure in _metrics(m):
            if figure is not None:
                yield RecordedFigure(
                    launch=one_line(labels[key]),
                    metric=metric,
                    clients=m.concurrency,
                    prompts=prompts,
                    value=_short(figure.value),
                    low=_short(figure.low),
                    high=_short(figure.high),
                    unit=figure.unit,
                    estimator=figure.estimator,
                    n=figure.n,
                )


def _short(value: float) -> float:
    """Six digits, as the file has them."""
    return float(f"{value:.6g}")


def _metrics(m: Measurement) -> tuple[tuple[RecordedMetric, Estimate | None], ...]:
    return (("throughput_tok_s", m.throughput), ("accept_length", m.accept_length), ("step_ms", m.step))


def _findings(ledger: Ledger) -> Iterator[RecordedFinding]:
    """What checks said for or against a cause, each once, the latest word of it."""
    found: dict[tuple[str, str | None, str], RecordedFinding] = {}
    for o in ledger.observed():
        if o.stance in ("supports", "refutes", "suggests"):
            told = RecordedFinding.model_validate(
                {"check": o.check, "cause": o.cause, "stance": o.stance, "claim": one_line(o.claim)}
            )
            found[o.check, o.cause, o.stance] = told
    yield from found.values()


def _hypotheses(ledger: Ledger) -> Iterator[RecordedHypothesis]:
    """How the claims ended that launches were made to test."""
    seen: set[str] = set()
    for relaunch in ledger.relaunches:
        entry = ledger.actions.get(relaunch.outcome.action)
        named = entry.started.hypotheses if entry is not None else ()
        for h in (ledger.hypotheses[name] for name in named if name in ledger.hypotheses):
            if h.status in DECIDED and relaunch.change.label not in seen:
                seen.add(relaunch.change.label)
                yield RecordedHypothesis(launch=one_line(relaunch.change.label), status=h.status)
