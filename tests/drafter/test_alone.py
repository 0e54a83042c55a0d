"""A head's forward pass against a plain one that drafts chain by chain, and the counting of cycles by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Table, viewed, widened
from specdoctor.drafter.alone.head import Head, head_of
from specdoctor.drafter.alone.llama import llama_of
from specdoctor.drafter.alone.replay import Judged, Text, in_service, judge, over_all
from specdoctor.drafter.alone.rope import rope_of
from specdoctor.drafter.alone.weights import Weights

H, HEADS, KV, DIM, INTER, VOCAB, DRAFTED, WIDTH = 12, 4, 2, 6, 20, 30, 17, 10
CONFIG = {
    "hidden_size": H,
    "target_hidden_size": WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV,
    "head_dim": DIM,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100.0,
}


def drawn(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def layer_tensors(name: str, wide: int, seed: int) -> dict[str, Floats]:
    return {
        f"{name}.input_layernorm.weight": drawn(seed, H),
        f"{name}.post_attention_layernorm.weight": drawn(seed + 1, H),
        f"{name}.self_attn.q_proj.weight": drawn(seed + 2, HEADS * DIM, wide),
        f"{name}.self_attn.k_proj.weight": drawn(seed + 3, KV * DIM, wide),
        f"{name}.self_attn.v_proj.weight": drawn(seed + 4, KV * DIM, wide),
        f"{name}.self_attn.o_proj.weight": drawn(seed + 5, H, HEADS * DIM),
        f"{name}.mlp.gate_proj.weight": drawn(seed + 6, INTER, H),
        f"{name}.mlp.up_proj.weight": drawn(seed + 7, INTER, H),
        f"{name}.mlp.down_proj.weight": drawn(seed + 8, H, INTER),
    }


def head_tensors(*, layers: int = 1, prefix: str = "") -> dict[str, Any]:
    offsets = np.sort(np.random.default_rng(3).choice(VOCAB - DRAFTED, DRAFTED)).astype(np.int64)
    found: dict[str, Any] = {
        "fc.weight": drawn(1, H, 3 * WIDTH),
        "midlayer.hidden_norm.weight": drawn(2, H),
        "norm.weight": drawn(4, H),
        "lm_head.weight": drawn(5, DRAFTED, H),
        "d2t": offsets,
        **layer_tensors("midlayer", 2 * H, 10),
    }
    for number in range(1, layers):
        found |= layer_tensors(f"layers.{number}", H, 40 * number)
    return {prefix + name: tensor for name, tensor in found.items()}


def weights(tensors: dict[str, Any]) -> Weights:
    return Weights(where="head", tensors={n: (t, "I64" if n.endswith("d2t") else "F32") for n, t in tensors.items()})


EMBEDDING = drawn(7, VOCAB, H)


def head(tensors: dict[str, Any] | None = None, **config: Any) -> Head:
    read = weights(tensors or head_tensors())
    return head_of(read, {**CONFIG, **config}, embedding=Table(EMBEDDING), target_head=None)


class Plain:
    """The same head, one position at a time, with lists for a cache: written from the definition, not from the code."""

    def __init__(self, tensors: dict[str, Any], config: dict[str, Any]) -> None:
        self.t = {k: np.asarray(v, dtype=np.float64) for k, v in tensors.items()}
        self.config = {**CONFIG, **config}
        self.names = ["midlayer", *(f"layers.{n}" for n in range(1, self.config["num_hidden_layers"]))]

    def norm(self, x: Any, name: str) -> Any:
        return x / np.sqrt(np.mean(x * x) + 1e-5) * self.t[name]

    def turned(self, x: Any, position: int) -> Any:
        out = np.empty_like(x)
        for i in range(DIM // 2):
            angle = position * 100.0 ** (-2 * i / DIM)
            a, b = x[i], x[i + DIM // 2]
            out[i], out[i + DIM // 2] = (
                a * math.cos(angle) - b * math.sin(angle),
                b * math.cos(angle) + a * math.sin(angle),
            )
        return out

    def step(self, state: Any, token: int, position: int, caches: list[list[tuple[Any, Any]]]) -> tuple[Any, int]:
        """One input on top of the caches, which grow. Returns what is fed on, and the draft."""
        embedded = self.norm(EMBEDDING[token].astype(np.float64), "midlayer.input_layernorm.weight")
        normed = self.norm(state, "midlayer.hidden_norm.weight")
        residual = normed if self.config.get("norm_before_residual") else state
        seen = np.concatenate([embedded, normed])
        for name, cache in zip(self.names, caches, strict=True):
            if name != "midlayer":
                seen = self.norm(residual, f"{name}.input_layernorm.weight")
            q, k, v = (self.t[f"{name}.self_attn.{part}_proj.weight"] @ seen for part in "qkv")
            keys = [self.turned(k[i * DIM : (i + 1) * DIM], position) for i in range(KV)]
            cache.append((keys, [v[i * DIM : (i + 1) * DIM] for i in range(KV)]))
            heads = []
            for number in range(HEADS):
                query = self.turned(q[number * DIM : (number + 1) * DIM], position)
                kv = number // (HEADS // KV)
                scores = np.array([query @ ks[kv] for ks, _ in cache]) / math.sqrt(DIM)
                share = np.exp(scores - scores.max())
                share /= share.sum()
                heads.append(sum(s * vs[kv] for s, (_, vs) in zip(share, cache, strict=True)))
            residual = residual + self.t[f"{name}.self_attn.o_proj.weight"] @ np.concatenate(heads)
            inner = self.norm(residual, f"{name}.post_attention_layernorm.weight")
            gate = self.t[f"{name}.mlp.gate_proj.weight"] @ inner
            up = self.t[f"{name}.mlp.up_proj.weight"] @ inner
            residual = residual + self.t[f"{name}.mlp.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        out = self.norm(residual, "norm.weight")
        draft = int(np.argmax(self.t["lm_head.weight"] @ out))
        return (out if self.config.get("norm_output") else residual), draft + int(self.t["d2t"][draft])

    def chain(self, features: Any, tokens: Any, base: int, steps: int, *, forced: bool) -> list[int]:
        """Drafts after the token at `base`, with the cache of a text read one by one."""
        caches: list[list[tuple[Any, Any]]] = [[] for _ in self.names]
        for index in range(base):
            state, draft = self.step(features[index], int(tokens[index + 1]), index, caches)
        drafts = [draft]
        for number in range(1, steps):
            token = int(tokens[base + number]) if forced else drafts[-1]
            state, draft = self.step(state, token, base - 1 + number, caches)
            drafts.append(draft)
        return drafts


@pytest.mark.parametrize(
    "config",
    [{}, {"norm_before_residual": True}, {"norm_output": True}, {"num_hidden_layers": 2}],
    ids=["as SGLang", "norm before residual", "norm output", "two layers"],
)
def test_chains_beside_each_other_are_the_chains_one_by_one(config: dict[str, Any]) -> None:
    tensors = head_tensors(layers=config.get("num_hidden_layers", 1))
    drafter, plain = head(tensors, **config), Plain(tensors, config)
    tokens = np.random.default_rng(8).integers(0, VOCAB, 14)
    states = [drawn(20 + n, len(tokens), WIDTH) for n in range(3)]
    features = drafter.fusion.fused(states)
    assert features == pytest.approx(np.concatenate(states, axis=1) @ tensors["fc.weight"].T, rel=1e-4, abs=1e-5)

    own = drafter.begin(tokens, features)
    drafted = []
    for step in range(4):
        drafted.append(drafter.proposed(own))
        if step < 3:
            drafter.go_on(own, drafted[-1])
    for start in range(len(tokens) - 1):
        wanted = plain.chain(features, tokens, start + 1, 4, forced=False)
        assert [int(d[start]) for d in drafted] == wanted

    judged = judge(drafter, Text(name="a", tokens=tokens, answer_at=3, answer_tokens=8), features, steps=3)
    for row, base in enumerate(judged.bases):
        forced = plain.chain(features, tokens, int(base), min(3, len(tokens) - 1 - int(base)), forced=True)
        own_drafts = plain.chain(features, tokens, int(base), len(forced), forced=False)
        for step, (by_force, by_itself) in enumerate(zip(forced, own_drafts, strict=True)):
            assert judged.judged[row, step]
            assert judged.forced[row, step] == (by_force == tokens[base + 1 + step])
            assert judged.right[row, step] == (by_itself == tokens[base + 1 + step])


LATENT = {"qk_nope_head_dim": 5, "qk_rope_head_dim": 4, "v_head_dim": 7, "q_lora_rank": 8, "kv_lora_rank": 9}


def latent_tensors() -> dict[str, Any]:
    found = {name: tensor for name, tensor in head_tensors().items() if ".self_attn." not in name}
    shapes = {
        "q_a_proj": (8, 2 * H),
        "q_a_layernorm": (8,),
        "q_b_proj": (HEADS * 9, 8),
        "kv_a_proj_with_mqa": (13, 2 * H),
        "kv_a_layernorm": (9,),
        "kv_b_proj": (HEADS * 12, 9),
        "o_proj": (H, HEADS * 7),
    }
    return found | {
        f"midlayer.self_attn.{name}.weight": drawn(60 + n, *shape) for n, (name, shape) in enumerate(shapes.items())
    }


class PlainLatent(Plain):
    """Latent attention as its paper defines it: pairs of neighbours are turned, the turned key is one for all heads."""

    def pairs_turned(self, x: Any, position: int) -> Any:
        out = np.empty_like(x)
        for i in range(2):
            angle = position * 100.0 ** (-2 * i / 4)
            a, b = x[2 * i], x[2 * i + 1]
            out[2 * i] = a * math.cos(angle) - b * math.sin(angle)
            out[2 * i + 1] = b * math.cos(angle) + a * math.sin(angle)
        return out

    def attended(self, seen: Any, position: int, cache: list[tuple[Any, Any]]) -> Any:
        w = {name.split(".")[2]: t for name, t in self.t.items() if ".self_attn." in name}
        asked = w["q_b_proj"] @ self.normed(w["q_a_proj"] @ seen, w["q_a_layernorm"])
        down = w["kv_a_proj_with_mqa"] @ seen
        up = w["kv_b_proj"] @ self.normed(down[:9], w["kv_a_layernorm"])
        turned = self.pairs_turned(down[9:], position)
        cache.append(
            (
                [np.concatenate([up[h * 12 : h * 12 + 5], turned]) for h in range(HEADS)],
                [up[h * 12 + 5 : (h + 1) * 12] for h in range(HEADS)],
            )
        )
        heads = []
        for h in range(HEADS):
            query = asked[h * 9 : (h + 1) * 9]
            query = np.concatenate([query[:5], self.pairs_turned(query[5:], position)])
            scores = np.array([query @ ks[h] for ks, _ in cache]) / math.sqrt(9)
            share = np.exp(scores - scores.max())
            heads.append(sum(s * vs[h] for s, (_, vs) in zip(share / share.sum(), cache, strict=True)))
        return w["o_proj"] @ np.concatenate(heads)

    def normed(self, x: Any, weight: Any) -> Any:
        return x / np.sqrt(np.mean(x * x) + 1e-5) * weight

    def step(self, state: Any, token: int, position: int, caches: list[list[tuple[Any, Any]]]) -> tuple[Any, int]:
        embedded = self.norm(EMBEDDING[token].astype(np.float64), "midlayer.input_layernorm.weight")
        normed = self.norm(state, "midlayer.hidden_norm.weight")
        residual = state + self.attended(np.concatenate([embedded, normed]), position, caches[0])
        inner = self.norm(residual, "midlayer.post_attention_layernorm.weight")
        gate, up = (self.t[f"midlayer.mlp.{part}_proj.weight"] @ inner for part in ("gate", "up"))
        residual = residual + self.t["midlayer.mlp.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)
        draft = int(np.argmax(self.t["lm_head.weight"] @ self.norm(residual, "norm.weight")))
        return residual, draft + int(self.t["d2t"][draft])


def test_latent_attention_chain_by_chain() -> None:
    tensors = latent_tensors()
    drafter, plain = head(tensors, **LATENT), PlainLatent(tensors, LATENT)
    tokens = np.random.default_rng(8).integers(0, VOCAB, 11)
    features = drafter.fusion.fused([drawn(20 + n, len(tokens), WIDTH) for n in range(3)])
    chains = drafter.begin(tokens, features)
    drafted = []
    for _ in range(4):
        drafted.append(drafter.proposed(chains))
        drafter.go_on(chains, drafted[-1])
    for start in range(len(tokens) - 1):
        assert [int(d[start]) for d in drafted] == plain.chain(features, tokens, start + 1, 4, forced=False)
    yarn = {
        "type": "yarn",
        "factor": 32.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    }
    stretched = head(tensors, **LATENT, rope_scaling=yarn).layers[0].attention
    assert stretched.scale == pytest.approx(9**-0.5 * (0.1 * math.log(32.0) + 1.0) ** 2)


def test_a_norm_over_the_whole_input_of_fc_is_the_same_in_parts() -> None:
    tensors = head_tensors() | {"input_norm.weight": drawn(9, 3 * WIDTH)}
    drafter = head(tensors, norm_before_fc=True)
    states = [drawn(20 + n, 5, WIDTH) for n in range(3)]
    joined = np.concatenate(states, axis=1).astype(np.float64)
    normed = joined / np.sqrt(np.mean(joined**2, axis=1, keepdims=True) + 1e-5) * tensors["input_norm.weight"]
    assert drafter.fusion.fused(states) == pytest.approx(normed @ tensors["fc.weight"].T, rel=1e-4, abs=1e-5)


def by_hand(rows: list[str], *, answer_at: int, answer_tokens: int, more: int) -> Judged:
    """Chains written as words of r (right), w (wrong): one word a base, from the answer's first token on."""
    right = np.array([[letter == "r" for letter in row] for row in rows])
    tokens = np.zeros(answer_at + answer_tokens + more, dtype=np.int64)
    bases = np.arange(answer_at, answer_at + len(rows))
    inside = bases[:, None] + 1 + np.arange(right.shape[1])[None, :] < len(tokens)
    text = Text(name="a", tokens=tokens, answer_at=answer_at, answer_tokens=answer_tokens)
    return Judged(text=text, bases=bases, right=right & inside, forced=right, judged=inside, covered=inside)


