"""One function accepts or refuses each move, whoever proposed it."""

from __future__ import annotations

from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen, Risk, Status
from specdoctor.core.moves import Bench, Move, OpenHypothesis, Park, Relaunch, Watch, risk_of
from specdoctor.core.resuming import budget_to_go_on
from specdoctor.core.server import Keeper


class Situation(Frozen):
    """What the policy needs to know beside the ledger: who keeps the server, and what traffic was last seen.

    `foreign_requests` is None when nobody looked yet; `own_load` names a benchmark of another run of ours that was seen
    among them. `unable` says why no program of ours runs on the host, if so.
    """

    keeper: Keeper | None = None
    foreign_requests: int | None = None
    now: float = 0.0
    unable: str = ""
    own_load: str = ""


class Accepted(Frozen):
    """The move may go on; `needs_approval` when its tier was not allowed beforehand."""

    needs_approval: bool


OWN_LOAD_STEP = "wait for its end, or end it with: specdoctor restore TARGET --run RUN"
OTHERS_STEP = "find out who does that and end it, or have it leave the server alone; then begin a new run"
MOST_CUT_OFF = 2
MOST_REFUSED_STARTS = 2
"""Once more than once: what stands in the way of a start may go by itself, as another run that just ends does."""


class Refused(Frozen):
    """The move may not go on; `final` when proposing it again cannot help in this run.

    `by_hand`: a person may do it in our place.
    """

    why: str
    next_step: str = ""
    final: bool = True
    by_hand: bool = False


def decide(move: Move, ledger: Ledger, situation: Situation) -> Accepted | Refused:
    """Accept or refuse one move by the run's rules: budget, traffic, keeper, predictions, nothing twice."""
    risk = risk_of(move)
    refused = _refusal(move, ledger, situation, risk)
    if refused is not None:
        return refused
    if move.kind == "restore":
        return Accepted(needs_approval=False)
    return Accepted(needs_approval=risk > Risk.READ and not ledger.granted(risk))


def _refusal(move: Move, ledger: Ledger, situation: Situation, risk: Risk) -> Refused | None:
    match move:
        case OpenHypothesis() if ledger.by_key(move.key) is not None:
            return Refused(why=f"{move.key} is already on the list")
        case Park() if move.hypothesis not in ledger.hypotheses:
            return Refused(why=f"no hypothesis {move.hypothesis}")
        case Relaunch() | Bench() if ledger.settings.facts_file is not None:
            return Refused(
                why="only recorded facts are at hand, no server",
                next_step="run specdoctor where it may log in, or try the line of the report by hand",
            )
        case Watch() | Bench() | Relaunch() if situation.unable:
            step = (
                "name one (interpreter = /path/to/python3 in the target's settings), or look into its container (--via)"
            )
            return Refused(why=situation.unable, next_step=step, by_hand=True)
        case Relaunch():
            return _relaunch(move, ledger, situation) or _time(ledger, situation) or _traffic(ledger, situation)
        case Bench():
            return _bench(move, ledger) or _time(ledger, situation) or _traffic(ledger, situation)
        case _:
            return None


def _relaunch(move: Relaunch, ledger: Ledger, situation: Situation) -> Refused | None:
    keeper = situation.keeper
    if keeper is None or not keeper.restartable:
        why = keeper.reason if keeper else "nothing is known about who keeps this server"
        return Refused(why=f"refused to restart: {why}", next_step=keeper.by_hand if keeper else "", by_hand=True)
    if ledger.others is not None:
        return Refused(why=f"nothing is restarted any more: {ledger.others.words}", next_step=OTHERS_STEP)
    if ledger.settled(move.change):
        return Refused(why=f"this launch was already tried ({move.change.label})")
    refused = ledger.refused_starts(move.change)
    if len(refused) >= MOST_REFUSED_STARTS:
        return Refused(why=f"the host refused {len(refused)} times to make this launch: {refused[-1].outcome.reason}")
    if ledger.cut_off(move.change) >= MOST_CUT_OFF:
        return Refused(why=f"this launch was ended {MOST_CUT_OFF} times before it was measured ({move.change.label})")
    if ledger.current_launch is not None and ledger.current_launch.key == move.change.key:
        return Refused(why=f"this launch is the one that runs now ({move.change.label})")
    tested = [ledger.hypotheses.get(h) for h in move.hypotheses]
    if not any(h is not None and h.prediction is not None and h.status is Status.OPEN for h in tested):
        return Refused(why="a restart needs an open hypothesis that predicts something")
    left = ledger.settings.max_restarts - ledger.restarts
    if left < 2:
        said = f"{ledger.restarts} of {ledger.settings.max_restarts} restarts are used"
        return Refused(
            why=f"restart budget: {said}, and one is kept for putting the original back",
            next_step=f"allow more with --resume {ledger.run} --max-restarts {budget_to_go_on(ledger)}",
        )
    return None


def _bench(move: Bench, ledger: Ledger) -> Refused | None:
    current = ledger.current_launch
    if current is None:
        return Refused(why="no server runs that could be measured")
    if current.key != move.launch_key:
        return Refused(why=f"the launch that runs now is {current.label}, not the one to be measured")
    return None


def _time(ledger: Ledger, situation: Situation) -> Refused | None:
    used_min = (situation.now - ledger.first_at) / 60.0
    if used_min <= ledger.settings.max_minutes:
        return None
    limit = ledger.settings.max_minutes
    return Refused(
        why=f"time budget: {used_min:.0f} of {limit:.0f} minutes used", next_step="allow more with --max-minutes"
    )


def _traffic(ledger: Ledger, situation: Situation) -> Refused | None:
    if situation.own_load:
        return Refused(why=f"this server is loaded by specdoctor's own {situation.own_load}", next_step=OWN_LOAD_STEP)
    if ledger.settings.with_traffic or not situation.foreign_requests:
        return None
    return Refused(
        why=f"{situation.foreign_requests} requests of others were seen on this server",
        next_step="come back when it is idle, or allow it with --with-traffic",
    )
