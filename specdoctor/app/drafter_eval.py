"""From a drafter's folder and stored states to its test: what is read, which states it is fed, what the text is."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.app.drafter_alone import EvalDocument, Feeding, Progress, as_trained, evaluate, searched, stored_ones
from specdoctor.app.dump_reading import MOST_FILES, read_dumps
from specdoctor.app.local_weights import read_local, weights_of
from specdoctor.app.model_files import ModelFiles
from specdoctor.app.wiring import RECORD_BY_HAND
from specdoctor.core.errors import CheckpointError, UsageError
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import EngineChoice, column_for
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.records.table import found_record, read_record

if TYPE_CHECKING:
    from specdoctor.drafter.alone.arrays import Bools, Ints, Table
    from specdoctor.drafter.alone.drafting import Drafting
    from specdoctor.drafter.alone.head import Head
    from specdoctor.drafter.alone.replay import Ending, Text
    from specdoctor.drafter.dumps.dump import Dump, Sample

SMALL_HIDDEN = 1024
TARGET_PARTS = ("embed_tokens.weight", "lm_head.weight", "norm.weight")


@dataclass(frozen=True)
class Asked:
    """What the user asked for. `feed` and `names` are states; `training` is a record's name and text."""

    draft: ModelFiles
    states: Path
    target: ModelFiles | None = None
    training: tuple[str, str] | None = None
    choice: EngineChoice | None = None
    feed: tuple[tuple[str, ...], ...] = ()
    names: tuple[str, ...] = ()
    to_try: tuple[str, ...] = ()
    steps: int = 3
    ending: Ending = "past"
    answer_tokens: int | None = None
    trained_accuracy: float | None = None
    search: bool = False
    most_files: int = MOST_FILES


def eval_drafter(asked: Asked, *, progress: Progress) -> EvalDocument:
    """Read everything, test, and search if asked. Raises CheckpointError and UsageError."""
    draft = read_local(asked.draft)
    target = read_local(asked.target) if asked.target is not None else None
    _calm_threads(draft)
    record = _record(asked, draft, target)
    names = asked.names or (record.states if record is not None else ())
    dumps = _dumps(asked, names)
    drafter, head, known = _drafter(draft, target, dumps)
    texts, notes = _texts(asked, dumps, target)
    _within(asked, texts, head.embedding.count if head is not None else _rows_of(drafter))
    if record is not None and record.doubt:
        notes.append(f"the training record is in doubt: {record.doubt}")
    if head is not None and draft.has("embed_tokens.weight"):
        notes.append("the drafter's own embedding is used; SGLang puts the target's in its place")
    stored = tuple(dict.fromkeys(state for text in texts for state in text.states))
    wanted = _to_search(asked, texts, stored, standalone=head is None) if asked.search else ()
    feedings = _feedings(asked, draft, target, record, head, stored) if head is not None else [_TOKENS_ONLY]
    fed = evaluate(drafter, texts, feedings, steps=asked.steps, ending=asked.ending, known=known, head=head)
    found = None
    if asked.search and head is not None:
        found = searched(
            head, texts, wanted, steps=asked.steps, known=known, trained=asked.trained_accuracy, progress=progress
        )
    return EvalDocument(
        draft=draft.folder,
        kind="standalone" if head is None else "eagle3",
        layout=dumps[0].layout,
        sequences=len(texts),
        answer_tokens=sum(text.answer_tokens for text in texts),
        states=stored,
        text_is_greedy=_greedy_share(texts),
        draft_steps=asked.steps,
        ending=asked.ending,
        fed=fed,
        search=found,
        as_trained=None if asked.trained_accuracy is None else as_trained(asked.trained_accuracy, fed, found),
        notes=tuple(notes),
    )


def _rows_of(drafter: Drafting) -> int:
    from specdoctor.drafter.alone.llama import Llama

    return drafter.embedding.count if isinstance(drafter, Llama) else sys.maxsize


