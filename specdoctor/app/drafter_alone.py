"""A drafter tested on stored states, without its engine: what would be accepted of it, fed with these or those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from specdoctor.core.errors import UsageError
from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen

if TYPE_CHECKING:
    from specdoctor.drafter.alone.arrays import Bools, Floats
    from specdoctor.drafter.alone.drafting import Drafting
    from specdoctor.drafter.alone.head import Head
    from specdoctor.drafter.alone.replay import Ending, Judged, Text
    from specdoctor.drafter.alone.search import Tried

SCHEMA: Literal["specdoctor.drafter-eval/1"] = "specdoctor.drafter-eval/1"
MOST_CHOICES = 5000
BEST_SHOWN = 8
MATERIAL = 0.05
"""A difference in accuracy below this is within what texts and rounding do."""
Progress = Callable[[int, int], None]


class Step(Frozen):
    """One draft position. `forced`: the text's own tokens are fed, as in training; `own`: the drafter's, as in service,
    among chains whose drafts were right so far; `marginal`: share of all chains right up to here.

    `forced_in_vocabulary` leaves out tokens that the drafter's vocabulary lacks, as trainers do. None where nothing
    could be judged.
    """

    step: int
    forced: Estimate | None
    forced_in_vocabulary: Estimate | None
    own: Estimate | None
    marginal: float | None


class Fed(Frozen):
    """What the drafter does when it is fed with these states, in this order."""

    label: str
    states: tuple[str, ...]
    accept_length: Estimate | None
    cycles: int
    accepted: int
    unjudged: int
    over_all_positions: Estimate | None
    steps: tuple[Step, ...]


class Ranked(Frozen):
    """One ordered choice of the search. `accept_length` is over all positions, which is not that in service."""

    states: tuple[str, ...]
    accept_length: float
    first_step: float


class Search(Frozen):
    """The best choices first; `lead` is how far the first is ahead of the second, over the same texts."""

    tried: int
    best: tuple[Ranked, ...]
    reaching: tuple[tuple[str, ...], ...]
    lead: Estimate | None
    clear: bool


class AsTrained(Frozen):
    """Whether the accuracy of the training is back, at the first step. `short` feedings are below it beyond doubt.

    `found` are the choices of a search that reach it, the best first, `found_of` all that were tried.
    """

    accuracy: float
    restored: tuple[str, ...]
    unclear: tuple[str, ...]
    short: tuple[str, ...]
    found: tuple[tuple[str, ...], ...] = ()
    found_of: int = 0


class EvalDocument(Frozen):
    """The whole test. `text_is_greedy` is the share of answer tokens that are the target's first choice, if known."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_id: Literal["specdoctor.drafter-eval/1"] = Field(default=SCHEMA, alias="schema")
    draft: str
    kind: Literal["eagle3", "standalone"]
    layout: str
    sequences: int
    answer_tokens: int
    states: tuple[str, ...]
    text_is_greedy: float | None
    draft_steps: int
    ending: Literal["past", "cut"]
    fed: tuple[Fed, ...]
    search: Search | None
    as_trained: AsTrained | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Feeding:
    """A label ("trained on", "captured by sglang 0.5.12") and the states that go with it."""

    label: str
    states: tuple[str, ...]


def evaluate(
    drafter: Drafting,
    texts: Sequence[Text],
    feedings: Sequence[Feeding],
    *,
    steps: int,
    ending: Ending,
    known: Bools | None,
    head: Head | None,
) -> tuple[Fed, ...]:
    """Each feeding in turn; a standalone model is fed nothing but tokens, in one row. Raises CheckpointError."""
    return tuple(
        _fed(feeding, [judge_text(drafter, head, text, feeding.states, steps, known) for text in texts], steps, ending)
        for feeding in feedings
    )


def judge_text(
    drafter: Drafting, head: Head | None, text: Text, states: tuple[str, ...], steps: int, known: Bools | None
) -> Judged:
    """All chains over one text. Raises UsageError for a state that was not stored."""
    from specdoctor.drafter.alone.replay import judge

    features: Floats | None = None
    if head is not None:
        stored_ones(text, states, "--feed")
        features = head.fusion.fused([text.states[state] for state in states])
    return judge(drafter, text, features, steps=steps, known=known)


def stored_ones(text: Text, states: Sequence[str], option: str) -> None:
    """Raises UsageError for a state that is not stored for this text."""
    missing = [state for state in states if state not in text.states]
    if missing:
        raise UsageError(
            f"{missing[0]} is not among the stored states ({', '.join(text.states)})",
            next_step=f"export it too, or name other states with {option}",
        )


def _fed(feeding: Feeding, judged: Sequence[Judged], steps: int, ending: Ending) -> Fed:
    from specdoctor.drafter.alone.replay import in_service, over_all

    served = [in_service(one, steps=steps, ending=ending) for one in judged]
    every = [over_all(one, steps=steps) for one in judged]
    return Fed(
        label=feeding.label,
        states=feeding.states,
        accept_length=accept_length([(c.name, c.histogram) for c in served], steps=steps),
        cycles=sum(c.cycles for c in served),
        accepted=sum(c.accepted for c in served),
        unjudged=sum(c.unjudged for c in served),
        over_all_positions=accept_length([(c.name, c.histogram) for c in every], steps=steps),
        steps=tuple(_step(judged, number) for number in range(steps)),
    )


