"""The planner of a search for the fastest setting: measure as found, then the launches that the forecast asks for.

It proposes the same moves as every planner, so that budgets, traffic, permission, the guard and the way back are those
of an investigation. Each launch has a prediction on the list before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.draft_setting import OFF
from specdoctor.analysis.launches import concurrencies, measured_launches
from specdoctor.analysis.tune_plan import NextLaunch, next_launch
from specdoctor.analysis.tune_space import candidates, claim_key, failed_settings, spec_for, start_of
from specdoctor.analysis.tuned import spread_of, starts_made
from specdoctor.analysis.wide_steps import wide_loads
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.moves import Bench, Finish, Move, OpenHypothesis, Relaunch, Restore, RunChecks, Snapshot, Watch
from specdoctor.core.ports import Briefing, Conclusion
from specdoctor.planners.launch_tests import as_found, launch_and_bench, throughput_under
from specdoctor.planners.rules import blocked
from specdoctor.planners.tune_answer import tune_conclusion


class TunePlanner:
    """Proposes the launches of a search, one at a time; what is known is read from the ledger alone."""

    name = "tune"

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """Read, look on, measure what runs, then the next launch worth its downtime, else finish."""
        ledger, scene = briefing.ledger, briefing.scene
        if scene is None:
            return [] if ledger.reading_tried else [Snapshot(why="read everything once before anything else")]
        if not ledger.observations:
            return [RunChecks(why="judge what was read before touching anything")]
        unfit = _unfit(briefing)
        if unfit:
            return [Finish(why=unfit)]
        if not any(a.started.what == "watch" for a in ledger.actions.values()):
            return [Watch(seconds=ledger.settings.watch_s, why="are others using this server?")]
        if blocked(ledger, "bench"):
            return [Finish(why="nothing may be measured here")]
        return self._measuring(ledger) or self._launching(briefing)

    def conclude(self, briefing: Briefing) -> Conclusion | None:
        """The fastest setting as far as it is known."""
        return tune_conclusion(briefing)

    def _measuring(self, ledger: Ledger) -> list[Move]:
        current = ledger.current_launch
        if current is None:
            return [Restore(why="the launch did not come up: put the original back first")] if ledger.changed else []
        for concurrency in wanted_concurrencies(ledger):
            if ledger.measured(current.key, concurrency=concurrency) is None and not _tried(
                ledger, current.key, concurrency
            ):
                testing = tuple(h.id for h in ledger.hypotheses.values() if h.key == claim_key(current))
                why = f"what does this launch bring? ({current.label})"
                return [Bench(launch_key=current.key, concurrency=concurrency, hypotheses=testing, why=why)]
        return _widening(ledger, current)

    def _launching(self, briefing: Briefing) -> list[Move]:
        ledger = briefing.ledger
        step = next_launch(
            {b: rows for b in concurrencies(ledger) if (rows := measured_launches(ledger, b))},
            candidates(briefing),
            made=starts_made(ledger),
            most=most_starts(ledger),
            spread=spread_of(ledger),
        )
        if step.setting is None:
            return [Finish(why=step.why)]
        if step.setting == OFF and OFF in failed_settings(ledger):
            return [Finish(why="without speculation the server did not come up, or could not be measured")]
        change = start_of(briefing, step.setting)
        if change is None:
            return [Finish(why=f"no launch line gives {step.setting.label} here")]
        if blocked(ledger, "relaunch") or any(r.move == f"relaunch {change.key}" for r in ledger.standing_refusals):
            return [Finish(why="a restart is not allowed here")]
        hypothesis = ledger.by_key(claim_key(change))
        if hypothesis is None:
            return [_claim(briefing, step, change)]
        return [Relaunch(change=change, hypotheses=(hypothesis.id,), why=step.why)]


def _widening(ledger: Ledger, current: LaunchChange) -> list[Move]:
    """Without speculation: what a forward of more tokens costs, so that no start is needed to learn it."""
    off = ledger.measured(current.key)
    if off is None or off.spec.on:
        return []
    why = "what does a forward of more tokens cost? As many short answers at once tell it without a restart"
    for load in wide_loads(wanted_concurrencies(ledger)):
        if not _tried(ledger, current.key, load, wide=True):
            return [Bench(launch_key=current.key, concurrency=load, wide=True, why=why)]
    return []


def wanted_concurrencies(ledger: Ledger) -> tuple[int, ...]:
    """Numbers of clients to search for."""
    return ledger.settings.concurrencies or (ledger.settings.concurrency,)


def most_starts(ledger: Ledger) -> int:
    """Test starts that the budget leaves: one is kept for putting the original back, and restorations count."""
    restored = sum(1 for r in ledger.restores if r.started)
    return ledger.settings.max_restarts - 1 - restored


def _unfit(briefing: Briefing) -> str:
    """Why there is nothing to search for on this server; empty where there is."""
    scene = briefing.scene
    assert scene is not None
    if scene.view.state != "running":
        return f"the server is {scene.view.state}"
    spec = scene.view.spec
    if spec is None:
        return "nothing tells which speculation is in force"
    if not spec.on:
        return "the server runs without speculation and names no drafter; start it with one first"
    if spec.draft_steps < 1 or spec.family == "NGRAM":
        return f"{spec.algorithm} has no draft steps to choose"
    return ""


def _claim(briefing: Briefing, step: NextLaunch, change: LaunchChange) -> OpenHypothesis:
    """What the launch is expected to bring at the first concurrency; without a prediction, as much as found."""
    assert step.setting is not None
    ledger = briefing.ledger
    concurrency = wanted_concurrencies(ledger)[0]
    expected = step.expected.get(concurrency)
    if expected is not None:
        value, said = expected.low, f"predicted {expected.with_unit()}"
    else:
        found = ledger.measured("original", concurrency=concurrency)
        value = found.throughput.value if found is not None and found.throughput is not None else 0.0
        said = as_found(found) if found is not None else "anything"
    return OpenHypothesis(
        key=claim_key(change),
        cause=None,
        claim=f"{change.label}: at least {value:.4g} tok/s at concurrency {concurrency} ({said})",
        answers="exists",
        prediction=throughput_under(
            change,
            op=">=",
            value=value,
            value_from=said,
            concurrency=concurrency,
            setting=spec_for(briefing, step.setting),
        ),
        priority="high",
        decides=f"launch {change.label} and benchmark it",
        todo=launch_and_bench(change.label),
        why=step.why,
    )


def _tried(ledger: Ledger, launch_key: str, concurrency: int, *, wide: bool = False) -> bool:
    """Whether this benchmark was made and gave nothing: it is not repeated."""
    return any(
        a.started.what == "bench"
        and a.started.move.get("launch_key") == launch_key
        and a.started.move.get("concurrency") == concurrency
        and bool(a.started.move.get("wide")) == wide
        and a.ended is not None
        and a.ended.outcome != "unknown"
        for a in ledger.actions.values()
    )
