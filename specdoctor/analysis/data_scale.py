"""What more training data would bring: two readings that disagree, both given, none chosen.

Within one recipe a doubling of the samples adds 0.02 to 0.10 to the accept length (about 0.05), seen above 300,000
samples at three draft steps. The other reading is a straight line in log2(samples) through one's own drafter and a
published one of another recipe. Both are extrapolations; a learning curve on parts of the data at hand is none.
"""

from __future__ import annotations

import math
from typing import Literal

from specdoctor.analysis.figure import FigureError, accept_length, draft_steps, positive
from specdoctor.core.model import Frozen

PER_DOUBLING = (0.02, 0.05, 0.10)
"""Gain of accept length by one doubling within one recipe: least, usual, most."""
SEEN_ABOVE_SAMPLES = 300_000
SURE_DOUBLINGS = 2.0
FIRST_ADVICE = (
    "train once on a quarter, once on half and once on all of the data at hand, everything else equal: the accept "
    "lengths of the three are the learning curve of this recipe"
)


class Drafter(Frozen):
    """A drafter by its data: `samples` conversations, accept length (bonus token included) at `steps` draft steps."""

    samples: float
    accept_length: float
    steps: int


class Published(Frozen):
    """A published drafter of another recipe; its accept length is known as a range."""

    samples: float
    low: float
    high: float
    steps: int


ANOTHER_RECIPE = Published(samples=1_400_000, low=3.2, high=3.5, steps=3)


class Reading(Frozen):
    """An accept length as a range, how it comes about, and what speaks against it."""

    by: Literal["doublings within a recipe", "line through two drafters"]
    low: float
    high: float
    middle: float
    caveats: tuple[str, ...]


class Scale(Frozen):
    """What `samples` would give. `choice` says why neither reading is preferred, empty where one alone is fit."""

    samples: float
    doublings: float
    readings: tuple[Reading, ...]
    choice: str
    advice: str = FIRST_ADVICE


def scale(own: Drafter, samples: float, *, published: Published = ANOTHER_RECIPE) -> Scale:
    """Accept length to expect from `samples` instead of the drafter's own. Raises FigureError."""
    _possible(own)
    doublings = math.log2(positive("samples", samples) / own.samples)
    within, line = _within(own, doublings), _line(own, doublings, published)
    near = abs(doublings) <= SURE_DOUBLINGS and min(own.samples, samples) >= SEEN_ABOVE_SAMPLES
    choice = "" if near else _why_no_choice(own, samples, doublings)
    return Scale(samples=samples, doublings=doublings, readings=(within,) if near else (within, line), choice=choice)


class Budget(Frozen):
    """Samples for a wished accept length by each reading, and what generating them takes; None beyond any reach.

    `reached` says that no more are needed, `assumes` what the hours rest on.
    """

    wished: float
    samples: tuple[float | None, float | None]
    hours: tuple[float | None, float | None]
    capped: str
    reached: str
    assumes: str


def budget(
    own: Drafter,
    wished: float,
    *,
    tokens_per_sample: float,
    generation_tok_s: float,
    published: Published = ANOTHER_RECIPE,
) -> Budget:
    """From the fewest samples that any reading allows to the most, with the hours of generating the missing ones.

    `generation_tok_s` is the target's output over all its requests.
    """
    _possible(own)
    accept_length(wished)
    gain = max(wished - own.accept_length, 0.0)
    steepest = max(PER_DOUBLING[2], _slope(own, published)[1])
    fewest, most = own.samples * _two_to(gain / steepest), own.samples * _two_to(gain / PER_DOUBLING[0])
    speed, tokens = positive("generation tok/s", generation_tok_s), positive("tokens per sample", tokens_per_sample)
    taken = [max(n - own.samples, 0.0) * tokens / speed / 3600.0 for n in (fewest, most)]
    hours = [h if math.isfinite(h) else None for h in taken]
    cap = own.steps + 1
    capped = f"{own.steps} draft steps give at most {cap}: draft more steps first" if wished > cap else ""
    return Budget(
        wished=wished,
        samples=(None if fewest == math.inf else fewest, None if most == math.inf else most),
        hours=(hours[0], hours[1]),
        capped=capped,
        reached=f"it has {own.accept_length:g} with {own.samples:,.0f} samples" if gain == 0.0 else "",
        assumes=f"{tokens:,.6g} tokens a sample at {speed:,.6g} tok/s of the target's output, for the additional "
        "samples only and without training",
    )


