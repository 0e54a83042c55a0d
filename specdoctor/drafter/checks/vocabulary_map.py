"""Do the drafter's token ids lead to the target's?"""

from __future__ import annotations

from itertools import pairwise

from specdoctor.core.hypothesis import Observation
from specdoctor.core.server import Source
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.pair import Pair, fault

LEARN = "export the map that training used (d2t: target id minus draft id, for each draft id)"


class VocabularyMap:
    """A reduced vocabulary needs d2t; engines take a missing or wrong one without a word, and acceptance is gone.

    In a checkpoint d2t holds offsets (target id = draft id + d2t), in a GGUF file the target ids themselves.
    """

    name = "drafter-vocabulary-map"
    summary = "Look into d2t and t2d: present, of the right length, offsets and not ids, not all zero, in agreement."
    causes = ("WIRE-3",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft, vocabulary = pair.draft, pair.target.whole("vocab_size")
        if not draft.is_eagle3 or vocabulary is None or not draft.tensors:
            return ()
        head = draft.tensor("lm_head.weight", "output.weight")
        rows = head[1].shape[0] if head is not None and len(head[1].shape) == 2 else None
        drafted = draft.whole("draft_vocab_size") or rows
        if drafted is None:
            return ()
        found = draft.tensor("d2t")
        claim = ""
        if rows is not None and head is not None and rows != drafted:
            claim = f"the head has {rows} rows, draft_vocab_size is {drafted}"
            return (fault(self.name, "WIRE-3", claim, draft.shown_tensor(head[0]), draft.said("draft_vocab_size")),)
        if drafted >= vocabulary:
            return ()
        said = draft.said("draft_vocab_size")
        if found is None:
            claim = f"{drafted} of {vocabulary} tokens can be drafted and there is no d2t: ids are taken as they are"
            return (fault(self.name, "WIRE-3", claim, draft.listed(), said, fix=LEARN),)
        name, tensor = found
        shown = draft.shown_tensor(name)
        if tensor.shape != (drafted,):
            claim = f"d2t has shape {list(tensor.shape)}, draft_vocab_size is {drafted}"
            return (fault(self.name, "WIRE-3", claim, shown, said, fix=LEARN),)
        claim = _wrong(draft, name, vocabulary)
        return (fault(self.name, "WIRE-3", claim, _values(draft, name), shown, fix=LEARN),) if claim else ()


def _wrong(draft: Checkpoint, name: str, vocabulary: int) -> str:
    """What is wrong with the values of d2t; empty if they can be right, or were not read."""
    values = draft.small.get(name)
    if values is None:
        return ""
    absolute = draft.format == "gguf"
    ids = list(values) if absolute else [i + value for i, value in enumerate(values)]
    flags = draft.small.get(next((n for n in draft.small if n.rsplit(".", 1)[-1] == "t2d"), ""))
    marked = [i for i, flag in enumerate(flags) if flag] if flags is not None else None
    if marked is not None and marked == ids:
        return ""
    if all(i == target for i, target in enumerate(ids)):
        known = "; t2d names other tokens" if marked is not None else ""
        zero = "leads every id to itself" if absolute else "is all zero"
        return f"d2t {zero}, so that draft ids are taken as the first {len(ids)} target ids{known}"
    if not absolute and (marked == list(values) or (max(ids) >= vocabulary and _rises(values))):
        return "d2t holds target ids where offsets are expected (target id minus draft id)"
    if min(ids) < 0 or max(ids) >= vocabulary:
        return f"d2t leads to ids from {min(ids):g} to {max(ids):g}; the target has {vocabulary} tokens"
    if not _rises(ids):
        return "d2t leads several draft ids to one target id, or back and forth: it is no map of a reduced vocabulary"
    if marked is not None:
        return f"d2t and t2d name different tokens ({len(set(marked) ^ set(ids))} are in only one of them)"
    return ""


def _rises(values: tuple[float, ...] | list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def _values(draft: Checkpoint, name: str) -> Source:
    values = draft.small[name]
    shown = ", ".join(f"{value:g}" for value in values[:8])
    quote = f"values {shown}{', ...' if len(values) > 8 else ''}; largest {max(values):g}"
    return Source(where=draft.tensor_files.get(name, draft.folder), key=name, quote=quote)


check = VocabularyMap()