def _within(asked: Asked, texts: Sequence[Text], vocabulary: int) -> None:
    """Raises UsageError for a token that the embedding does not know: the states are of another target."""
    for text in texts:
        for what, ids in (("token", text.tokens), ("first choice", text.greedy)):
            if ids is not None and (largest := int(ids.max(initial=0))) >= vocabulary:
                at = int(ids.argmax())
                raise UsageError(
                    f"{asked.states}: text {text.name}: {what} {largest} at index {at} is beyond the embedding's "
                    f"{vocabulary} rows: states of another target?",
                    next_step="export the states of the target that this drafter is for",
                )


def _to_search(asked: Asked, texts: Sequence[Text], stored: Sequence[str], *, standalone: bool) -> tuple[str, ...]:
    """The states to choose from: those named, else those that every text has. Raises UsageError before any is fed."""
    if standalone:
        raise UsageError("--search-wiring: a standalone model is fed tokens only", next_step="leave it out")
    if not asked.to_try:
        return tuple(state for state in stored if all(state in text.states for text in texts))
    for text in texts:
        stored_ones(text, asked.to_try, "--states-to-try")
    return tuple(dict.fromkeys(asked.to_try))


_TOKENS_ONLY = Feeding(label="tokens only", states=())


def _calm_threads(draft: Checkpoint) -> None:
    """One thread for small matrices: on a busy machine two of them wait for each other, many times over."""
    hidden = draft.whole("hidden_size") or 0
    if hidden < SMALL_HIDDEN and "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def _record(asked: Asked, draft: Checkpoint, target: Checkpoint | None) -> TrainingRecord | None:
    shape = target.shape() if target is not None else None
    if asked.training is None:
        return found_record(draft.texts, draft_config=draft.config, target=shape) if draft.is_eagle3 else None
    where, text = asked.training
    found = read_record(text, where, draft_config=draft.config, target=shape, strict=True)
    if found is None:
        raise UsageError(
            f"{where}: nothing in it says which states the drafter was trained on",
            next_step=f"{RECORD_BY_HAND}; a run file without ids needs --target, for the number of layers",
        )
    return found


def _dumps(asked: Asked, names: Sequence[str]) -> tuple[Dump, ...]:
    try:
        return read_dumps(asked.states, names=names, most=asked.most_files)
    except CheckpointError:
        if asked.names:
            raise
    return read_dumps(asked.states, names=(), most=asked.most_files)


def _drafter(
    draft: Checkpoint, target: Checkpoint | None, dumps: Sequence[Dump]
) -> tuple[Drafting, Head | None, Bools | None]:
    """The drafter, itself as a head if it is one, and which of the target's tokens it can say."""
    import numpy as np

    from specdoctor.drafter.alone.head import head_of
    from specdoctor.drafter.alone.llama import llama_of

    weights = weights_of(draft)
    if not draft.is_eagle3:
        return llama_of(weights, draft.text, draft.architectures), None, None
    embedding = next((dump.embedding for dump in dumps if dump.embedding is not None), None)
    target_head = next((dump.head for dump in dumps if dump.head is not None), None)
    if target is not None:
        parts = weights_of(target, wanted=lambda name: name.endswith(TARGET_PARTS))
        embedding = parts.table("embed_tokens.weight") or embedding
        target_head = parts.table("lm_head.weight") or target_head or parts.table("embed_tokens.weight")
    head = head_of(weights, draft.text, embedding=embedding, target_head=target_head)
    known = np.zeros(head.embedding.count, dtype=bool)
    known[head.target_ids] = True
    return head, head, known


def _texts(asked: Asked, dumps: Sequence[Dump], target: Checkpoint | None) -> tuple[list[Text], list[str]]:
    from specdoctor.drafter.alone.replay import Text

    texts: list[Text] = []
    notes: list[str] = []
    shortened = 0
    for dump in dumps:
        for sample in dump.samples:
            greedy = sample.greedy if sample.greedy is not None else _first_choice(sample, dump, target)
            served, short = _served(asked, sample)
            shortened += short
            if served < 2:
                notes.append(f"{sample.name}: left out, its answer is too short for {asked.steps} drafts")
                continue
            texts.append(
                Text(
                    name=f"{len(texts)} {sample.name}",
                    tokens=sample.tokens,
                    answer_at=sample.answer_at,
                    answer_tokens=served,
                    greedy=greedy,
                    states=sample.states,
                )
            )
    if not texts:
        raise UsageError(f"{asked.states}: no answer in it is long enough", next_step="store longer answers")
    if shortened:
        notes.append(
            f"{shortened} answers are counted up to the last token after which {asked.steps} drafts can be judged; "
            "export tokens beyond the answer, or use --ending cut, to count them whole"
        )
    if any(text.greedy is None for text in texts):
        notes.append(
            "the target's first choices are not stored: agreement is with the text as it stands; with --target and a "
            "dump that has the target's last state they are calculated"
        )
    return texts, notes


