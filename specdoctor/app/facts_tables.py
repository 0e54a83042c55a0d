"""Facts of measured tables: the row of the launch under study beside its baseline, and the best row of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from specdoctor.analysis.measured_rows import Arm, accept_length_of, arms, ms_per_token, own_rows, setting_of
from specdoctor.app.triage_fact import Fact
from specdoctor.app.triage_servers import EARLIER, mark_of
from specdoctor.core.material import Row
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, SpecSetting

_TOTAL = re.compile(r"total[_ ](?:num[_ ])?(?:output|generated)[_ ]tokens", re.IGNORECASE)


def table_facts(scene: Scene) -> Iterator[Fact]:
    """Figures of the arm that the launch line asks for (or of the only one), at the lowest load that was measured."""
    arm = chosen(scene)
    if arm is not None:
        yield from _arm_facts(arm)
    else:
        base = min((r for r in own_rows(scene) if r.speculative is False), key=_load, default=None)
        if base is not None:
            yield from _base_facts([base])
    yield from _best(scene)
    yield from _output_ratio(scene)


def chosen(scene: Scene) -> Arm | None:
    """The measured arm of the launch under study; None where no row can be of it."""
    spec = scene.view.spec or scene.view.asked_spec
    found = [arm for arm in arms(scene) if _fits(arm.row, spec)]
    return min(
        found,
        key=lambda a: (_of_earlier(a.row), _started_otherwise(a.row, scene.view), a.base is None, _load(a.row)),
        default=None,
    )


def _started_otherwise(row: Row, view: ServerView) -> int:
    """How many columns name an argument that the launch line gives another value."""
    asked = {key: value.lower() for key, value in view.asked.items()}
    named = {re.sub(r"[^a-z0-9]+", "_", head.lower()).strip("_"): cell.lower() for head, cell in row.columns.items()}
    return sum(1 for key, cell in named.items() if key in asked and cell.strip() not in ("", asked[key]))


def _fits(row: Row, spec: SpecSetting | None) -> bool:
    """Whether a row can be of that setting: what it says of itself is the same."""
    if spec is None or not spec.on:
        return True
    steps, topk, tokens = setting_of(row)
    wanted = ((steps, spec.draft_steps), (topk, spec.topk), (tokens, spec.draft_tokens))
    return all(said is None or not meant or said == meant for said, meant in wanted)


def _of_earlier(row: Row) -> bool:
    return bool(EARLIER.search(mark_of(row.source.where)))


def _load(row: Row) -> tuple[float, float, float]:
    return (row.concurrency or 1.0, row.request_rate or 0.0, row.input_tokens or row.position_from or 0.0)


def _arm_facts(arm: Arm) -> Iterator[Fact]:
    row, base = arm.row, arm.base
    yield from acceptance_of(row)
    users = row.concurrency or 1.0
    token = ms_per_token(row)
    if row.throughput_tok_s is not None:
        yield Fact(name="throughput_tok_s", value=row.throughput_tok_s, estimator="as tabled", sources=(row.source,))
    elif token is not None and row.request_rate is None:
        words = f"{users:g} / time per output token"
        yield Fact(
            name="throughput_tok_s", value=round(1000 * users / token, 4), estimator=words, sources=(row.source,)
        )
    if arm.step_ms is not None:
        words = f"accept length * time per token of a request, {users:g} at a time"
        yield Fact(name="step_ms", value=round(arm.step_ms, 4), estimator=words, sources=(row.source,))
    yield from _base_facts([base] if base is not None else [])
    if arm.speedup is not None:
        words = "ratio of the time per token"
        yield Fact(name="speedup", value=round(arm.speedup, 4), estimator=words, sources=arm.sources)
    if arm.step_ratio is not None:
        words = "accept length / speed-up"
        yield Fact(name="step_ratio", value=round(arm.step_ratio, 4), estimator=words, sources=arm.sources)
        words = "the cycle in baseline steps"
        yield Fact(
            name="break_even_accept_length", value=round(arm.step_ratio, 4), estimator=words, sources=arm.sources
        )


def acceptance_of(row: Row) -> Iterator[Fact]:
    """What a row tells of acceptance: counts before the printed share."""
    place = (row.source,)
    length = accept_length_of(row)
    if length is not None:
        words = "as tabled" if row.accept_length is not None else "from the row's counts"
        yield Fact(name="accept_length", value=round(length, 4), estimator=words, sources=place)
    if row.drafted_tokens and row.accepted_tokens is not None:
        words = f"{row.accepted_tokens:g} accepted of {row.drafted_tokens:g} drafted tokens"
        share = row.accepted_tokens / row.drafted_tokens
        yield Fact(name="draft_acceptance_rate", value=round(share, 4), estimator=words, sources=place)
    if row.per_position:
        yield Fact(name="per_position_acceptance", value=list(row.per_position), estimator="as printed", sources=place)


def _base_facts(rows: Sequence[Row]) -> Iterator[Fact]:
    for base in rows:
        users = base.concurrency or 1.0
        token = ms_per_token(base)
        place = (base.source,)
        if base.throughput_tok_s is not None:
            yield Fact(name="baseline_tok_s", value=base.throughput_tok_s, estimator="as tabled", sources=place)
        elif token is not None and base.request_rate is None:
            words = f"{users:g} / time per output token"
            yield Fact(name="baseline_tok_s", value=round(1000 * users / token, 4), estimator=words, sources=place)
        if token is not None:
            words = f"time per token of a request, {users:g} at a time"
            yield Fact(name="baseline_step_ms", value=round(token, 4), estimator=words, sources=place)


def _best(scene: Scene) -> Iterator[Fact]:
    """The best row of a sweep over draft steps at one load, where several steps were measured."""
    rows = [r for r in own_rows(scene) if r.speculative and r.draft_steps and ms_per_token(r) is not None]
    loads = sorted({_load(row) for row in rows})
    for load in loads:
        same = [row for row in rows if _load(row) == load and row.prompt == rows[0].prompt]
        if len({row.draft_steps for row in same}) < 2:
            continue
        best = min(same, key=lambda row: ms_per_token(row) or 0.0)
        words = f"lowest time per token of {len(same)} rows"
        yield Fact(name="best_draft_steps", value=best.draft_steps, estimator=words, sources=(best.source,))


def _output_ratio(scene: Scene) -> Iterator[Fact]:
    """Tokens of all answers with speculation (or of the newer run) over those without (or of the reference)."""
    totals: list[tuple[Row, float]] = []
    for row in own_rows(scene):
        cell = next((v for k, v in row.columns.items() if _TOTAL.fullmatch(k.strip())), None)
        if cell is not None and cell.replace(".", "", 1).isdigit():
            totals.append((row, float(cell)))
    new = next(((r, n) for r, n in totals if r.speculative and not _of_earlier(r)), None)
    old = next(((r, n) for r, n in totals if r.speculative is False or _of_earlier(r)), None)
    if new is not None and old is not None and old[1] > 0:
        words = "all output tokens / those of the run that it is compared with"
        place = (new[0].source, old[0].source)
        yield Fact(name="output_tokens_ratio", value=round(new[1] / old[1], 4), estimator=words, sources=place)