def test_a_new_chain_begins_after_each_bonus_token() -> None:
    # answer of 7 tokens: base 0 accepts 2 -> base 3 accepts 0 -> base 4 accepts 3, which goes past the end
    judged = by_hand(["rrw", "www", "www", "wrr", "rrr", "www", "rww"], answer_at=5, answer_tokens=7, more=4)
    past = in_service(judged, steps=3, ending="past")
    assert (past.histogram, past.cycles, past.accepted, past.unjudged) == ((1, 0, 1, 1), 3, 5, 0)
    # cut: at base 4 two tokens are wanted, the second is the bonus token: one draft is made, and base 6 is the last
    cut = in_service(judged, steps=3, ending="cut")
    assert (cut.histogram, cut.accepted) == ((1, 1, 1, 0), 3)
    every = over_all(judged, steps=3)
    assert (every.histogram, every.cycles) == ((4, 1, 1, 1), 7)


def test_drafts_beyond_the_stored_text_are_not_counted() -> None:
    judged = by_hand(["rrr", "www", "www", "www"], answer_at=0, answer_tokens=3, more=0)
    assert in_service(judged, steps=3, ending="past").unjudged == 1
    assert in_service(judged, steps=3, ending="cut").histogram == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"d2t": np.full(DRAFTED, VOCAB, dtype=np.int64)}, "leads to token"),
        ({"d2t": np.zeros(3, dtype=np.int64)}, "d2t has 3 entries"),
        ({"fc.weight": drawn(1, H, 3 * WIDTH + 1)}, "no whole number of states"),
        ({"midlayer.self_attn.q_proj.weight": drawn(1, 5, 2 * H)}, r"q_proj.weight is \[5, 24\], by config.json"),
        ({"midlayer.self_attn.q_proj.bias": drawn(1, 3)}, "q_proj.bias is"),
        ({"lm_head.weight": None}, "no lm_head.weight"),
        ({"norm.weight": None}, "no tensor norm.weight"),
        ({"midlayer.self_attn.kv_a_proj_with_mqa.weight": drawn(1, 3, 3)}, "no usable qk_nope_head_dim"),
    ],
)
def test_what_does_not_fit_together_is_said(change: dict[str, Any], said: str) -> None:
    tensors = {name: tensor for name, tensor in (head_tensors() | change).items() if tensor is not None}
    with pytest.raises(CheckpointError, match=said):
        head(tensors)


