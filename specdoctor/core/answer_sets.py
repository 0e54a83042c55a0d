"""Answers that were asked of a launch to be compared with those of another one."""

from __future__ import annotations

from typing import Literal

from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen

AnswerKind = Literal["greedy", "greedy again", "sampled"]
"""`greedy again` is asked with the logarithmic probabilities of the two best tokens at each place."""
SUBJECT = "answers"
"""The subject of readings about answers."""
SUSPICION = "answers, at a first look"
"""The subject of a suspicion before there was a launch to compare with: sound answers take it back."""


class GivenAnswer(Frozen):
    """One answer. `choices` are its tokens with the gap of the two best log-probabilities there (None: not told)."""

    prompt: str
    text: str
    choices: tuple[tuple[str, float | None], ...] = ()


class AnswerSet(Frozen):
    """What one launch answered to a list of prompts. `speculative` says whether it drafts; `where` is the artefact."""

    kind: AnswerKind
    speculative: bool
    launch: str
    answers: tuple[GivenAnswer, ...]
    temperature: float = 0.0
    accept_length: Estimate | None = None
    cycles: int | None = None
    where: str = ""
    evidence: str = ""


def in_answers(name: str, kind: AnswerKind) -> str:
    """The key or label under which a launch's answers are kept."""
    return f"{name}, answers ({kind})"
