"""Texts and states of the lab's tiny target, calculated here: its own greedy answers to the prompts of the lab."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from specdoctor.app.local_weights import read_local, weights_of
from specdoctor.app.model_files import ModelFiles
from specdoctor.drafter.alone.arrays import Ints
from specdoctor.drafter.alone.llama import Llama, llama_of
from specdoctor.drafter.alone.replay import Text
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.states import at_entry
from specdoctor.transports.local import LocalHost

SHARED = Path(os.environ.get("SPECDOCTOR_SHARED", Path(__file__).parents[3] / "shared")) / "lab" / "models"
ANSWER, BEYOND, PROMPTS = 64, 16, 8
_WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def checkpoint(folder: Path) -> Checkpoint:
    return read_local(ModelFiles(LocalHost(), str(folder), label=str(folder)))


def encoded(text: str) -> list[int]:
    """Byte-level BPE, as the lab's tokenizer.json says: words of the GPT-2 pattern, then merges by rank."""
    model = json.loads((SHARED / "tiny-target" / "tokenizer.json").read_text())["model"]
    pairs = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    letters = _byte_letters()
    ids: list[int] = []
    for word in _WORDS.findall(text):
        parts = [letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            rank, at = min((ranks.get((a, b), 1 << 30), i) for i, (a, b) in enumerate(pairwise(parts)))
            if rank == 1 << 30:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        ids += [model["vocab"][part] for part in parts]
    return ids


def _byte_letters() -> dict[int, str]:
    """The printable letter that stands for each byte in a byte-level vocabulary."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    found = {byte: chr(byte) for byte in kept}
    for number, byte in enumerate(b for b in range(256) if b not in found):
        found[byte] = chr(256 + number)
    return found


@cache
def target() -> Llama:
    read = checkpoint(SHARED / "tiny-target")
    return llama_of(weights_of(read), read.text, read.architectures)


def greedy(model: Llama, prompt: list[int], tokens: int) -> Ints:
    """The prompt with the model's greedy answer."""
    chains = model.begin(np.array(prompt))
    out = list(prompt)
    # One chain that begins at the prompt's end is a generation.
    chains.starts, chains.hidden = chains.starts[-1:], chains.hidden[-1:]
    for _ in range(tokens):
        drafted = model.proposed(chains)
        out.append(int(drafted[0]))
        model.go_on(chains, drafted)
    return np.array(out)


@cache
def texts() -> tuple[Text, ...]:
    """The eight answers that the engines were measured on, with all states, and what would come after them."""
    found = []
    for number, prompt in enumerate(json.loads((SHARED / "prompts.json").read_text())[:PROMPTS]):
        ids = encoded(prompt)
        tokens = greedy(target(), ids, ANSWER + BEYOND)
        states, logits = target().states(tokens)
        first_choice = np.concatenate([tokens[:1], np.argmax(logits[:-1], axis=-1)])
        found.append(
            Text(
                name=f"prompt {number}",
                tokens=tokens,
                answer_at=len(ids),
                answer_tokens=ANSWER,
                greedy=first_choice,
                states={at_entry(entry): state for entry, state in enumerate(states)},
            )
        )
    return tuple(found)