def _served(asked: Asked, sample: Sample) -> tuple[int, bool]:
    """How many answer tokens are replayed; past the end only as far as the text can tell right from wrong."""
    served = min(sample.answer_tokens, asked.answer_tokens or sample.answer_tokens)
    if asked.ending == "cut":
        return served, False
    room = len(sample.tokens) - sample.answer_at - asked.steps
    return min(served, room), room < served


def _first_choice(sample: Sample, dump: Dump, target: Checkpoint | None) -> Ints | None:
    """The target's first choice for each index, from its last state: argmax of its head, after its norm if need be."""
    import numpy as np

    from specdoctor.drafter.alone.layer import rms_norm
    from specdoctor.drafter.config_numbers import real

    if sample.last is None:
        return None
    rows: Table | None = dump.head
    last = sample.last
    if target is not None:
        parts = weights_of(target, wanted=lambda name: name.endswith(TARGET_PARTS))
        rows = parts.table("lm_head.weight") or parts.table("embed_tokens.weight")
        if not sample.last_normed:
            last = rms_norm(last, parts.need("norm.weight"), real(target.text, "rms_norm_eps", parts.where, 1e-6))
    elif not sample.last_normed:
        return None
    if rows is None or rows.width != last.shape[1]:
        return None
    best: Ints = np.concatenate([sample.tokens[:1], np.argmax(last[:-1] @ rows.all().T, axis=-1)])
    return best


def _feedings(
    asked: Asked,
    draft: Checkpoint,
    target: Checkpoint | None,
    record: TrainingRecord | None,
    head: Head | None,
    stored: tuple[str, ...],
) -> list[Feeding]:
    """What it was trained on, what an engine captures, what was named; without any of these the dump's own order."""
    found = [Feeding(label=" ".join(states), states=states) for states in asked.feed]
    if record is not None:
        found.append(Feeding(label="trained on", states=record.states))
    if asked.choice is not None:
        found.append(_captured(asked.choice, draft, target))
    if found:
        return found
    slots = head.fusion.slots if head is not None else 0
    if len(stored) == slots:
        return [Feeding(label="as stored", states=stored)]
    raise UsageError(
        f"which states is it to be fed? Stored are {', '.join(stored)}; it takes {slots}",
        next_step="give --training FILE, --feed 'out(1),out(3),out(5)', or --engine with --target",
    )


def _captured(choice: EngineChoice, draft: Checkpoint, target: Checkpoint | None) -> Feeding:
    shape = target.shape() if target is not None else None
    if shape is None:
        raise UsageError(
            f"--engine {choice.name}: what it captures depends on the target's layers", next_step="add --target DIR"
        )
    column = column_for(choice, draft.config, shape)
    if column is None or column.states is None:
        why = (
            column.capture.fails or "some of them are never captured" if column is not None else "its rule is not known"
        )
        raise UsageError(f"{choice.label} cannot serve this drafter: {why}", next_step="see specdoctor wiring")
    return Feeding(label=f"captured by {choice.label}", states=column.states)


def _greedy_share(texts: Sequence[Text]) -> float | None:
    """Share of served answer tokens that are the target's first choice; None when that is not known."""
    same, count = 0, 0
    for text in texts:
        if text.greedy is None:
            return None
        answer = slice(text.answer_at, text.answer_at + text.answer_tokens)
        same += int((text.greedy[answer] == text.tokens[answer]).sum())
        count += text.answer_tokens
    return same / count if count else None