@given(name=st.sampled_from(sorted(head_tensors())), axis=st.integers(0, 1), by=st.integers(-3, 3), flat=st.booleans())
def test_a_tensor_of_another_shape_is_refused_by_name(name: str, axis: int, by: int, flat: bool) -> None:
    """A head whose tensors do not fit each other ends in a message, never in a calculation."""
    tensors = head_tensors()
    shape = list(tensors[name].shape)
    axis %= len(shape)
    rows_of_head = name == "lm_head.weight" and axis == 0
    shape[axis] += by
    changed = np.resize(tensors[name], math.prod(shape) if flat else shape)
    if changed.shape == tensors[name].shape:
        return
    with pytest.raises(CheckpointError) as caught:
        head(tensors | {name: changed})
    said = str(caught.value)
    assert (name.split(".")[-2] if "." in name else name) in said or rows_of_head or "inner" in said or "mlp" in said


def test_states_of_another_number_or_width_are_refused() -> None:
    fusion = head().fusion
    with pytest.raises(CheckpointError, match="takes 3 states"):
        fusion.fused([drawn(1, 4, WIDTH)] * 2)
    with pytest.raises(CheckpointError, match="states are 11 wide"):
        fusion.fused([drawn(1, 4, WIDTH + 1)] * 3)


def test_a_standalone_model_reads_itself_as_it_reads_a_text() -> None:
    """Its chain is its own greedy continuation: fed with the text that it drafted, it gives the same again."""
    tensors = {"embed_tokens.weight": EMBEDDING, "norm.weight": drawn(4, H), "lm_head.weight": drawn(5, VOCAB, H)}
    for number in range(2):
        tensors |= layer_tensors(f"layers.{number}", H, 50 * (number + 1))
    read = weights({f"model.{name}": tensor for name, tensor in tensors.items()})
    model = llama_of(read, {**CONFIG, "num_hidden_layers": 2}, ("LlamaForCausalLM",))
    tokens = np.random.default_rng(8).integers(0, VOCAB, 6)
    chains = model.begin(tokens)
    drafted = []
    for _ in range(4):
        drafted.append(model.proposed(chains))
        model.go_on(chains, drafted[-1])
    longer = np.concatenate([tokens, [int(d[-1]) for d in drafted[:3]]])
    assert [int(d[-1]) for d in drafted] == [int(t) for t in model.proposed(model.begin(longer))[5:]]
    states, logits = model.states(longer)
    assert (len(states), logits.shape) == (3, (9, VOCAB))
    judged = judge(model, Text(name="a", tokens=longer, answer_at=5, answer_tokens=3), None, steps=2)
    assert judged.right[0].tolist() == [True, True]
    with pytest.raises(CheckpointError, match="architecture OPT"):
        llama_of(read, CONFIG, ("OPT",))


