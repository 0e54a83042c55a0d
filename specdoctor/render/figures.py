"""Numbers and states in words, the same on the screen, in the report and in the review."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.events import BoundComputed, ServerSeen
from specdoctor.core.hypothesis import UNITS, Hypothesis, Metric, TodoStatus
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status

TODO_WORDS = {
    TodoStatus.COMPLETED: "done",
    TodoStatus.IN_PROGRESS: "now",
    TodoStatus.PENDING: "next",
    TodoStatus.CANCELLED: "dropped",
}
RESULT_WORDS = {
    Status.SUPPORTED: "hit",
    Status.FALSIFIED: "miss",
    Status.PARKED: "not decided",
    Status.OPEN: "not decided yet",
}


def amount(value: float) -> str:
    """A number to at most four significant digits, never in powers of ten below ten million."""
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.0f}" if abs(value) < 1e7 else f"{value:.3g}"
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def clock(seconds: float) -> str:
    """A duration as minutes and seconds, with hours where there are some: `3:50`, `1:02:05`."""
    whole = max(int(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{secs:02d}" if hours else f"{minutes}:{secs:02d}"


def place_words(target: str, named: str) -> str:
    """A target as it was named, with its address where that is another word: `eagle-a (ssh://gpu-7)`."""
    return target if named in ("", target) else f"{named} ({target})"


def restarts_words(ledger: Ledger) -> str:
    """Restarts of those allowed, and how long the server was down: `1 of 3 restarts, 0:25 down`.

    What one that is under way has taken so far is not known from the record.
    """
    made = f"{ledger.restarts} of {ledger.settings.max_restarts} restarts"
    if ledger.restarting_since is None:
        return f"{made}, {clock(ledger.downtime_s)} down{', and still down' if ledger.still_down else ''}"
    before = f", {clock(ledger.downtime_s)} down before" if ledger.downtime_s else ""
    return f"{made}, the last without an end yet{before}"


def duration(seconds: float) -> str:
    """A duration in words: seconds below a minute, else minutes and seconds."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 59.5 else clock(round(seconds))


def figure(measurement: Measurement, metric: Metric) -> float | None:
    """What a measurement says of a metric, None where it says nothing."""
    if metric == "queue_requests":
        return None if measurement.queue_max is None else float(measurement.queue_max)
    estimates = {
        "throughput_tok_s": measurement.throughput,
        "accept_length": measurement.accept_length,
        "step_ms": measurement.step,
    }
    estimate = estimates.get(metric)
    return None if estimate is None else estimate.value


def answering(hypothesis: Hypothesis, ledger: Ledger) -> Measurement | None:
    """The measurement that a hypothesis' prediction speaks about: one it cites, else the latest of that launch."""
    prediction = hypothesis.prediction
    if prediction is None:
        return None
    fitting = [
        m
        for m in ledger.measurements
        if m.launch_key == prediction.under
        and m.concurrency == prediction.concurrency
        and figure(m, prediction.metric) is not None
    ]
    cited = [m for m in fitting if m.evidence in hypothesis.evidence]
    candidates = cited or fitting
    return candidates[-1] if candidates else None


def bounds_on(hypothesis: Hypothesis, ledger: Ledger) -> list[BoundComputed]:
    """The latest bound on a hypothesis' claim from typed figures, and from measured ones, where there are such."""
    about = [b for b in ledger.bounds if hypothesis.id in b.speaks_of or hypothesis.id in b.refutes]
    return [
        [b for b in about if b.basis == basis][-1]
        for basis in ("typed", "measured")
        if basis in {b.basis for b in about}
    ]


def bound_words(bound: BoundComputed) -> str:
    """`at most 88.7 by arithmetic on typed figures: excluded if these are exact`."""
    spread = "" if bound.low == bound.high else f" ({amount(bound.low)}-{amount(bound.high)})"
    told = "excludes it" if bound.refuted else "does not exclude it"
    if bound.refuted and bound.basis == "typed":
        told = "excludes it if they are exact"
    return f"at most {amount(bound.value)}{spread} by arithmetic on {bound.basis} figures, which {told}"


def predicted(hypothesis: Hypothesis) -> str:
    """The prediction in few words, empty if there is none."""
    p = hypothesis.prediction
    if p is None:
        return ""
    if p.metric == "reading" or p.value is None:
        return f"expected {p.sentence}" if hypothesis.status is Status.OPEN else ""
    return f"predicted {p.op} {amount(p.value)} {UNITS[p.metric]}"


def result(hypothesis: Hypothesis, ledger: Ledger) -> str:
    """What came of the prediction so far, in few words: a measured figure, a bound, or nothing."""
    p = hypothesis.prediction
    measurement = answering(hypothesis, ledger)
    value = figure(measurement, p.metric) if p is not None and measurement is not None else None
    if measurement is not None and value is not None:
        return f"measured {amount(value)} ({measurement.launch})"
    return "; ".join(bound_words(b) for b in bounds_on(hypothesis, ledger))


def prediction_and_result(hypothesis: Hypothesis, ledger: Ledger) -> str:
    """`predicted >= 90 tok/s, measured 46.7 (15 steps)`; for a decision without figures, its reason."""
    parts = [predicted(hypothesis), result(hypothesis, ledger)]
    if hypothesis.status is not Status.OPEN and not parts[1] and hypothesis.because != hypothesis.claim:
        parts[1] = hypothesis.because
    return ", ".join(p for p in parts if p)


def evidence_ids(ids: tuple[str, ...], *, most: int = 4) -> str:
    """Evidence ids in a row; of a long list, the first ones and how many more there are."""
    return " ".join(ids) if len(ids) <= most else f"{' '.join(ids[:most])} +{len(ids) - most}"


def server_words(seen: ServerSeen) -> tuple[str, str]:
    """Engine with version, and what else the summary says of the server."""
    name = f"{seen.engine} {seen.version or seen.version_range or 'of unknown version'}"
    return name, seen.summary.removeprefix(name).lstrip(" ,:;")


def paths_words(paths: Sequence[str], *, most: int = 3) -> str:
    """A few paths as they are, of more their number: the event names them all."""
    return ", ".join(paths) if len(paths) <= most else f"{len(paths)} paths, named in the events of its transcript"


def move_words(move: str) -> str:
    """A move that was refused, for people: of a launch what it sets and what goes."""
    what, _, key = move.partition(" ")
    if what != "relaunch" or not key:
        return move
    parts = [f"without {p[1:].rstrip(':')}" if p[:1] == "-" and "=" not in p else p for p in key.split("; ")]
    return f"{what} {', '.join(parts)}".replace(":=", "=")


def change_words(change: LaunchChange) -> str:
    """A change of a launch line in words: what is set, what goes, in arguments and environment."""
    setting = [" ".join((flag, *values)) for flag, values in sorted(change.set_flags.items())]
    setting += [f"{name}={value}" for name, value in sorted(change.set_env.items())]
    setting += [edit.words for edit in change.copies.edits] if change.copies is not None else []
    removing = [*sorted(change.remove_flags), *sorted(change.remove_env)]
    parts = [f"with {', '.join(setting)}" if setting else "", f"without {', '.join(removing)}" if removing else ""]
    return "; ".join(p for p in parts if p) or "as found"
