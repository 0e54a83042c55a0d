"""Proposals of a language model against the ledger and the policy: each becomes a move, or a refusal with its reason.

What a model opens can never name a cause in the verdict by itself: a cause goes on the list as the rules would put it
there, with the prediction of the check that suggests it, and a claim of its own only asks whether something is so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from specdoctor.analysis.symptom import read_symptom
from specdoctor.core.faults import unknown_word
from specdoctor.core.model import Status
from specdoctor.core.moves import Bench, Move, Note, OpenHypothesis, Park, Relaunch, Watch
from specdoctor.core.policy import Refused, decide
from specdoctor.core.ports import Briefing
from specdoctor.knowledge.table import CAUSES
from specdoctor.planners.asked_launch import Refusal, change_of, prediction_of
from specdoctor.planners.choosing import choice_of
from specdoctor.planners.experiments import Experiment, pending_experiments
from specdoctor.planners.launch_tests import launch_and_bench
from specdoctor.planners.llm_proposals import (
    AskProposal,
    CheckProposal,
    FinishProposal,
    FollowProposal,
    OpenProposal,
    ParkProposal,
    Proposal,
    RelaunchProposal,
    words,
)
from specdoctor.planners.rival_tests import rival_claims
from specdoctor.planners.state import benched, explained, slower_confirmed

OWN = "model:"
"""How the keys of a model's own hypotheses begin."""
MOST_OPEN = 4
MOST_QUESTIONS = 3
_EVIDENCE = re.compile(r"\bE\d+\b")


class ProposalJudge:
    """Turns proposals into moves. `checks` are the names in the catalogue; `commands`: may a command be shown?"""

    def __init__(self, *, checks: Sequence[str], commands: bool = False) -> None:
        self._checks = tuple(checks)
        self._commands = commands

    def moves(self, proposal: Proposal, briefing: Briefing) -> list[Move]:
        """The moves that a proposal comes to, none for those that leave it to the rules. Raises Refusal."""
        _cited(proposal, briefing)
        move = self._move(proposal, briefing)
        if move is None:
            return []
        outcome = decide(move, briefing.ledger, briefing.situation)
        if isinstance(outcome, Refused):
            raise Refusal(outcome.why)
        return [move]

    def _move(self, proposal: Proposal, briefing: Briefing) -> Move | None:
        match proposal:
            case OpenProposal(cause=str()):
                return _cause(proposal, briefing)
            case OpenProposal():
                return _claim(proposal, briefing)
            case CheckProposal():
                return self._check(proposal, briefing)
            case RelaunchProposal():
                return _relaunch(proposal, briefing)
            case ParkProposal():
                return _park(proposal, briefing)
            case AskProposal():
                return self._question(proposal, briefing)
            case FollowProposal() | FinishProposal():
                return None

    def _check(self, proposal: CheckProposal, briefing: Briefing) -> Move:
        ledger, why = briefing.ledger, f"the model: {words(proposal.why)}"
        if proposal.check == "watch":
            return Watch(seconds=proposal.seconds or ledger.settings.watch_s, why=why)
        if proposal.check == "bench":
            current, clients = ledger.current_launch, proposal.concurrency or ledger.settings.concurrency
            if current is None:
                raise Refusal("no server runs that could be measured")
            if benched(ledger, current.key, clients):
                raise Refusal(f"{current.label} was measured with {clients} clients already")
            return Bench(launch_key=current.key, concurrency=clients, why=why)
        if proposal.check not in self._checks:
            raise Refusal(unknown_word("check", words(proposal.check), ["watch", "bench", *self._checks]))
        said = [o for o in ledger.observations if o.observation.check == proposal.check]
        told = ", ".join(f"{o.observation.stance} {o.evidence}" for o in said[-3:]) or "it had nothing to say"
        raise Refusal(f"{proposal.check} has judged what was read, and nothing was read since: {told}")

    def _question(self, proposal: AskProposal, briefing: Briefing) -> Move:
        text = f"the model asks: {words(proposal.question)}"
        asked = [n for n in briefing.ledger.notes if n.text.startswith("the model asks: ")]
        if proposal.command and not self._commands:
            raise Refusal("commands are not passed on to the person: that is off")
        if len(asked) >= MOST_QUESTIONS or any(n.text == text for n in asked):
            raise Refusal("it was asked already, or too much was asked")
        command = words(proposal.command or "")
        return Note(text=f"{text} {command}".strip(), lines=(command,) if command else ())


def _cited(proposal: Proposal, briefing: Briefing) -> None:
    said = " ".join(str(v) for k, v in proposal if k in ("claim", "why", "question") and v)
    missing = {e for e in (*proposal.evidence, *_EVIDENCE.findall(said)) if e not in briefing.ledger.evidence}
    if missing:
        raise Refusal(f"{', '.join(sorted(missing)[:5])} is not recorded; cite what stands in the briefs, or nothing")


