"""A small drafter that can be calculated, and states of its target to feed it with, as real files of a practice host.

The target's states hold, in shares, what its drafter will say: three of them, one to each place of `fc`, add up to the
codes of the next drafts, as those it was trained on do for its trained acceptance, and those its engine captures for
the acceptance of that wiring. Any other choice adds up to nothing. The head then does what every EAGLE-3 head does:
fuse, run its layer, compare with the rows of `lm_head`. Its feed-forward moves the next code into first place.
"""

from __future__ import annotations

import json
import math
import random
import struct
from array import array
from collections.abc import Iterable, Sequence
from functools import cache

from specdoctor.lab.tensor_layouts import Tensor
from specdoctor.lab.wiring import WiringError, captured_states
from specdoctor.lab.world import Conditionals, Model, World, release_of

AHEAD, WIDTH = 6, 28
CODES = AHEAD * WIDTH
STEADY = CODES
REGION = CODES + 1
PLACES = 3
STEADY_VALUE = float(PLACES)
PROMPT, ANSWER, BEYOND, SEQUENCES = 8, 72, 16, 16
SPOKEN = 1024
"""Stored texts, and what their drafter can say, keep to the first tokens: so the embedding is small."""
GRAIN = 32
"""Shares are multiples of 1/32, which bfloat16 holds and adds without loss."""
CALCULATED = frozenset(
    {
        "fc.weight",
        "midlayer.self_attn.o_proj.weight",
        "midlayer.mlp.gate_proj.weight",
        "midlayer.mlp.up_proj.weight",
        "midlayer.mlp.down_proj.weight",
        "midlayer.post_attention_layernorm.weight",
        "norm.weight",
        "lm_head.weight",
    }
)
Vector = list[float]
_SHARE = [(byte // 2 - 64) / GRAIN for byte in range(256)]


def bf16(values: Iterable[float]) -> bytes:
    """Values as bfloat16, cut off, little-endian."""
    raw = array("f", values).tobytes()
    out = bytearray(len(raw) // 2)
    out[0::2], out[1::2] = raw[2::4], raw[3::4]
    return bytes(out)


def said_by(model: Model) -> list[int]:
    """The target's token for each of the drafter's own."""
    vocabulary = min(int(model.config["vocab_size"]), SPOKEN)
    drafted = int(model.config.get("draft_vocab_size") or vocabulary)
    return [index * vocabulary // drafted for index in range(drafted)]


@cache
def _codes(name: str, count: int) -> list[Vector]:
    rng = random.Random(f"{name}:codes")
    return [[rng.choice((-1.0, 1.0)) for _ in range(WIDTH)] for _ in range(count)]


def codes_of(model: Model) -> list[Vector]:
    return _codes(model.id, len(said_by(model)))


def drafting_data(tensor: Tensor, model: Model) -> bytes:
    """The bytes of one calculated tensor."""
    rows, columns = tensor.shape[0], tensor.shape[1] if len(tensor.shape) > 1 else 1
    if len(tensor.shape) == 1:
        return bf16(_norm(tensor.name, rows))
    hidden = int(model.config["hidden_size"])
    after, last = _norm("midlayer.post_attention_layernorm.weight", hidden), _norm("norm.weight", hidden)
    grid: dict[tuple[int, int], float] = {}
    if tensor.name == "fc.weight":
        width = columns // PLACES
        spots = [(d, place * width + place * REGION + d) for place in range(PLACES) for d in range(REGION)]
        grid = dict.fromkeys(spots, 1.0)
    elif tensor.name == "lm_head.weight":
        grid = {(r, d): code[d] / last[d] for r, code in enumerate(codes_of(model)) for d in range(WIDTH)}
    elif "gate_proj" in tensor.name:
        grid = {(unit, STEADY): 1.0 / after[STEADY] for unit in range(CODES)}
    elif "up_proj" in tensor.name:
        share = _mean_square(hidden) / _opened(hidden)
        for unit in range(CODES):
            grid[unit, (unit + WIDTH) % CODES] = share / after[(unit + WIDTH) % CODES]
            grid[unit, unit] = -share / after[unit]
    elif "down_proj" in tensor.name:
        grid = {(unit, unit): 1.0 for unit in range(CODES)}
    out = bytearray(2 * rows * columns)
    for (row, column), value in grid.items():
        at = 2 * (row * columns + column)
        out[at : at + 2] = bf16([value])
    return bytes(out)


def _norm(name: str, size: int) -> Vector:
    rng = random.Random(name)
    return [rng.choice((0.875, 1.0, 1.125)) for _ in range(size)]


def _mean_square(hidden: int) -> float:
    """The root mean square of a state that holds whole codes."""
    return math.sqrt((CODES + STEADY_VALUE**2) / hidden)


def _opened(hidden: int) -> float:
    """What the gate lets through of one: silu of the steady place after the norm."""
    x = STEADY_VALUE / _mean_square(hidden)
    return x / (1.0 + math.exp(-x))


def feedings(world: World, model: Model) -> list[tuple[tuple[str, ...], Conditionals]]:
    """States that are fed together, with the acceptance they give: as trained, and as this engine captures."""
    accept = model.acceptance
    target = next((m for m in world.models if m.id == model.training.target), None)
    if accept is None or target is None:
        return []
    found = [(model.training.states, accept.as_trained)]
    try:
        release = release_of(world.engine.version)
        got = captured_states(target, model, algorithm="EAGLE3", release=release)
    except WiringError:
        return found
    if len(got) == PLACES and got != model.training.states:
        found.append((got, accept.when_fed.get(" ".join(got), accept.otherwise)))
    return found


_made: dict[str, bytes] = {}


def stored_states(world: World, model: Model) -> bytes:
    """The safetensors file of stored texts and states for one drafter of a world; made once for each content."""
    fed = feedings(world, model)
    key = f"{world.name} {fed} {model.model_dump_json(include={'id', 'config'})}"
    if key not in _made:
        _made[key] = _stored(world, model, fed)
    return _made[key]


def _stored(world: World, model: Model, fed: Sequence[tuple[tuple[str, ...], Conditionals]]) -> bytes:
    rng = random.Random(f"{world.name}:{model.id}:states")
    ids, width = said_by(model), int(model.config.get("target_hidden_size") or model.config["hidden_size"])
    embedding = [_shares(rng, width) for _ in range(min(int(model.config["vocab_size"]), SPOKEN))]
    tensors: dict[str, tuple[str, tuple[int, ...], bytes]] = {
        "embed_tokens.weight": ("BF16", (len(embedding), width), b"".join(bf16(row) for row in embedding))
    }
    count = PROMPT + ANSWER + BEYOND
    lucks = [[_luck(rng, SEQUENCES * count) for _ in range(AHEAD)] for _ in fed]
    for number in range(SEQUENCES):
        drafted = [rng.randrange(len(ids)) for _ in range(count)]
        tokens = [ids[own] for own in drafted]
        rows = _states(rng, model, fed, drafted, [embedding[token] for token in tokens], lucks)
        whole = struct.pack(f"<{count}q", *tokens)
        tensors[f"{number}.tokens"] = tensors[f"{number}.greedy"] = ("I64", (count,), whole)
        tensors[f"{number}.answer"] = ("I64", (2,), struct.pack("<2q", PROMPT, ANSWER))
        for name, vectors in rows.items():
            tensors[f"{number}.{name}"] = ("BF16", (count, width), b"".join(bf16(v) for v in vectors))
    return _file(tensors)


def _luck(rng: random.Random, count: int) -> list[float]:
    """Uniform numbers in a random order that fill the unit interval evenly: a sample whose shares come out right."""
    found = [(number + 0.5) / count for number in range(count)]
    rng.shuffle(found)
    return found


def _shares(rng: random.Random, width: int) -> Vector:
    """Values between -2 and 2, with a steady place in each region."""
    vector = [_SHARE[byte] for byte in rng.randbytes(width)]
    for place in range(PLACES):
        vector[place * REGION + STEADY] = STEADY_VALUE / PLACES
    return vector


def _states(
    rng: random.Random,
    model: Model,
    fed: Sequence[tuple[tuple[str, ...], Conditionals]],
    drafted: Sequence[int],
    embedded: list[Vector],
    lucks: Sequence[Sequence[list[float]]],
) -> dict[str, list[Vector]]:
    """Each state at each index; of every feeding one state holds what makes its shares whole."""
    count, width = len(drafted), len(embedded[0])
    rows = {name: [_shares(rng, width) for _ in range(count)] for states, _ in fed for name in states}
    rows["embed"] = embedded
    codes = codes_of(model)
    settled: set[tuple[str, int]] = set()
    for (states, rates), luck in zip(fed, lucks, strict=True):
        free = [(s, p) for p, s in enumerate(states) if s != "embed" and (s, p) not in settled]
        settled |= {(state, place) for place, state in enumerate(states)}
        if not free:
            continue
        last, at = free[-1]
        others = [(state, place) for place, state in enumerate(states) if (state, place) != (last, at)]
        for index in range(count):
            left = _whole(rng, codes, drafted, index, rates, luck)
            for state, place in others:
                begin = place * REGION
                left = [a - b for a, b in zip(left, rows[state][index][begin : begin + CODES], strict=True)]
            rows[last][index][at * REGION : at * REGION + CODES] = left
    return rows


def _whole(
    rng: random.Random,
    codes: Sequence[Vector],
    drafted: Sequence[int],
    index: int,
    rates: Conditionals,
    luck: Sequence[list[float]],
) -> Vector:
    """The codes of the drafts after the token behind `index`, each right with its probability; the first in place 1."""
    blocks: list[Vector] = [[]] * AHEAD
    for step in range(AHEAD):
        at = index + 2 + step
        right = luck[step].pop() < rates[min(step, len(rates) - 1)] and at < len(drafted)
        said = drafted[at] if right else rng.randrange(len(codes))
        blocks[(step + 1) % AHEAD] = codes[said]
    return [value for block in blocks for value in block]


def _file(tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> bytes:
    header: dict[str, object] = {}
    at = 0
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, raw in tensors.values())