def _possible(own: Drafter) -> None:
    positive("samples", own.samples)
    if draft_steps(own.steps) == 0:
        raise FigureError("draft steps is 0, so its accept length says nothing", next_step="give the steps it drafts")
    accept_length(own.accept_length, steps=own.steps)


def _within(own: Drafter, doublings: float) -> Reading:
    ends = [own.accept_length + doublings * gain for gain in PER_DOUBLING]
    caveats = [f"{PER_DOUBLING[0]:g} to {PER_DOUBLING[2]:g} by doubling was seen above {SEEN_ABOVE_SAMPLES:,} samples"]
    if own.samples < SEEN_ABOVE_SAMPLES:
        caveats.append(f"this drafter had {own.samples:,.0f}: below that a curve is usually steeper")
    if abs(doublings) > SURE_DOUBLINGS:
        caveats.append(f"{doublings:.1f} doublings are further than it was seen")
    return _bounded("doublings within a recipe", min(ends), ends[1], max(ends), steps=own.steps, caveats=tuple(caveats))


def _bounded(
    by: Literal["doublings within a recipe", "line through two drafters"],
    low: float,
    middle: float,
    high: float,
    *,
    steps: int,
    caveats: tuple[str, ...],
) -> Reading:
    """The reading within 1 and steps + 1, with a caveat where that cut it."""
    most = steps + 1.0
    cut = f"{low:.2f} to {high:.2f} before it was cut to what is possible, 1 to {most:g} with {steps} draft steps"
    low_in, middle_in, high_in = (min(max(length, 1.0), most) for length in (low, middle, high))
    same = (low_in, high_in) == (low, high)
    return Reading(by=by, low=low_in, middle=middle_in, high=high_in, caveats=caveats if same else (*caveats, cut))


def _slope(own: Drafter, published: Published) -> tuple[float, float]:
    """Gain by doubling along the line, at both ends of the published range."""
    between = math.log2(published.samples / own.samples)
    if between <= 0:
        return 0.0, 0.0
    low, high = ((end - own.accept_length) / between for end in (published.low, published.high))
    return low, high


def _line(own: Drafter, doublings: float, published: Published) -> Reading:
    low, high = sorted(own.accept_length + doublings * slope for slope in _slope(own, published))
    other = f"{published.samples:,.0f} samples, {published.low:g} to {published.high:g}"
    recipe = f"the other drafter ({other}) is of another recipe, so the line mixes recipe and data"
    caps = (
        f"its figure was measured with at most {published.steps + 1}, "
        f"this one's {own.accept_length:g} with at most {own.steps + 1}"
    )
    caveats = [recipe, caps]
    if published.samples <= own.samples:
        caveats.append("it had no more samples than this one, so there is no line: the figure is this drafter's own")
    if high > own.steps + 1 and published.steps > own.steps:
        caveats.append(f"above {own.steps + 1} only with more draft steps than this drafter's {own.steps}")
    steps = max(own.steps, published.steps)
    return _bounded("line through two drafters", low, (low + high) / 2.0, high, steps=steps, caveats=tuple(caveats))


def _why_no_choice(own: Drafter, samples: float, doublings: float) -> str:
    why = []
    if abs(doublings) > SURE_DOUBLINGS:
        why.append(f"{doublings:.1f} doublings are beyond the {SURE_DOUBLINGS:g} that can be extrapolated")
    if min(own.samples, samples) < SEEN_ABOVE_SAMPLES:
        why.append(f"below {SEEN_ABOVE_SAMPLES:,} samples no curve is known")
    return f"neither is chosen: {' and '.join(why)}"


def _two_to(power: float) -> float:
    return 2.0**power if power < 1000.0 else math.inf
