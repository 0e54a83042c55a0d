"""What a layout's reader is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Ints, Table


@dataclass(frozen=True)
class Sample:
    """One sequence as stored: tokens, states by name, where the answer is, and what tells the target's first choice.

    `last` [tokens, hidden] is the target's last state, `last_normed` whether its last norm is in it; `greedy` the first
    choices themselves. `unnamed` says that the layout does not name its states: they are called by their place in it.
    """

    name: str
    tokens: Ints
    states: Mapping[str, Floats]
    answer_at: int
    answer_tokens: int
    greedy: Ints | None = None
    last: Floats | None = None
    last_normed: bool = True
    unnamed: bool = False


@dataclass(frozen=True)
class Dump:
    """All sequences of one file. `embedding` and `head` are the target's, where the file has them."""

    layout: str
    samples: tuple[Sample, ...]
    embedding: Table | None = None
    head: Table | None = None


@dataclass(frozen=True)
class Stored:
    """A file's arrays by name (lists of arrays too), and the names that its states should have, if anybody said."""

    where: str
    arrays: Mapping[str, Any]
    names: Sequence[str] = field(default=())

    def array(self, *names: str) -> NDArray[Any] | None:
        for name in names:
            found = self.arrays.get(name)
            if isinstance(found, np.ndarray):
                return found
        return None

    def fault(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self.where}: {what}", next_step=LAYOUTS)


Reader = Callable[[Stored], Dump | None]
LAYOUTS = (
    "known are files of `specdoctor drafter export`, arrays named tokens and embed, out(0), ..., SpecForge's "
    "data_*.ckpt (input_ids, aux_hidden_state) and speculators' data_*.pt and hs_*.safetensors (hidden_states)"
)
UNNAMED = "place {}"


def tokens_of(stored: Stored, array: NDArray[Any]) -> Ints:
    """Token ids [tokens]; a leading axis of one is dropped. Raises CheckpointError for what holds no ids."""
    flat = np.squeeze(array)
    if flat.ndim != 1 or flat.size < 3 or not np.issubdtype(flat.dtype, np.integer) or int(flat.min()) < 0:
        raise stored.fault(f"its tokens are {array.dtype} {list(array.shape)}, not a list of three ids or more")
    return flat.astype(np.int64)


def state_of(stored: Stored, array: NDArray[Any], count: int, name: str) -> Floats:
    """A state [tokens, hidden] in float32. Raises CheckpointError when it does not go with the tokens."""
    state = array[0] if array.ndim == 3 and array.shape[0] == 1 else array
    if state.ndim != 2 or state.shape[0] != count:
        raise stored.fault(f"state {name} is {list(array.shape)}, the text has {count} tokens")
    found: Floats = state.astype(np.float32)
    if not np.isfinite(found).all():
        raise stored.fault(f"state {name} holds values that are not finite")
    return found


def answer_of(stored: Stored, count: int) -> tuple[int, int]:
    """Where the answer begins and how many tokens it has: the span of loss_mask, else all but the first token."""
    mask = stored.array("loss_mask")
    if mask is None:
        return 1, count - 1
    marked = np.flatnonzero(np.squeeze(mask))
    if not len(marked):
        return 1, count - 1
    first = max(int(marked[0]), 1)
    return first, int(marked[-1]) - first + 1


def split(stored: Stored, joined: Floats, parts: int) -> dict[str, Floats]:
    """States that lie side by side, by the names that were given, else by their place."""
    if stored.names and len(stored.names) != parts:
        raise stored.fault(f"it holds {parts} states a token, {len(stored.names)} names were given")
    names = stored.names or [UNNAMED.format(number + 1) for number in range(parts)]
    width = joined.shape[1] // parts
    return {name: joined[:, n * width : (n + 1) * width] for n, name in enumerate(names)}