def test_kinds_of_rotation() -> None:
    plain = rope_of({"rope_theta": 100.0}, 8, "a").frequencies
    assert plain == pytest.approx([1.0, 100.0**-0.25, 0.1, 100.0**-0.75])
    halved = rope_of({"rope_theta": 100.0, "rope_scaling": {"type": "linear", "factor": 2.0}}, 8, "a")
    assert halved.frequencies == pytest.approx(plain / 2)
    # llama3: wavelengths above the original length over low_freq_factor are stretched, those under high are kept
    llama3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "rope_theta": 500000.0}
    found = rope_of({"rope_parameters": llama3}, 128, "a").frequencies
    bare = rope_of({"rope_theta": 500000.0}, 128, "a").frequencies
    assert (found[0], found[-1]) == (pytest.approx(bare[0]), pytest.approx(bare[-1] / 8))
    yarn = rope_of({"rope_theta": 1e4, "rope_scaling": {"type": "yarn", "factor": 4.0}}, 64, "a")
    unscaled = rope_of({"rope_theta": 1e4}, 64, "a").frequencies
    assert (yarn.frequencies[0], yarn.frequencies[-1]) == (
        pytest.approx(unscaled[0]),
        pytest.approx(unscaled[-1] / 4),
    )
    assert yarn.factor == pytest.approx(0.1 * math.log(4.0) + 1.0)
    for config in ({"rope_scaling": {"type": "longrope"}}, {"partial_rotary_factor": 0.5}):
        with pytest.raises(CheckpointError, match="not calculated here"):
            rope_of(config, 8, "a")


def test_bf16_is_widened_exactly_and_packed_types_are_refused() -> None:
    halves = np.array([0x3F80, 0xC000, 0x0000], dtype="<u2").tobytes()
    assert widened(viewed(halves, "BF16", (3,), "a"), "BF16").tolist() == [1.0, -2.0, 0.0]
    with pytest.raises(CheckpointError, match="F8_E4M3"):
        viewed(b"\0", "F8_E4M3", (1,), "a: fc")
