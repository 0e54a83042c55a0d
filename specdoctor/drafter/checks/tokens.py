"""Do drafter and target mean the same text by the same token id?"""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation
from specdoctor.core.server import Source
from specdoctor.drafter.pair import Pair, doubt, fault
from specdoctor.drafter.vocabulary import Vocabulary

LLAMACPP_SLACK = 128
FEW = 16
FAMILY = "take a drafter made for this target's tokenizer"


class Tokens:
    """Engines compare sizes at most: another tokenizer of the same size is taken silently and accepted never."""

    name = "drafter-tokens"
    summary = "Compare the vocabularies of drafter and target: size, padding, special tokens, the text behind each id."
    causes = ("MIS-1",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft, target = pair.draft, pair.target
        texts = _texts(self.name, pair, draft.vocabulary, target.vocabulary)
        mine, theirs = draft.whole("vocab_size"), target.whole("vocab_size")
        if any(o.stance == "supports" for o in texts) or mine is None or theirs is None or mine == theirs:
            return texts
        sources = (draft.said("vocab_size"), target.said("vocab_size"))
        claim = f"the drafter has {mine} tokens, the target {theirs}"
        if _padding_only(draft.vocabulary, target.vocabulary, min(mine, theirs)):
            refused = pair.engine == "vllm" or (pair.engine == "llamacpp" and abs(mine - theirs) > LLAMACPP_SLACK)
            if not refused:
                decides = "start it: some engines compare sizes and refuse, padding apart the tokens are the same"
                return (doubt(self.name, "MIS-1", f"{claim}, by padding only", *sources, decides=decides),)
            claim = f"{claim}, by padding only, and this engine refuses it"
        return (fault(self.name, "MIS-1", claim, *sources, fix=FAMILY),)


def _texts(name: str, pair: Pair, mine: Vocabulary | None, theirs: Vocabulary | None) -> tuple[Observation, ...]:
    """What the texts say, where both were read."""
    if mine is None or theirs is None:
        return ()
    other = mine.differing(theirs)
    if not other:
        return ()
    both = sum(1 for a, b in zip(mine.checks, theirs.checks, strict=False) if a and b)
    sources = (
        Source(where=mine.where, key="model.vocab", quote=f"{mine.size} ids"),
        Source(where=theirs.where, key="model.vocab", quote=f"{theirs.size} ids"),
    )
    special = [i for i in other if i in mine.special or i in theirs.special]
    if len(other) <= max(FEW, len(special)):
        first = other[0]
        named = f"{mine.special.get(first, '?')!r} against {theirs.special.get(first, '?')!r}"
        claim = f"{len(other)} of {both} ids stand for other texts, such as special token {first}: {named}"
        decides = "accept length on a text without special tokens, and with the chat template"
        return (doubt(name, "MIS-1", claim, *sources, decides=decides),)
    claim = f"another tokenizer: {len(other)} of {both} token ids stand for other texts than in the target"
    return (fault(name, "MIS-1", claim, *sources, fix=FAMILY),)


def _padding_only(mine: Vocabulary | None, theirs: Vocabulary | None, smaller: int) -> bool:
    """Whether both tokenizers know the same ids below the smaller size, and none above it."""
    if mine is None or theirs is None:
        return False
    return max(mine.size, theirs.size) <= smaller and not mine.differing(theirs)


check = Tokens()
