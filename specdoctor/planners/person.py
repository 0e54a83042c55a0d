"""What a person asks for comes first; then another planner goes on as it would alone.

A wish becomes the same moves that planners propose, and passes the same policy and the same questions. It keeps nothing
in mind: what still waits stands in the ledger, so that a run which is taken up again remembers it.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core import wishes
from specdoctor.core.faults import unknown_word
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import Bench, Move, OpenHypothesis, Relaunch, RunChecks, Watch
from specdoctor.core.person_events import MoveAnswered, MoveAsked
from specdoctor.core.ports import Briefing, Concluding, Conclusion, Planner
from specdoctor.knowledge.table import CAUSES
from specdoctor.planners.asked_launch import Refusal, change_of, prediction_of
from specdoctor.planners.launch_tests import as_found, launch_and_bench
from specdoctor.planners.rival_tests import rival_claims
from specdoctor.planners.rules import blocked
from specdoctor.planners.state import explained, slower_confirmed

OWN = "person:"
"""How the keys of a person's hypotheses begin."""


class PersonFirst:
    """Proposes what a person asked for, the oldest wish first, ahead of `after`. `checks` are the catalogue's names."""

    def __init__(self, after: Planner, *, checks: Sequence[str]) -> None:
        self._after = after
        self._checks = tuple(checks)

    @property
    def name(self) -> str:
        return self._after.name

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """Moves for the first wish that can be granted; wishes that cannot are answered."""
        ledger = briefing.ledger
        if ledger.asks and briefing.scene is not None and ledger.observations:
            for ask in list(ledger.asks.values()):
                try:
                    return self._moves(ask, briefing)
                except Refusal as refusal:
                    briefing.tell(MoveAnswered(ask=ask.ask, why=f"not done: {refusal}", by=self.name))
        moves = self._after.propose(briefing)
        if not moves or {move.kind for move in moves} & {"restore", "finish"}:
            return _tests(briefing) or moves
        return moves

    def conclude(self, briefing: Briefing) -> Conclusion | None:
        """The answer of the other planner, where it has a question of its own."""
        return self._after.conclude(briefing) if isinstance(self._after, Concluding) else None

    def _moves(self, ask: MoveAsked, briefing: Briefing) -> list[Move]:
        if briefing.scene is not None and briefing.scene.view.state == "down":
            raise Refusal("the server is down")
        match ask.wish:
            case wishes.ClaimWish(cause=str()) as wish:
                return [_cause(ask, wish, briefing)]
            case wishes.ClaimWish() as wish:
                return [_claim(ask, wish, briefing)]
            case wishes.CheckWish() as wish:
                return [self._check(ask, wish, briefing.ledger)]
            case wishes.RelaunchWish() as wish:
                return [_relaunch(ask, wish, briefing)]

    def _check(self, ask: MoveAsked, wish: wishes.CheckWish, ledger: Ledger) -> Move:
        if wish.check == "watch":
            return Watch(seconds=wish.seconds or ledger.settings.watch_s, why=ask.mark)
        if wish.check != "bench":
            if wish.check not in self._checks:
                raise Refusal(unknown_word("check", wish.check, ["watch", "bench", *self._checks]))
            return RunChecks(names=(wish.check,), why=ask.mark)
        if ledger.current_launch is None:
            raise Refusal("no server runs that could be measured")
        clients = wish.concurrency or ledger.settings.concurrency
        testing = tuple(
            h.id for h in ledger.hypotheses.values() if h.prediction and h.prediction.under == ledger.current_launch.key
        )
        return Bench(launch_key=ledger.current_launch.key, concurrency=clients, hypotheses=testing, why=ask.mark)


def _cause(ask: MoveAsked, wish: wishes.ClaimWish, briefing: Briefing) -> OpenHypothesis:
    """A known cause: with the test of the check that suggests it, else as a question with what would decide it."""
    ledger = briefing.ledger
    cause = CAUSES.get(wish.cause or "")
    if cause is None:
        raise Refusal(unknown_word("cause", wish.cause or "", list(CAUSES)))
    listed = next((h for h in ledger.hypotheses.values() if h.cause == cause.id), None)
    if listed is not None:
        raise Refusal(f"{cause.id} is on the list: {listed.id}, {listed.status}")
    tested = next((claim for claim in rival_claims(briefing) if claim.cause == cause.id), None)
    if tested is not None and slower_confirmed(ledger) and not explained(ledger):
        briefing.tell(MoveAnswered(ask=ask.ask, why=f"{cause.id} goes on the list with the test of its check"))
        return tested
    said = f" ({wish.text})" if wish.text and wish.text != cause.id else ""
    return OpenHypothesis(
        key=ask.key,
        cause=None,
        claim=f"{cause.id}, {cause.title}{said}",
        answers="exists",
        priority="low",
        decides=f"{cause.id}: {cause.check}",
        todo=((cause.check, "low"),),
        why=ask.mark,
    )


