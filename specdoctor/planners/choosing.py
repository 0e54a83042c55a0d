"""Which experiment tells most for a minute of the GPU's time: expected information over rivals with priors.

A prior is the cause's weight among its rivals: how many public reports the knowledge base counts for it, more where a
check supports it, more where earlier runs named it, nothing once evidence falsified it; a share stays for a cause that
nobody named. The weights below are heuristics.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from specdoctor.core.choice import Choice, ExperimentOption
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.knowledge.table import CAUSES
from specdoctor.planners.experiments import Experiment

UNKNOWN_SHARE = 0.2
"""For a cause that is not on the list."""
SUPPORTED_TIMES = 4.0
"""A fault that is there is so much likelier to matter than one that only could be."""
NAMED_TIMES = 0.5
"""How much each earlier verdict adds to the weight of the cause it named, relative to itself."""
MOST_NAMED = 4
START_MIN, BENCH_MIN = 4.0, 1.0
"""Taken where this run has started or measured nothing yet, and no log shows a start."""
RISK_TIMES = 2.0
"""A minute of a restart, in which nobody is served, counts so many minutes of load."""
VERDICTS = "verdicts on record"
"""The source of the evidence that holds which causes earlier runs named."""


def entropy(p: float) -> float:
    """Bits that a yes or no tells which is expected with probability `p`."""
    return 0.0 if p <= 0.0 or p >= 1.0 else -p * math.log2(p) - (1.0 - p) * math.log2(1.0 - p)


def priors(ledger: Ledger, causes: Iterable[str | None]) -> dict[str | None, float]:
    """How likely each of these rivals is; together they leave `UNKNOWN_SHARE`."""
    weights = {cause: _weight(ledger, cause) for cause in dict.fromkeys(causes)}
    total = sum(weights.values())
    return {cause: (1.0 - UNKNOWN_SHARE) * w / total if total else 0.0 for cause, w in weights.items()}


def _weight(ledger: Ledger, cause: str | None) -> float:
    known = CAUSES.get(cause or "")
    weight = 1.0 + (known.reports if known is not None else 0)
    stances = {o.stance for o in ledger.observed(cause)} if cause is not None else set()
    weight *= SUPPORTED_TIMES if "supports" in stances else 1.0
    weight *= 1.0 + NAMED_TIMES * min(_named_before(ledger, cause), MOST_NAMED)
    gone = [h for h in ledger.hypotheses.values() if h.cause == cause and h.answers == "explains"]
    return 0.0 if cause is not None and any(h.status is Status.FALSIFIED for h in gone) else weight


def _named_before(ledger: Ledger, cause: str | None) -> int:
    record = next((e.data for e in ledger.evidence.values() if e.source == VERDICTS), {})
    found = record.get(cause or "", 0)
    return int(found) if isinstance(found, int | float) else 0


def ranked(
    ledger: Ledger, experiments: Sequence[Experiment], beside: Sequence[OpenHypothesis] = ()
) -> list[tuple[Experiment, ExperimentOption]]:
    """Experiments with what each is expected to tell, the most for a minute first; equal ones keep their order.

    `beside` are rivals with a test that are not on the list yet: they have their share of the priors.
    """
    tested = [_tested(ledger, e) for e in experiments]
    explaining = [h.cause for h in tested if h is not None and h.answers == "explains"]
    told = priors(ledger, [*explaining, *(claim.cause for claim in beside)])
    out = []
    for experiment, hypothesis in zip(experiments, tested, strict=True):
        explains = hypothesis is not None and hypothesis.answers == "explains"
        by_person = ledger.priors_set.get(hypothesis.id) if hypothesis is not None else None
        prior = told[hypothesis.cause] if hypothesis is not None and explains else _own(hypothesis)
        prior = prior if by_person is None else by_person
        out.append((experiment, _option(ledger, experiment, hypothesis, prior)))
    return sorted(out, key=lambda pair: -pair[1].per_minute)


def option_of(ledger: Ledger, *, launch: str, tests: str, cause: str | None, prior: float) -> ExperimentOption:
    """A launch that tests this; its cost is that of a start and a benchmark here."""
    start, load = _mean_min(ledger, "relaunch"), _mean_min(ledger, "bench")
    if start is None:
        logged_s = ledger.server.start_s if ledger.server is not None else None
        start = START_MIN if logged_s is None else logged_s / 60.0
    cost = RISK_TIMES * start + (BENCH_MIN if load is None else load)
    return ExperimentOption(
        launch=launch,
        tests=tests,
        cause=cause,
        prior=round(prior, 4),
        bits=round(entropy(prior), 4),
        minutes=round(cost, 2),
    )


def _option(ledger: Ledger, experiment: Experiment, hypothesis: Hypothesis | None, prior: float) -> ExperimentOption:
    return option_of(
        ledger,
        launch=experiment.change.label,
        tests=hypothesis.id if hypothesis is not None else " ".join(experiment.hypotheses),
        cause=hypothesis.cause if hypothesis is not None else None,
        prior=prior,
    )


def _tested(ledger: Ledger, experiment: Experiment) -> Hypothesis | None:
    return next((ledger.hypotheses[h] for h in experiment.hypotheses if h in ledger.hypotheses), None)


def _own(hypothesis: Hypothesis | None) -> float:
    return hypothesis.prior if hypothesis is not None else 0.5


def _mean_min(ledger: Ledger, what: str) -> float | None:
    took = [
        a.ended.duration_s / 60.0
        for a in ledger.actions.values()
        if a.started.what == what and a.ended is not None and a.ended.outcome == "done" and a.started.risk > Risk.READ
    ]
    return sum(took) / len(took) if took else None


def choice_of(
    ledger: Ledger, experiments: Sequence[Experiment], chosen: Experiment, beside: Sequence[OpenHypothesis] = ()
) -> Choice:
    """The choice as it is written down: what was chosen, and the rest by what it would tell."""
    rows = ranked(ledger, experiments, beside)
    first = [option for experiment, option in rows if experiment is chosen]
    others = [option for experiment, option in rows if experiment is not chosen]
    causes = [o.cause for o in (*first, *others)]
    told = priors(ledger, [*causes, *(claim.cause for claim in beside)])
    others += [_rival(ledger, claim, told[claim.cause]) for claim in beside if claim.prediction is not None]
    hypothesis = _tested(ledger, chosen)
    forced = ""
    if hypothesis is not None and hypothesis.answers == "symptom":
        forced = "what the others have to bring is measured against it"
    elif chosen.change.repeats:
        forced = "a difference between equal starts would be in every other comparison"
    elif ledger.priors_set:
        forced = "a person said what is likely"
    elif first and any(option.per_minute > first[0].per_minute for option in others):
        forced = "what was read is tested before what only could be"
    return Choice(options=(*first, *others), forced=forced)


def _rival(ledger: Ledger, claim: OpenHypothesis, prior: float) -> ExperimentOption:
    assert claim.prediction is not None
    return option_of(ledger, launch=claim.prediction.under_label, tests="a rival", cause=claim.cause, prior=prior)


def next_experiment(ledger: Ledger, experiments: Sequence[Experiment]) -> Experiment:
    """The one to make: the first where its outcome is what the others are judged by, else the one that tells most.

    Only experiments of one kind change places; a fault that was read is tested before what only could be. What a person
    ranked stays as they ranked it.
    """
    first = experiments[0]
    hypothesis = _tested(ledger, first)
    if ledger.priors_set or first.change.repeats or (hypothesis is not None and hypothesis.answers == "symptom"):
        return first
    alike = list(itertools.takewhile(lambda e: _kind(ledger, e) == _kind(ledger, first), experiments))
    return ranked(ledger, alike)[0][0]


def _kind(ledger: Ledger, experiment: Experiment) -> str:
    """Experiments of one kind may change places: faults that were read, rivals that could be, all else."""
    hypothesis = _tested(ledger, experiment)
    kind = hypothesis.key.partition(":")[0] if hypothesis is not None else ""
    return f"{kind}, other software" if experiment.change.other_software else kind
