"""A replay against the run that its playbook was made from: what differs, beyond noise where there is any.

Figures carry their 95 % intervals, widened by the spread between two starts: a ratio whose interval holds 1 is noise.
Versions, arguments, hardware and what checks found have no noise and must be equal. What differs in the former is set
beside what differs in the latter, the best fitting first.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from specdoctor.analysis.attribution import Arm, Part, Suspect, attribute
from specdoctor.analysis.recording import AS_FOUND, lasting
from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen
from specdoctor.core.recorded import Recorded, RecordedFigure, RecordedFinding


class FigureDivergence(Frozen):
    """One figure of a launch then and now; `ratio` in `part` is now over then."""

    launch: str
    clients: int
    prompts: str
    part: Part

    @property
    def differs(self) -> bool:
        return self.part.changed


class FindingDivergence(Frozen):
    """What a check says of a cause on one side only."""

    seen: Literal["only then", "only now"]
    finding: RecordedFinding


class OutcomeDivergence(Frozen):
    """A claim, a cause or the verdict that ended otherwise."""

    what: str
    then: str
    now: str


class Divergence(Frozen):
    """Everything that was compared. `elsewhere` are facts whose values are the same file or folder in another place.

    `facts` come with how well each fits the figures that changed, best first. `unmeasured` are recorded launches whose
    figures the replay does not have.
    """

    facts: tuple[Suspect, ...]
    elsewhere: tuple[Suspect, ...]
    figures: tuple[FigureDivergence, ...]
    findings: tuple[FindingDivergence, ...]
    outcomes: tuple[OutcomeDivergence, ...]
    unmeasured: tuple[str, ...]

    @property
    def beyond_noise(self) -> tuple[FigureDivergence, ...]:
        return tuple(f for f in self.figures if f.differs)

    @property
    def any(self) -> bool:
        """Whether anything differs that is more than noise or another place."""
        return bool(self.facts or self.beyond_noise or self.findings or self.outcomes)


def diverged(then: Recorded, now: Recorded, *, launch_sd: float) -> Divergence:
    """Compare a replay (`now`) with the record; `launch_sd` is the relative spread between two starts."""
    figures, missing = _figures(then, now, launch_sd)
    differing = _facts(then, now, launch_sd)
    moved = tuple(s for s in differing if _elsewhere(s))
    return Divergence(
        facts=tuple(s for s in differing if s not in moved),
        elsewhere=moved,
        figures=figures,
        findings=_findings(then, now),
        outcomes=_outcomes(then, now),
        unmeasured=missing,
    )


def _facts(then: Recorded, now: Recorded, launch_sd: float) -> tuple[Suspect, ...]:
    """Facts that are not equal, ranked by the figures of the server as found."""
    first, second = (_arm(run, {k: v for k, v in run.facts.items() if lasting(k, v)}) for run in (then, now))
    return attribute(first, second, launch_sd=launch_sd).suspects


def _arm(run: Recorded, facts: dict[str, str]) -> Arm:
    found = [f for f in run.figures if f.launch == AS_FOUND and not f.prompts]
    clients = min((f.clients for f in found), default=1)
    by_metric = {f.metric: f.estimate for f in found if f.clients == clients}
    return Arm(
        label=run.run,
        throughput=by_metric.get("throughput_tok_s"),
        accept_length=by_metric.get("accept_length"),
        step=by_metric.get("step_ms"),
        fingerprint=facts,
    )


def _elsewhere(fact: Suspect) -> bool:
    """Whether both values are absolute paths that end in the same name."""
    if fact.first is None or fact.second is None or not (fact.first[:1] == fact.second[:1] == "/"):
        return False
    return PurePosixPath(fact.first).name == PurePosixPath(fact.second).name


Key = tuple[str, int, str]


def _by_launch(run: Recorded) -> dict[Key, dict[str, RecordedFigure]]:
    out: dict[Key, dict[str, RecordedFigure]] = {}
    for figure in run.figures:
        out.setdefault((figure.launch, figure.clients, figure.prompts), {})[figure.metric] = figure
    return out


def _figures(then: Recorded, now: Recorded, launch_sd: float) -> tuple[tuple[FigureDivergence, ...], tuple[str, ...]]:
    before, after = _by_launch(then), _by_launch(now)
    out = tuple(
        FigureDivergence(launch=key[0], clients=key[1], prompts=key[2], part=part)
        for key in before
        for part in _parts(before[key], after.get(key, {}), launch_sd)
    )
    return out, tuple(dict.fromkeys(key[0] for key in before if key not in after))


def _parts(then: dict[str, RecordedFigure], now: dict[str, RecordedFigure], launch_sd: float) -> tuple[Part, ...]:
    def arm(label: str, figures: dict[str, RecordedFigure]) -> Arm:
        found: dict[str, Estimate] = {name: f.estimate for name, f in figures.items()}
        return Arm(
            label=label,
            throughput=found.get("throughput_tok_s"),
            accept_length=found.get("accept_length"),
            step=found.get("step_ms"),
        )

    return attribute(arm("then", then), arm("now", now), launch_sd=launch_sd).parts


def _findings(then: Recorded, now: Recorded) -> tuple[FindingDivergence, ...]:
    """By check, cause and stance; what a check that was not run now said then is no difference."""
    before = {(f.check, f.cause, f.stance): f for f in then.findings}
    after = {(f.check, f.cause, f.stance): f for f in now.findings}
    gone = [FindingDivergence(seen="only then", finding=f) for key, f in before.items() if key not in after]
    new = [FindingDivergence(seen="only now", finding=f) for key, f in after.items() if key not in before]
    return (*new, *gone)


def _outcomes(then: Recorded, now: Recorded) -> tuple[OutcomeDivergence, ...]:
    rows: list[OutcomeDivergence] = []
    after = {h.launch: h.status.value for h in now.hypotheses}
    for h in then.hypotheses:
        status = after.get(h.launch, "not tested")
        if status != h.status.value:
            rows.append(OutcomeDivergence(what=f"what {h.launch} tests", then=h.status.value, now=status))
    causes = {c.cause: f"{c.status}, {c.role.value}" for c in then.causes}
    causes_now = {c.cause: f"{c.status}, {c.role.value}" for c in now.causes}
    for cause in sorted(causes.keys() | causes_now.keys()):
        was, is_ = causes.get(cause, "not named"), causes_now.get(cause, "not named")
        if was != is_:
            rows.append(OutcomeDivergence(what=cause, then=was, now=is_))
    if then.verdict is not None and then.verdict != now.verdict:
        rows.append(OutcomeDivergence(what="verdict", then=then.verdict.value, now=str(now.verdict or "none")))
    return tuple(rows)