def _claim(ask: MoveAsked, wish: wishes.ClaimWish, briefing: Briefing) -> OpenHypothesis:
    """A claim with what it foretells, before anybody has measured it; it asks whether something is so."""
    if wish.foretold is None:
        raise Refusal("a claim needs what would be seen if it is true, such as accept_length>=2, or a cause")
    told = wish.foretold
    change = change_of(told.launch, briefing)
    known = briefing.ledger.measured(change.key, concurrency=briefing.ledger.settings.concurrency)
    if known is not None:
        raise Refusal(f"{change.label} is measured already ({known.evidence}); a prediction comes before its test")
    prediction = prediction_of(
        change, briefing, metric=told.metric, op=told.op, value=told.value, value_from="by a person"
    )
    launch = () if change.is_original else ((f"launch {change.label}", "medium"),)
    return OpenHypothesis(
        key=ask.key,
        cause=None,
        claim=wish.text,
        answers="exists",
        prediction=prediction,
        decides=f"benchmark {'the server as found' if change.is_original else change.label}",
        todo=(*launch, ("benchmark it with the same prompts", "medium")),
        why=ask.mark,
    )


def _relaunch(ask: MoveAsked, wish: wishes.RelaunchWish, briefing: Briefing) -> Move:
    """The next step to a restart: the server as found is measured, then a claim predicts something, then it is made."""
    ledger = briefing.ledger
    change = change_of(wish.launch, briefing)
    if change.is_original or (ledger.current_launch is not None and ledger.current_launch.key == change.key):
        raise Refusal(f"this launch is the one that runs now ({change.label})")
    if ledger.settled(change):
        raise Refusal(f"this launch was already tried ({change.label})")
    found = ledger.measured("original", concurrency=ledger.settings.concurrency)
    if found is None or found.throughput is None:
        return _measure_first(change, ledger)
    testing = [h for h in ledger.hypotheses.values() if h.prediction is not None and h.prediction.under == change.key]
    undecided = [h.id for h in testing if h.status is Status.OPEN]
    if undecided:
        return Relaunch(change=change, hypotheses=tuple(undecided), why=ask.mark)
    own = ledger.by_key(_launch_key(change))
    if own is not None:
        raise Refusal(_decided(own, change))
    prediction = prediction_of(
        change,
        briefing,
        metric="throughput_tok_s",
        op=">",
        value=found.throughput.value,
        value_from=as_found(found),
    )
    return OpenHypothesis(
        key=_launch_key(change),
        cause=None,
        claim=f"{change.label} is faster than as found",
        answers="exists",
        prediction=prediction,
        decides=f"launch {change.label} and benchmark it",
        todo=launch_and_bench(change.label, "medium"),
        why=ask.mark,
    )


def _tests(briefing: Briefing) -> list[Move]:
    """A restart for a person's open claim about another launch, once the other planner has nothing better to do."""
    ledger = briefing.ledger
    if briefing.scene is None or ledger.restore_failed or blocked(ledger, "relaunch") or blocked(ledger, "bench"):
        return []
    refused = {r.move for r in ledger.standing_refusals}
    for ask in ledger.asked.values():
        h = ledger.by_key(ask.key)
        if h is None or h.status is not Status.OPEN or h.prediction is None:
            continue
        wish = ask.wish
        launch = wish.foretold.launch if isinstance(wish, wishes.ClaimWish) and wish.foretold is not None else None
        change = change_of(launch, briefing)
        if change.is_original or ledger.settled(change) or f"relaunch {change.key}" in refused:
            continue
        return [Relaunch(change=change, hypotheses=(h.id,), why=f"is it as a person says? ({h.claim})")]
    return []


def _launch_key(change: LaunchChange) -> str:
    return f"{OWN}launch:{change.key}"


def _measure_first(change: LaunchChange, ledger: Ledger) -> Bench:
    current = ledger.current_launch
    if current is None or not current.is_original:
        raise Refusal("the server as found was not measured, and it does not run now")
    if blocked(ledger, "bench"):
        raise Refusal("the server as found was not measured, and may not be: a restart has nothing to compare with")
    why = f"how fast is it as found, to compare {change.label} with?"
    return Bench(concurrency=ledger.settings.concurrency, why=why)


def _decided(h: Hypothesis, change: LaunchChange) -> str:
    return f"{change.label} is decided without a restart: {h.id} {h.status}: {h.because}"
