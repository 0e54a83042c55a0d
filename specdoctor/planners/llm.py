"""Rules first, and a language model where a choice is left: it proposes, code checks, the rules go on where it fails.

Whatever the model answers, the rules decide as they would alone: its moves come before theirs and take nothing away
that they need. It keeps nothing in mind between turns; what was asked, used and refused is read from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, Protocol

from specdoctor.core import events as ev
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import Move, OpenHypothesis, Relaunch
from specdoctor.core.ports import Briefing, Conclusion, Planner
from specdoctor.planners.asked_launch import Refusal
from specdoctor.planners.llm_briefs import briefs, instructions, repair
from specdoctor.planners.llm_client import BudgetSpent, Message, Said
from specdoctor.planners.llm_judging import ProposalJudge
from specdoctor.planners.llm_proposals import FinishProposal, Proposal, ProposalFault, read_answer, shown
from specdoctor.planners.playbook import PlaybookPlanner
from specdoctor.planners.rival_tests import rivals_tie
from specdoctor.planners.rules import RulePlanner
from specdoctor.planners.state import explained, slower_confirmed

MOST_CALLS = 12
"""Questions in one go of a run; a model that never comes to an end is left alone after that."""
FAILED_TURNS = 2
"""Turns in a row without a usable proposal, after which the rules go on alone."""
ASIDE = "(all further ones)"


class Asker(Protocol):
    """Puts one question to a model. Raises BudgetSpent before anything is sent."""

    def ask(self, messages: Sequence[Message], *, tokens_used: int, cost_used: float) -> Said: ...


class LlmPlanner:
    """`llm` asks before every restart and before the end; `auto` only where the rules have no reason to prefer.

    `base` proposes first: the rules, unless it is another planner's steps that the model may add to.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        asker: Asker,
        *,
        checks: Sequence[str],
        mode: Literal["llm", "auto"] = "auto",
        base: Planner | None = None,
    ) -> None:
        self.name = mode
        self._mode = mode
        self._endpoint = endpoint
        self._asker = asker
        self._judge = ProposalJudge(checks=checks, commands=endpoint.show_commands)
        self._rules: Planner = base or RulePlanner(name=mode)

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """The model's accepted moves, else those of the rules."""
        moves = list(self._rules.propose(briefing))
        why = self._occasion(briefing, moves)
        if not why or not _may_ask(briefing):
            return moves
        return self._turn(briefing, moves, why) or moves

    def _occasion(self, briefing: Briefing, moves: Sequence[Move]) -> str:
        """Why the model is asked now; empty where it is not."""
        kinds = {move.kind for move in moves}
        rival = any(isinstance(m, OpenHypothesis) and m.key.startswith("rival:") and m.prediction for m in moves)
        ending = not moves or kinds & {"restore", "finish"}
        if rival and rivals_tie(briefing):
            return "rivals stand equal"
        if ending and _undecided(briefing.ledger):
            return "the rules have nothing more"
        restart = any(isinstance(m, Relaunch) and not _chosen(m, briefing.ledger) for m in moves)
        if self._mode == "llm" and (ending or rival or restart):
            return "before the rules go on"
        return ""

    def _turn(self, briefing: Briefing, rules: Sequence[Move], why: str) -> list[Move]:
        """One question, and one repair if nothing of the answer can be used."""
        engine = briefing.scene.view.engine if briefing.scene is not None else ""
        messages: list[Message] = [
            {"role": "system", "content": instructions(engine)},
            {"role": "user", "content": briefs(briefing, rules)},
        ]
        knew = _knowledge(briefing.ledger)
        for asked_because in (why, "repair"):
            try:
                said = self._asker.ask(
                    messages,
                    tokens_used=briefing.ledger.model_tokens,
                    cost_used=briefing.ledger.model_cost or 0.0,
                )
            except BudgetSpent as spent:
                briefing.tell(ev.ProposalRefused(proposal=ASIDE, why=f"budget: {spent}"))
                return []
            moves, accepted, faults = self._judged(said, briefing)
            self._told(briefing, said, asked_because, accepted, faults, knew)
            if accepted or said.error:
                break
            messages = [*messages[:2], {"role": "user", "content": repair(f.why for f in faults)}]
        if not accepted and len(_failed_turns(briefing.ledger)) >= FAILED_TURNS:
            why = f"{FAILED_TURNS} turns in a row without a usable proposal; the rules go on alone"
            briefing.tell(ev.ProposalRefused(proposal=ASIDE, why=why))
        return moves

    def _judged(self, said: Said, briefing: Briefing) -> tuple[list[Move], list[str], list[ProposalFault]]:
        """Moves, the accepted proposals as JSON, and the refusals."""
        if said.error:
            return [], [], []
        proposals, faults = read_answer(said.text)
        before = {name for call in briefing.ledger.model_calls for name in call.accepted}
        moves: list[Move] = []
        accepted: list[str] = []
        for proposal in proposals:
            try:
                if _identity(proposal) in (*before, *accepted) and proposal.do not in ("follow_rules", "finish"):
                    raise Refusal("this was proposed before, and done")
                moves += self._judge.moves(proposal, briefing)
            except Refusal as refusal:
                faults.append(ProposalFault(proposal=shown(proposal.model_dump(exclude_none=True)), why=str(refusal)))
            else:
                accepted.append(_identity(proposal))
        return _one_restart(moves), accepted, faults

    def _told(
        self,
        briefing: Briefing,
        said: Said,
        why: str,
        accepted: Sequence[str],
        faults: Sequence[ProposalFault],
        knew: str,
    ) -> None:
        """Keep what was asked and refused before anything is done about it."""
        outcome: Literal["used", "refused", "unreadable", "failed"] = "refused"
        if said.error:
            outcome = "failed"
        elif accepted:
            outcome = "used"
        elif not read_answer(said.text)[0]:
            outcome = "unreadable"
        briefing.tell(
            ev.ModelAsked(
                model=self._endpoint.model,
                why=why,
                outcome=outcome,
                prompt_tokens=said.prompt_tokens,
                completion_tokens=said.completion_tokens,
                counted=said.counted,
                cost=self._endpoint.cost(said.prompt_tokens, said.completion_tokens),
                duration_s=round(said.duration_s, 3),
                accepted=tuple(accepted),
                error=said.error,
                knew=knew,
            )
        )
        for fault in faults:
            briefing.tell(ev.ProposalRefused(proposal=fault.proposal, why=fault.why))