def accept_length(counts: Sequence[tuple[str, tuple[int, ...]]], *, steps: int) -> Estimate | None:
    """1 + accepted / cycles of named histograms, bootstrap over sequences; bonus token included."""
    from specdoctor.analysis.pooling import pooled_accept_length, request_from_histogram

    return pooled_accept_length([request_from_histogram(h, prompt=name) for name, h in counts], steps=steps)


def _step(judged: Sequence[Judged], number: int) -> Step:
    forced, covered, own = [], [], []
    marginal, chains = 0, 0
    for one in judged:
        where = one.judged[:, number]
        forced.append((int((one.forced[:, number] & where).sum()), int(where.sum())))
        inside = where & one.covered[:, number]
        covered.append((int((one.forced[:, number] & inside).sum()), int(inside.sum())))
        before = one.right[:, :number].all(axis=1) & where
        hits = int((one.right[:, number] & before).sum())
        own.append((hits, int(before.sum())))
        marginal, chains = marginal + hits, chains + int(where.sum())
    return Step(
        step=number + 1,
        forced=share(forced, "agreement, the text's tokens fed"),
        forced_in_vocabulary=share(
            covered, "agreement where the drafter's vocabulary has the token, text's tokens fed"
        ),
        own=share(own, "agreement after right drafts only, own tokens fed"),
        marginal=marginal / chains if chains else None,
    )


def share(pairs: Sequence[tuple[int, int]], what: str) -> Estimate | None:
    """sum(right) / sum(judged) over sequences, with a bootstrap over them; None when nothing was judged."""
    from specdoctor.analysis.interval import between, from_error
    from specdoctor.analysis.stats import bootstrap_ratio

    found = bootstrap_ratio(pairs)
    if found is None:
        return None
    if found.standard_error is None:
        estimator = f"{what}; one sequence, so the interval is all that is possible"
        return between(found.value, 0.0, 1.0, "fraction", estimator=estimator, n=1)
    return from_error(
        found.value,
        found.standard_error,
        "fraction",
        estimator=f"{what}, bootstrap over {found.n} sequences",
        n=found.n,
        df=found.n - 1.0,
        floor=0.0,
        ceiling=1.0,
    )


def searched(
    head: Head,
    texts: Sequence[Text],
    names: Sequence[str],
    *,
    steps: int,
    known: Bools | None,
    trained: float | None,
    progress: Progress,
) -> Search:
    """Every ordered choice of the stored states. Raises UsageError when there are too few, or too many to try."""
    from specdoctor.drafter.alone.search import choices, search

    slots = head.fusion.slots
    if len(names) < slots:
        raise UsageError(
            f"{len(names)} states are stored, the drafter takes {slots}", next_step="export more states of the target"
        )
    total = choices(names, slots)
    if total > MOST_CHOICES:
        raise UsageError(
            f"{len(names)} stored states make {total} ordered choices of {slots}, more than {MOST_CHOICES}",
            next_step="name those in question with --states-to-try, such as embed,out(2),out(30),out(58)",
        )
    found = search(head, texts, names, steps=steps, known=known, progress=progress)
    lead = _lead(found, steps)
    return Search(
        tried=total,
        best=tuple(
            Ranked(
                states=one.states,
                accept_length=one.accept_length,
                first_step=one.first_right / one.first_judged if one.first_judged else 0.0,
            )
            for one in found[:BEST_SHOWN]
        ),
        reaching=tuple(
            one.states
            for one in found
            if trained is not None and one.first_right >= (trained - MATERIAL) * max(one.first_judged, 1)
        ),
        lead=lead,
        clear=lead is not None and lead.low > 0.0,
    )


def as_trained(accuracy: float, fed: Sequence[Fed], search: Search | None) -> AsTrained:
    """The first step's agreement of each feeding against the accuracy that the trainer reported for it.

    Trainers differ in whether tokens outside a reduced vocabulary count; the kinder reading is taken.
    """
    words: dict[str, list[str]] = {"restored": [], "unclear": [], "short": []}
    floor = accuracy - MATERIAL
    for one in fed:
        first = one.steps[0].forced_in_vocabulary or one.steps[0].forced
        if first is None or first.value < floor <= first.high:
            words["unclear"].append(one.label)
        else:
            words["restored" if first.value >= floor else "short"].append(one.label)
    return AsTrained(
        accuracy=accuracy,
        restored=tuple(words["restored"]),
        unclear=tuple(words["unclear"]),
        short=tuple(words["short"]),
        found=search.reaching if search is not None else (),
        found_of=search.tried if search is not None else 0,
    )


def _lead(found: Sequence[Tried], steps: int) -> Estimate | None:
    """How far the first choice is ahead of the second: paired differences over the same texts, in accept length."""
    from specdoctor.analysis.interval import between
    from specdoctor.analysis.refusal import Refusal
    from specdoctor.analysis.stats import paired

    if len(found) < 2:
        return None
    lengths = [[1.0 + c.accepted / c.cycles for c in one.counts if c.cycles] for one in found[:2]]
    if len(lengths[0]) != len(lengths[1]) or len(lengths[0]) < 2:
        return None
    test = paired(lengths[1], lengths[0])
    if isinstance(test, Refusal):
        return None
    return between(
        test.difference,
        test.low,
        test.high,
        "tokens/cycle",
        estimator="mean difference of accept lengths over all positions, paired t over sequences",
        n=test.n_first,
    )


def as_json(found: EvalDocument) -> dict[str, object]:
    """The JSON document."""
    return found.model_dump(mode="json", by_alias=True)
