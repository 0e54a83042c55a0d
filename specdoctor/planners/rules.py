"""The rule planner: no model, cheapest separating test first.

Arithmetic beats a read, a read beats a benchmark, a benchmark beats a restart. Each call looks at the ledger and
proposes what comes next; it keeps nothing in mind between calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.symptom import Symptom, read_symptom
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import (
    Bench,
    Compute,
    Finish,
    Move,
    Note,
    OpenHypothesis,
    Relaunch,
    Restore,
    RunChecks,
    Snapshot,
    Watch,
)
from specdoctor.core.ports import Briefing, Scene
from specdoctor.planners.answers import answer_moves, answers_claim, suspected_answers
from specdoctor.planners.choosing import choice_of, next_experiment
from specdoctor.planners.corrections import repair_claims
from specdoctor.planners.experiments import Experiment, as_ranked, pending_experiments, would_launch
from specdoctor.planners.fixed_cost import fixed_cost
from specdoctor.planners.hypotheses import excluded, explaining, findings, symptom_claim
from specdoctor.planners.idle_positions import idle_positions
from specdoctor.planners.old_new import old_against_new
from specdoctor.planners.rival_tests import rival_claims, rival_tests
from specdoctor.planners.rivals import rivals
from specdoctor.planners.starts import starts_claim
from specdoctor.planners.state import benched, explained
from specdoctor.planners.trained_limits import (
    in_training_template,
    on_short_prompts,
    on_training_prompts,
    positions_rival,
    template_rival,
    trained_limits,
)

UNDER_LOAD = ("gpu-state",)
"""Checks whose answer is another one while the server works."""


class RulePlanner:
    """Proposes by fixed rules from what is known; see `propose` for the order."""

    def __init__(self, name: str = "rules") -> None:
        self.name = name
        """Under which its remarks stand in the record: a planner that lets the rules go first gives its own."""

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """The next moves: read, list hypotheses, compute, look on, load, restart, put back, finish."""
        ledger, scene = briefing.ledger, briefing.scene
        if scene is None:
            return [] if ledger.reading_tried else [Snapshot(why="read everything once before anything else")]
        if not ledger.observations:
            return [RunChecks(why="judge what was read before touching anything")]
        symptom = read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency)
        opened = _new(ledger, [*findings(ledger), *excluded(ledger, symptom), *explaining(briefing, symptom)])
        if opened:
            return opened
        if scene.view.state == "down":
            return [Finish(why="the server is down; its log was read")]
        return (
            self._arithmetic(ledger, "typed")
            or self._looking_on(ledger)
            or self._arithmetic(ledger, "measured")
            or self._load(ledger, scene, symptom)
            or self._arithmetic(ledger, "measured")
            or self._under_load(ledger, scene)
            or ([] if blocked(ledger, "bench") else answer_moves(briefing, symptom))
            or _new(ledger, [*answers_claim(briefing, symptom), *suspected_answers(ledger)])
            or _new(ledger, starts_claim(ledger))
            or _new(ledger, symptom_claim(briefing, symptom))
            or _new(ledger, [*idle_positions(briefing, symptom), *fixed_cost(ledger)])
            or _new(ledger, [*trained_limits(ledger), *template_rival(ledger), *positions_rival(ledger)])
            or _new(ledger, old_against_new(briefing))
            or _new(ledger, repair_claims(briefing))
            or self._restart(briefing, symptom)
            or list(rival_tests(briefing) if not blocked(ledger, "bench") else ())
            or self._ending(briefing, symptom)
        )

    def _arithmetic(self, ledger: Ledger, basis: str) -> list[Move]:
        """Bounds once per state of knowledge: typed figures at once, measured ones after each new measurement."""
        if basis == "typed":
            return (
                [] if _computed(ledger, "typed") else [Compute(basis="typed", why="what do the typed figures exclude?")]
            )
        if _computed(ledger, "measured") >= _states_of_knowledge(ledger):
            return []
        return [Compute(basis="measured", why="what do the measured figures exclude?")]

    def _looking_on(self, ledger: Ledger) -> list[Move]:
        if _done(ledger, "watch") or any(r.move == "watch" for r in ledger.standing_refusals):
            return []
        return [Watch(seconds=ledger.settings.watch_s, why="are others using this server, and what do they get?")]

    def _load(self, ledger: Ledger, scene: Scene, symptom: Symptom) -> list[Move]:
        """Benchmark the server as found, unless reading already answers the question or load is not allowed."""
        if ledger.changed or ledger.by_hand is not None or blocked(ledger, "bench"):
            return []
        if not ledger.granted(Risk.LOAD) and _answered_by_reading(ledger, symptom):
            return []
        wanted = [ledger.settings.concurrency]
        if symptom.asks_about_speed and any(o.stance == "suggests" for o in ledger.observed("LOAD-1")):
            wanted.append(1)
        for concurrency in wanted:
            if ledger.measured("original", concurrency=concurrency) is None and not benched(
                ledger, "original", concurrency
            ):
                return [
                    Bench(concurrency=concurrency, why="how fast is it as found, and how many drafts are accepted?")
                ]
        other = (on_training_prompts, in_training_template, on_short_prompts)
        return next((list(moves) for each in other if (moves := each(ledger, symptom))), [])

    def _under_load(self, ledger: Ledger, scene: Scene) -> list[Move]:
        """Judge once what was read of the GPUs while they worked."""
        done = any(a.started.move.get("names") == list(UNDER_LOAD) for a in ledger.actions.values())
        if scene.under_load is None or done or ledger.changed:
            return []
        return [RunChecks(names=UNDER_LOAD, why="what holds the GPUs back while they work?")]

    def _restart(self, briefing: Briefing, symptom: Symptom) -> list[Move]:
        """The next launch that an open hypothesis needs, and the benchmark on it."""
        ledger = briefing.ledger
        current = ledger.current_launch
        measurable = not blocked(ledger, "bench")
        if current is not None and (ledger.changed or ledger.by_hand is not None) and measurable:
            concurrency = ledger.settings.concurrency
            unmeasured = ledger.measured(current.key, concurrency=concurrency) is None
            if unmeasured and not benched(ledger, current.key, concurrency):
                testing = tuple(
                    h.id for h in ledger.hypotheses.values() if h.prediction and h.prediction.under == current.key
                )
                why = f"what does this launch bring? ({current.label})"
                return [Bench(launch_key=current.key, concurrency=concurrency, hypotheses=testing, why=why)]
        if blocked(ledger, "relaunch") or not measurable:
            return []
        if explained(ledger) and not ledger.granted(Risk.RESTART):
            return []
        waiting = as_ranked(ledger, pending_experiments(briefing, symptom))
        left = [e for e in waiting if not _refused(ledger, e)]
        if not left:
            return []
        chosen = next_experiment(ledger, left)
        choice = choice_of(ledger, left, chosen, rival_claims(briefing))
        return [Relaunch(change=chosen.change, hypotheses=chosen.hypotheses, why=chosen.why, choice=choice)]

    def _ending(self, briefing: Briefing, symptom: Symptom) -> list[Move]:
        ledger = briefing.ledger
        if ledger.changed:
            return [Restore(why="nothing more to test: put the original back")]
        if ledger.settings.dry_run and not ledger.notes_by(self.name):
            return [*would_launch(briefing)] or [Note(text="no launch would be tested")]
        return _new(ledger, rivals(briefing, symptom)) or [Finish(why=_why_finished(ledger))]


def _new(ledger: Ledger, moves: Sequence[OpenHypothesis]) -> list[Move]:
    """Those hypotheses that are not on the list yet, each once."""
    out: dict[str, OpenHypothesis] = {}
    for move in moves:
        if ledger.by_key(move.key) is None:
            out.setdefault(move.key, move)
    return list(out.values())


def _done(ledger: Ledger, what: str) -> bool:
    return any(a.started.what == what for a in ledger.actions.values())


def _computed(ledger: Ledger, basis: str) -> int:
    """Arithmetic rounds so far on a basis; what a round found is told by its evidence."""
    return sum(
        1 for a in ledger.actions.values() if a.started.what == "compute" and a.started.move.get("basis") == basis
    )


def _states_of_knowledge(ledger: Ledger) -> int:
    """How often measured arithmetic has something new to say: the log, the server as found, the baseline."""
    kinds = {
        "baseline" if m.source == "bench" and not m.spec.on else m.source
        for m in ledger.measurements
        if (m.launch_key == "original" or not m.spec.on) and m.source not in ("control", "answers")
    }
    return len(kinds)


def blocked(ledger: Ledger, what: str) -> bool:
    """Whether this kind of move was refused for good, or somebody said no to its tier."""
    tier = Risk.LOAD if what == "bench" else Risk.RESTART
    return ledger.denied(tier) or any(r.move == what for r in ledger.standing_refusals)


def _refused(ledger: Ledger, experiment: Experiment) -> bool:
    return any(r.move == f"relaunch {experiment.change.key}" for r in ledger.standing_refusals)


def _answered_by_reading(ledger: Ledger, symptom: Symptom) -> bool:
    """Without permission for load: is there a decided explanation, or nothing that asks for a measurement?"""
    return explained(ledger) or (not symptom.asks_about_speed and bool(ledger.measurements))


def _why_finished(ledger: Ledger) -> str:
    open_left = [h.id for h in ledger.hypotheses.values() if h.status is Status.OPEN]
    if not open_left:
        return "every hypothesis is decided"
    return f"nothing that can be done here separates {', '.join(open_left)} further"
