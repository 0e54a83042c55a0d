"""Two launches in turns: read, look on, measure the server as found, then start and measure A B B A until it is clear.

Budgets, traffic, permission, guard and way back are those of an investigation; a finish puts the original back.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.turns import pending, turns_look
from specdoctor.core.errors import EngineError
from specdoctor.core.launch import LaunchChange, difference_of_lines
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import Bench, Finish, Move, OpenHypothesis, Relaunch, RunChecks, Snapshot, Watch
from specdoctor.core.ports import Briefing, Conclusion
from specdoctor.planners.experiments import baseline_change, other_install_change
from specdoctor.planners.launch_tests import as_found, launch_and_bench, throughput_under
from specdoctor.planners.rules import blocked
from specdoctor.planners.state import benched
from specdoctor.planners.turns_answer import turns_conclusion


class TurnsPlanner:
    """Proposes the starts of two launches in turns, one at a time."""

    name = "turns"

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """What comes next, else a finish that says why nothing does."""
        ledger, scene = briefing.ledger, briefing.scene
        if scene is None:
            tried = any(a.started.what == "snapshot" for a in ledger.actions.values())
            return [] if tried else [Snapshot(why="read everything once before anything else")]
        if not ledger.observations:
            return [RunChecks(why="judge what was read before touching anything")]
        second = second_change(briefing)
        if scene.view.state != "running" or second is None:
            why = "there is no such other launch of it" if scene.view.state == "running" else "it does not run"
            return [Finish(why=why)]
        if not any(a.started.what == "watch" for a in ledger.actions.values()):
            return [Watch(seconds=ledger.settings.watch_s, why="are others using this server?")]
        if blocked(ledger, "bench"):
            return [Finish(why="nothing may be measured here")]
        return _measuring(ledger) or _launching(ledger, second)

    def conclude(self, briefing: Briefing) -> Conclusion | None:
        """Which launch is faster, as far as it is known."""
        return turns_conclusion(briefing)


def second_change(briefing: Briefing) -> LaunchChange | None:
    """The launch that the running one is compared with; None where it cannot be made here."""
    turns, engine = briefing.ledger.settings.turns, briefing.engine
    if turns is None or engine is None:
        return None
    if turns.off:
        return baseline_change(briefing)
    if turns.other_install:
        return other_install_change(briefing)
    wanted: tuple[dict[str, tuple[str, ...]], tuple[str, ...]] | None = (turns.set_flags, ())
    if turns.line:
        wanted = difference_of_lines(briefing.scene.view.argv, turns.line) if briefing.scene is not None else None
    if wanted is None:
        return None
    set_flags, removed = wanted
    words = [word for flag, values in set_flags.items() for word in (flag, *values)]
    label = " ".join([*words, *(f"without {flag}" for flag in removed)])
    try:
        return engine.change_flags(label=label, set_flags=set_flags, remove_flags=removed)
    except EngineError:
        return None


def _measuring(ledger: Ledger) -> list[Move]:
    current, concurrency = ledger.current_launch, ledger.settings.concurrency
    if current is None or ledger.measured(current.key, concurrency=concurrency) is not None:
        return []
    if benched(ledger, current.key, concurrency):
        return [Finish(why=f"{current.label} could not be measured")]
    testing = tuple(h.id for h in ledger.hypotheses.values() if h.key == _key(current))
    return [Bench(launch_key=current.key, concurrency=concurrency, hypotheses=testing, why="its turn")]


def _launching(ledger: Ledger, second: LaunchChange) -> list[Move]:
    failed = [r for r in ledger.relaunches if r.outcome.status in ("failed", "timeout")]
    if failed:
        return [Finish(why=f"{failed[-1].change.label} did not come up: {failed[-1].outcome.reason}")]
    look = turns_look(ledger, second)
    if look is not None and look.verdict != "go on":
        return [Finish(why=f"it is clear: {look.verdict}")]
    change = pending(ledger, second)
    if change is None:
        return [Finish(why="every start was made")]
    if blocked(ledger, "relaunch") or any(r.move == f"relaunch {change.key}" for r in ledger.standing_refusals):
        return [Finish(why="no further restart is allowed here")]
    if ledger.denied(Risk.RESTART):
        return [Finish(why="a restart was not allowed")]
    hypothesis = ledger.by_key(_key(change))
    if hypothesis is None:
        return [_claim(ledger, change)]
    if hypothesis.status is not Status.OPEN:
        return [Finish(why=f"{change.label} did not come up")]
    return [Relaunch(change=change, hypotheses=(hypothesis.id,), why="its turn")]


def _key(change: LaunchChange) -> str:
    return f"turn:{change.key}"


def _claim(ledger: Ledger, change: LaunchChange) -> OpenHypothesis:
    """What a start is expected to bring: as much as the server as found."""
    found = ledger.measured("original", concurrency=ledger.settings.concurrency)
    value = found.throughput.value if found is not None and found.throughput is not None else 0.0
    return OpenHypothesis(
        key=_key(change),
        cause=None,
        claim=f"{change.label}: as fast as the server as found",
        answers="exists",
        prediction=throughput_under(
            change,
            op=">=",
            value=value,
            value_from=as_found(found) if found is not None else "as found",
            concurrency=ledger.settings.concurrency,
        ),
        decides=f"launch {change.label} and benchmark it",
        todo=launch_and_bench(change.label),
        why="its turn",
    )
