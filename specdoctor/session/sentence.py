"""Plain sentences: what is seen joins the symptom, a claim goes on the list with what it foretells. Nothing is run."""

from __future__ import annotations

import re

from specdoctor.analysis.foretold import launch_of, read_sentence
from specdoctor.core.errors import UsageError
from specdoctor.core.hypothesis import UNITS
from specdoctor.core.wishes import MOST_WORDS, Asked, ClaimWish, Foretelling, LaunchWish, Note, Told
from specdoctor.knowledge.table import CAUSES
from specdoctor.session.command import Outcome
from specdoctor.session.view import View

HOW = '/add "..." accept_length>=2 draft_steps=5'
REMARK = f"kept as a note; a claim to be tested says what would be measured, or a cause:  {HOW}"
FEWEST = 3
"""Letters of a sentence; anything shorter is a slip of the fingers."""
ANSWERS = """a question, so nothing is recorded; where answers are:
  /why, /why H1      what goes on and for which reason; what a claim predicts
  /help              every command; /note ... keeps words for the record
  specdoctor causes  in another shell: every cause, its test and its fix"""
_ASKS = re.compile(r"why\b|(?:what|how)(?:'s)?\b(?!\s+(?:i|we|they|it|if)\b)", re.I)
_ASKS_WHETHER = re.compile(
    r"(?:is|are|was|does|do|did|can|could|should|would|will)\s+(?:i|it|we|you|they|this|that|there|the)\b", re.I
)


def said(view: View, text: str) -> Outcome:
    """What a plain sentence comes to. Raises UsageError for one that says nothing."""
    text = text[:MOST_WORDS]
    if sum(c.isalpha() for c in text) < FEWEST:
        raise UsageError(f"{text!r} says nothing", next_step="/help lists the commands")
    sentence = read_sentence(text)
    if sentence.foretold is None and _asks(text, names_a_cause=sentence.cause in CAUSES):
        return Outcome(ANSWERS)
    if sentence.kind == "claim" and (sentence.foretold is not None or sentence.cause in CAUSES):
        wish = ClaimWish(text=text, foretold=sentence.foretold, cause=sentence.cause if not sentence.foretold else None)
        return Outcome(_taken(wish), request=Asked(text=text, wish=wish))
    if sentence.kind == "symptom":
        return Outcome("joins the symptom, at its word until measured", request=Told(text=text))
    return Outcome(REMARK, request=Note(text=text))


def _asks(text: str, *, names_a_cause: bool) -> bool:
    """Whether a sentence asks something. `is it WIRE-1?` proposes a cause; a statement with figures stays one."""
    text, marked = text.strip(), text.rstrip().endswith("?")
    told = not marked and bool(re.search(r"[\d:]", text))
    if _ASKS.match(text):
        return not told or text.lower().startswith("why")
    return not names_a_cause and (bool(_ASKS_WHETHER.match(text)) or (marked and not re.search(r"\d", text)))


def claimed(text: str, *, launch: LaunchWish | None, usage: str) -> Outcome:
    """The claim of `/add "..."` without a figure of its own: what its words foretell. Raises UsageError."""
    # What is added is meant as a claim, whatever its mood.
    sentence = read_sentence(f"it should be: {text}")
    if sentence.foretold is None and sentence.cause not in CAUSES:
        raise UsageError("a claim needs what would be measured if it is true, or a cause", next_step=usage)
    foretold = sentence.foretold
    if foretold is not None:
        foretold = foretold.model_copy(update={"launch": launch or launch_of(text)})
    wish = ClaimWish(text=text[:MOST_WORDS], foretold=foretold, cause=None if foretold else sentence.cause)
    return Outcome(_taken(wish), request=Asked(text=f"/add {text}"[:MOST_WORDS], wish=wish))


def _taken(wish: ClaimWish) -> str:
    """How the words were understood."""
    told = wish.foretold
    if told is None:
        return f"a claim: {wish.cause}, {CAUSES[wish.cause or ''].title}"
    return f"a claim: {foretelling_words(told)}"


def foretelling_words(told: Foretelling) -> str:
    """`throughput_tok_s >= 95 tok/s with draft_steps=5`."""
    launch = f"with {told.launch.words}" if told.launch is not None else "with the server as found"
    return f"{told.metric} {told.op} {told.value:g} {UNITS[told.metric]} {launch}"
