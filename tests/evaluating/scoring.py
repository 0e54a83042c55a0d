"""What an investigation of a practice world came to, against what the world says is true."""

from __future__ import annotations

from dataclasses import dataclass

from specdoctor.app.run import Run
from specdoctor.core.conclusions import CauseNamed
from specdoctor.core.events import VerdictReached
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Role, Verdict
from specdoctor.lab.world import World


@dataclass(frozen=True)
class Score:
    """One investigation. `right`: the verdict and the explaining causes are those of the world. `grounded`: right, and
    each supported cause cites evidence of its own. `honest`: short of the truth and said to be.
    """

    verdict: str
    right: bool
    grounded: bool
    honest: bool
    restarts: int
    within_budget: bool
    calls: int
    tokens: int
    cost: float | None
    refused: int
    key: tuple[object, ...]
    """What must be the same with and without a model: verdict, causes, recommended launch."""


def scored(run: Run, world: World) -> Score:
    """Judge a finished run."""
    ledger, reached = run.ledger, run.ledger.verdict
    assert reached is not None
    right = is_right(reached, world)
    endpoint = ledger.settings.endpoint
    tokens_left = endpoint is None or ledger.model_tokens <= endpoint.max_tokens
    return Score(
        verdict=reached.verdict.value,
        right=right,
        grounded=right and all(is_grounded(c, ledger) for c in reached.causes if c.status == "supported"),
        honest=reached.verdict is Verdict.NOT_ENOUGH_EVIDENCE and not right,
        restarts=ledger.restarts,
        within_budget=tokens_left and ledger.restarts <= ledger.settings.max_restarts,
        calls=len(ledger.model_calls),
        tokens=ledger.model_tokens,
        cost=ledger.model_cost if ledger.model_calls else None,
        refused=len(ledger.proposals_refused),
        key=outcome_key(reached),
    )


def outcome_key(reached: VerdictReached) -> tuple[object, ...]:
    """Without ids of evidence and sampled figures, which shift when a model looked on once more."""
    advice = reached.recommendation
    causes = tuple((c.cause, c.status, c.role) for c in reached.causes)
    return reached.verdict, causes, advice and (advice.launch, advice.rollback, advice.basis)


def is_right(reached: VerdictReached, world: World) -> bool:
    """The verdict of the world, and of its causes exactly those that explain."""
    if reached.verdict is not world.truth.verdict:
        return False
    found = {c.cause for c in reached.causes if c.status == "supported" and c.role is Role.EXPLAINS}
    return reached.verdict is not Verdict.CAUSE or found == {
        c.id for c in world.truth.causes if c.role is Role.EXPLAINS
    }


def is_grounded(cause: CauseNamed, ledger: Ledger) -> bool:
    """Whether it cites recorded evidence, some of it that of a check or of a decided claim on this very cause."""
    own = {o.evidence for o in ledger.observations if o.observation.cause == cause.cause}
    own |= {e for h in ledger.hypotheses.values() if h.cause == cause.cause for e in h.evidence}
    cited = set(cause.evidence)
    return bool(cited & own) and cited <= set(ledger.evidence)
