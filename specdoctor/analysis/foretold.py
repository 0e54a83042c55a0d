"""Reading a sentence that somebody types while a run goes on: is it what is seen, or a claim that foretells something?

A claim is told from a symptom by its mood ("I think", "should", "would") together with something to hold it to: a
figure, best with the launch that it is about, or a cause of the list. What is said without either stays a remark.
"""

from __future__ import annotations

import re
from typing import Literal

from specdoctor.analysis.symptom import claims_of, read_symptom
from specdoctor.core.hypothesis import Claim
from specdoctor.core.model import Frozen
from specdoctor.core.wishes import Foretelling, LaunchWish

_MOOD = re.compile(
    r"\bi (?:think|believe|guess|bet|suspect|expect|assume)\b|\bmaybe\b|\bperhaps\b|\bprobably\b|\bpossibly\b|"
    r"\b(?:would|should|could|might|must|will|ought)\b|\bi'd\b|\bit'll\b|\bsuspect\w*\b|\bif (?:it|we|you)\b|"
    r"\bwhat if\b|\bbecause of\b|\b(?:is|could|might) it be\b|\bdue to\b",
    re.I,
)
_CAUSE = re.compile(r"\b([A-Z]{3,8}-\d{1,2})\b")
_STEPS = re.compile(r"\b(\d{1,2})\s*(?:draft(?:ing)?[ -])?steps?\b|\bdraft_steps\s*=?\s*(\d{1,2})\b", re.I)
_TOPK = re.compile(r"\btop[ -]?k\s*(?:of|=)?\s*(\d{1,2})\b", re.I)
_TOKENS = re.compile(r"\b(\d{1,3})\s+draft tokens\b", re.I)
_OFF = re.compile(
    r"\bwithout (?:any )?(?:spec\w*|draft\w*|eagle\S*|mtp|it)\b|\bspec\w* (?:\w+ )?off\b|\bno spec\w*|\bbaseline\b",
    re.I,
)
_LESS = re.compile(r"\b(?:below|under|less than|fewer than|at most|no more than|slower than|up to)\b|<", re.I)

_MORE = re.compile(r"\b(?:above|over|more than|longer than|at least)\b|>", re.I)


class Sentence(Frozen):
    """What a sentence is taken for."""

    kind: Literal["symptom", "claim", "remark"]
    foretold: Foretelling | None = None
    cause: str | None = None


def read_sentence(text: str) -> Sentence:
    """A claim with what it foretells or the cause that it names; a symptom; or a remark."""
    launch = launch_of(text)
    figure = _figure(text)
    supposed = bool(_MOOD.search(text))
    cause = _CAUSE.search(text)
    if supposed and figure is not None:
        return Sentence(kind="claim", foretold=_foretold(text, figure, launch))
    if cause is not None:
        return Sentence(kind="claim", cause=cause.group(1))
    symptom = read_symptom(text)
    if not supposed and (symptom.claims or symptom.complaints):
        return Sentence(kind="symptom")
    return Sentence(kind="remark")


def launch_of(text: str) -> LaunchWish | None:
    """The launch that a sentence speaks of, where it is another than the one that runs."""
    if _OFF.search(text):
        return LaunchWish(speculation=False)
    steps, topk, tokens = _STEPS.search(text), _TOPK.search(text), _TOKENS.search(text)
    found = {
        "draft_steps": int(steps.group(1) or steps.group(2)) if steps else None,
        "topk": int(topk.group(1)) if topk else None,
        "draft_tokens": int(tokens.group(1)) if tokens else None,
    }
    limits = {"draft_steps": (1, 32), "topk": (1, 16), "draft_tokens": (2, 128)}
    fitting = {n: v for n, v in found.items() if v is not None and limits[n][0] <= v <= limits[n][1]}
    return LaunchWish.model_validate(fitting) if fitting else None


def _figure(text: str) -> Claim | None:
    """The figure that a claim is held to. Two speeds in one sentence leave open which, unless one is wished for."""
    metrics = ("throughput_tok_s", "accept_length", "step_ms")
    claims = [c for c in claims_of(text) if c.metric in metrics and c.value > 0]
    if any(c.metric != "throughput_tok_s" for c in claims):  # "above 2" is no speed where an accept length was named
        claims = [c for c in claims if c.metric != "throughput_tok_s" or re.search(r"tok|t/s|tps", c.text, re.I)]
    wished = [c for c in claims if c.role == "wished"]
    if len(wished) == 1:
        return wished[0]
    return claims[0] if len(claims) == 1 else None


def _foretold(text: str, figure: Claim, launch: LaunchWish | None) -> Foretelling:
    """At least the figure, or at most where the words say so; of a time it is the other way round."""
    upper = not _MORE.search(text) if figure.metric == "step_ms" else bool(_LESS.search(text))
    return Foretelling.model_validate(
        {"metric": figure.metric, "op": "<=" if upper else ">=", "value": figure.value, "launch": launch}
    )
