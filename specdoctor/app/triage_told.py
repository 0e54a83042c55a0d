"""Figures that a person typed, in the symptom or in notes: shown as such, reckoned with, never taken for read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from specdoctor.analysis.bounds import bound_same_steps
from specdoctor.analysis.cycle import estimated_cycle
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import exact
from specdoctor.analysis.symptom import UNITS, Symptom, filled_roles, read_symptom
from specdoctor.app.triage_fact import Fact
from specdoctor.core.hypothesis import Claim
from specdoctor.core.material import Material
from specdoctor.core.model import Frozen
from specdoctor.core.server import SpecSetting

MOST_SHOWN = 12
_MOST_PROSE = 4000


class ToldFigure(Frozen):
    """A figure as typed. `where` is "symptom" or the file and line; `role` says of which side it is."""

    metric: str
    value: float
    unit: str
    role: str
    quote: str
    where: str


def complaint_of(symptom: str, material: Material) -> Symptom:
    """The symptom; where none was typed, the prose of notes that complain of something or give figures.

    The figures of notes count as claims in either case.
    """
    typed = read_symptom(symptom)
    noted = tuple(claim for claim, _ in _noted(material))
    if not symptom.strip() and noted:
        prose = "\n".join(line for notes in material.notes if notes.figures for line in notes.lines)[:_MOST_PROSE]
        typed = read_symptom(prose)
    known = {(c.metric, c.role) for c in typed.claims} if symptom.strip() else set()
    claims = (*(typed.claims if symptom.strip() else ()), *(c for c in noted if (c.metric, c.role) not in known))
    return typed.model_copy(update={"claims": claims})


def told_figures(symptom: str, material: Material, named: Mapping[str, str]) -> tuple[ToldFigure, ...]:
    """Every figure once, those of the symptom first."""
    found = [(claim, "symptom") for claim in read_symptom(symptom).claims]
    found += [(claim, f"{named.get(file, file)}:{line}") for claim, (file, line) in _noted(material)]
    out: dict[tuple[str, str, float], ToldFigure] = {}
    for claim, where in found:
        told = ToldFigure(
            metric=claim.metric,
            value=claim.value,
            unit=UNITS[claim.metric],
            role=claim.role,
            quote=claim.text,
            where=where,
        )
        out.setdefault((told.metric, told.role, told.value), told)
    return tuple(out.values())[:MOST_SHOWN]


def _noted(material: Material) -> Iterator[tuple[Claim, tuple[str, int]]]:
    """The figures of notes with their places; a role that one line does not give is what the others leave."""
    for notes in material.notes:
        plain = [f for f in notes.figures if f.metric in UNITS and f.role != "published"]
        claims = [
            Claim.model_validate({"metric": f.metric, "value": f.value, "role": f.role, "text": f.source.quote})
            for f in plain
        ]
        for claim, figure in zip(filled_roles(claims), plain, strict=True):
            yield claim, (figure.source.where, figure.source.line or 1)


def typed_sums(symptom: Symptom, facts: Mapping[str, Fact], spec: SpecSetting | None) -> tuple[str, ...]:
    """What follows from typed figures where the files give no gain of their own; several of one kind say nothing."""
    if "speedup" in facts:
        return ()
    now, base = (_only(symptom.claims, "throughput_tok_s", role) for role in ("with speculation", "baseline"))
    speeds = {c.value for c in symptom.claims if c.metric == "throughput_tok_s" and c.role == "with speculation"}
    if base is None and "regression" in symptom.complaints and len(speeds) == 2:
        now, base = min(speeds), max(speeds)
    length = _only(symptom.claims, "accept_length", "with speculation")
    out: list[str] = []
    alone = "measured_at_running_requests" not in facts or facts["measured_at_running_requests"].value == 1
    read = facts["throughput_tok_s"].value if "throughput_tok_s" in facts and alone else None
    if base and now is None and isinstance(read, int | float) and "regression" not in symptom.complaints:
        out.append(f"{read:g} tok/s, as read, is {read / base:.2f} times the {base:g} tok/s without speculation")
    if now and base:
        side = "told of before" if "regression" in symptom.complaints else "without speculation"
        out.append(f"{now:g} tok/s is {now / base:.2f} times the {base:g} tok/s {side}")
    if now and length and length >= 1.0 and symptom.clients == 1 and "regression" not in symptom.complaints:
        out += _cycle(now, base, length, spec)
    return tuple(f"{text}, if the figures are as typed" for text in out)


def _cycle(now: float, base: float | None, length: float, spec: SpecSetting | None) -> Iterator[str]:
    try:
        cycle = estimated_cycle(exact(length, "tokens/cycle"), exact(now, "tok/s"))
    except FigureError:
        return
    text = f"{length:g} tokens at {now:g} tok/s are a cycle of {cycle.value:.1f} ms"
    if base:
        text += f", {base * length / now:.2f} baseline steps: it pays above {base * length / now:.2f} tokens a cycle"
    steps = spec.draft_steps if spec is not None and spec.on and spec.topk == 1 else 0
    if base and steps:
        bound = bound_same_steps(steps=steps, cycle=cycle, baseline=exact(base, "tok/s"))
        most = f"{steps} draft step{'s' if steps > 1 else ''} {'give' if steps > 1 else 'gives'} at most {steps + 1}"
        text += f", and {most}" + (": it can never pay at this cycle" if bound.payoff == "never" else "")
    yield text


def _only(claims: Sequence[Claim], metric: str, role: str) -> float | None:
    """The one value of a metric in a role; None for none, for several, or beside one whose role is not known."""
    values = {c.value for c in claims if c.metric == metric and c.role in (role, "unknown")}
    return values.pop() if len(values) == 1 else None