def _cause(proposal: OpenProposal, briefing: Briefing) -> OpenHypothesis:
    """A known cause: with the test of the check that suggests it, else as a question with what would decide it."""
    ledger, scene = briefing.ledger, briefing.scene
    cause = CAUSES.get(proposal.cause or "")
    if cause is None:
        raise Refusal(unknown_word("cause", words(proposal.cause or ""), list(CAUSES)))
    if scene is not None and scene.view.engine not in {str(e) for e in cause.engines}:
        raise Refusal(f"{cause.id} is none of {scene.view.engine}")
    if proposal.prediction is not None:
        raise Refusal(f"the prediction of {cause.id} comes from its check; leave it out, or claim without a cause")
    listed = next((h for h in ledger.hypotheses.values() if h.cause == cause.id), None)
    if listed is not None:
        raise Refusal(f"{cause.id} is on the list: {listed.id}, {listed.status}")
    against = next(
        (o for o in ledger.observations if _speaks(o.observation.cause, o.observation.stance, cause.id)), None
    )
    if against is not None:
        raise Refusal(f"{cause.id} is excluded by {against.observation.check} ({against.evidence})")
    tested = next((claim for claim in rival_claims(briefing) if claim.cause == cause.id), None)
    if tested is not None and (not slower_confirmed(ledger) or explained(ledger)):
        raise Refusal(f"{cause.id} can be tested here once a loss is measured that nothing explains")
    if tested is not None:
        return tested
    if ledger.by_key(f"{OWN}{cause.id}") is not None:
        raise Refusal(f"{cause.id} is on the list already, as a question")
    _room(briefing)
    return OpenHypothesis(
        key=f"{OWN}{cause.id}",
        cause=None,
        claim=f"{cause.id}, {cause.title} (the model: {words(proposal.claim or proposal.why)})",
        answers="exists",
        priority="low",
        decides=f"{cause.id}, named by the model: {cause.check}",
        todo=((cause.check, "low"),),
        why="proposed by the model; no check here can tell",
    )


def _speaks(cause: str | None, stance: str, wanted: str) -> bool:
    return cause == wanted and stance == "refutes"


def _claim(proposal: OpenProposal, briefing: Briefing) -> OpenHypothesis:
    """A claim of the model's own: asks whether what it predicts is so, before anybody measured it."""
    if not proposal.claim.strip() or proposal.prediction is None:
        raise Refusal("a claim without a cause needs words and a prediction")
    foretold, ledger = proposal.prediction, briefing.ledger
    change = change_of(foretold.launch, briefing)
    clients = ledger.settings.concurrency
    known = ledger.measured(change.key, concurrency=clients)
    if known is not None:
        raise Refusal(f"{change.label} is measured already ({known.evidence}); a prediction comes before its test")
    _room(briefing)
    claim = words(proposal.claim)
    mark = hashlib.sha256(f"{claim.lower()} {change.key}".encode()).hexdigest()[:10]
    return OpenHypothesis(
        key=f"{OWN}{mark}",
        cause=None,
        claim=f"{claim} (the model)",
        answers="exists",
        prediction=prediction_of(
            change,
            briefing,
            metric=foretold.metric,
            op=foretold.op,
            value=foretold.value,
            value_from="by the model",
        ),
        decides=f"launch {change.label} and benchmark it",
        todo=launch_and_bench(change.label, "medium"),
        why=f"the model: {words(proposal.why)}",
    )


def _room(briefing: Briefing) -> None:
    own = [h for h in briefing.ledger.hypotheses.values() if h.key.startswith(OWN) and h.status is Status.OPEN]
    if len(own) >= MOST_OPEN:
        raise Refusal(f"{MOST_OPEN} hypotheses of yours are open; settle or park one first")


def _relaunch(proposal: RelaunchProposal, briefing: Briefing) -> Relaunch:
    """A restart for an open hypothesis, with no other launch than the one it predicts something of."""
    ledger = briefing.ledger
    h = ledger.hypotheses.get(proposal.hypothesis)
    if h is None or h.status is not Status.OPEN or h.prediction is None:
        raise Refusal(f"{words(proposal.hypothesis)} is no open hypothesis with a prediction")
    if ledger.measured("original", concurrency=ledger.settings.concurrency) is None:
        raise Refusal("the server as found is not measured yet; measure before a restart")
    pending = pending_experiments(briefing, read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency))
    listed = next((e for e in pending if h.id in e.hypotheses), None)
    change = listed.change if listed is not None else change_of(proposal.launch, briefing)
    if change.key != h.prediction.under or change.is_original:
        raise Refusal(f"{h.id} predicts something of another launch: {h.prediction.under_label}")
    others = {e.change.key for e in pending} - {change.key}
    left = ledger.settings.max_restarts - ledger.restarts
    if listed is None and left < len(others) + 2:
        raise Refusal(f"{left} restarts are left: the tests of the rules and the way back need them")
    chosen = listed or Experiment(change=change, hypotheses=(h.id,), why="")
    choice = choice_of(ledger, [chosen, *(e for e in pending if e is not chosen)], chosen, rival_claims(briefing))
    return Relaunch(change=change, hypotheses=(h.id,), why=f"the model: {words(proposal.why)}", choice=choice)


def _park(proposal: ParkProposal, briefing: Briefing) -> Park:
    h = briefing.ledger.hypotheses.get(proposal.hypothesis)
    if h is None or h.status is not Status.OPEN:
        raise Refusal(f"{words(proposal.hypothesis)} is no open hypothesis")
    if not h.key.startswith(OWN):
        raise Refusal(f"{h.id} is not yours; evidence decides it")
    return Park(hypothesis=h.id, why=f"the model: {words(proposal.why)}")