class AdvisedPlaybook(LlmPlanner):
    """The steps of a playbook in their order; the model is asked when they are done, before the way back."""

    def __init__(
        self,
        endpoint: Endpoint,
        asker: Asker,
        *,
        checks: Sequence[str],
        playbook: PlaybookPlanner,
        mode: Literal["llm", "auto"] = "auto",
    ) -> None:
        super().__init__(endpoint, asker, checks=checks, mode=mode, base=playbook)
        self._playbook = playbook

    def conclude(self, briefing: Briefing) -> Conclusion:
        """Whether what the playbook expects was met; the model has no part in that."""
        return self._playbook.conclude(briefing)

    def _occasion(self, briefing: Briefing, moves: Sequence[Move]) -> str:
        at_end = not self._playbook.steps_left(briefing)
        if at_end and _undecided(briefing.ledger):
            return "the playbook is at its end"
        return "before the playbook ends" if at_end and self._mode == "llm" else ""


def _identity(proposal: Proposal) -> str:
    """What a proposal comes to, whatever reason is given."""
    return json.dumps(proposal.model_dump(mode="json", exclude={"why", "evidence"}, exclude_none=True))


_FINISHED = _identity(FinishProposal(do="finish"))


def _one_restart(moves: Sequence[Move]) -> list[Move]:
    """At most one restart a turn, and nothing after it: what follows depends on how it went."""
    out: list[Move] = []
    for move in moves:
        out.append(move)
        if move.kind == "relaunch":
            break
    return out


def _chosen(move: Relaunch, ledger: Ledger) -> bool:
    """Whether a launch tests a rival: it was chosen when that was put on the list."""
    return all(ledger.hypotheses[h].key.startswith("rival:") for h in move.hypotheses if h in ledger.hypotheses)


def _undecided(ledger: Ledger) -> bool:
    """Whether a measured loss has no explanation, or a claim that was to explain it is still open."""
    left = any(h.answers != "exists" and h.status is Status.OPEN for h in ledger.hypotheses.values())
    return not explained(ledger) and (slower_confirmed(ledger) or left)


def _knowledge(ledger: Ledger) -> str:
    """A mark of the state of knowledge: the model is asked once about each. A look that measured nothing is none."""
    closed = sum(h.status is not Status.OPEN for h in ledger.hypotheses.values())
    measured = sum(m.source != "control" for m in ledger.measurements)
    return f"{measured}/{len(ledger.hypotheses)}/{closed}/{len(ledger.standing_refusals)}"


def _failed_turns(ledger: Ledger) -> list[str]:
    """The latest turns, by what was known, in which nothing could be used."""
    out: list[str] = []
    for call in reversed(ledger.model_calls_now):
        if call.outcome == "used":
            break
        if call.knew not in out:
            out.append(call.knew)
    return out


def _may_ask(briefing: Briefing) -> bool:
    """Whether a question can be worth it: something was read, and the model has neither finished nor failed."""
    ledger, scene = briefing.ledger, briefing.scene
    if scene is None or scene.view.state == "down" or not ledger.observations or ledger.settings.dry_run:
        return False
    calls = ledger.model_calls_now
    finished = any(name == _FINISHED for call in calls for name in call.accepted)
    known = any(call.knew == _knowledge(ledger) for call in calls)
    spent = any(r.proposal == ASIDE for r in ledger.proposals_refused_now)
    return not (finished or known or spent or len(calls) >= MOST_CALLS)
