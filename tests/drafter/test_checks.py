"""Each check of a drafter's files: what it finds, and that a whole pair leaves all of them silent."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from specdoctor.assembly.catalogue import all_drafter_checks
from specdoctor.core.model import Verdict
from specdoctor.drafter.comparison import EngineChoice
from tests.drafter.folders import (
    DRAFTED,
    HIDDEN,
    LAYERS,
    TARGET_IDS,
    VOCAB,
    Tensors,
    bf16,
    head_config,
    head_tensors,
    noise,
    put,
    put_head,
    put_target,
    target_config,
    tokenizer_text,
)
from tests.drafter.judging import LLAMACPP, SGLANG, VLLM_V1, causes, judged

TRAINED = "out(1), out(5), out(8)"
WORDS = [f"w{i}" for i in range(VOCAB)]
OTHER = [WORDS[i] for i in (*range(2), *range(VOCAB - 1, 1, -1))]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return put_target(tmp_path / "target")


def ints(code: str, values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


def head(folder: Path, *, without: tuple[str, ...] = (), put_in: Tensors | None = None, **more: Any) -> Path:
    tensors = {name: tensor for name, tensor in head_tensors().items() if name not in without}
    return put(folder, head_config(**more), {**tensors, **(put_in or {})})


def test_a_whole_pair_is_healthy(tmp_path: Path, target: Path) -> None:
    found = judged(put_head(tmp_path / "head"), target, trained=TRAINED)
    assert found.verdict is Verdict.HEALTHY
    assert found.findings == ()
    assert found.trial.loads


@pytest.mark.parametrize(
    ("trained", "verdict"), [(10000.0, Verdict.HEALTHY), (500000.0, Verdict.CAUSE)], ids=["as-trained", "other"]
)
def test_positions_are_those_of_the_training_where_its_config_is_there(
    trained: float, verdict: Verdict, tmp_path: Path
) -> None:
    """What the trainer wrote decides; that the target turns its positions by another base is then no doubt."""
    served = {"rope_theta": 10000.0}
    base = put_target(tmp_path / "target", rope_theta=500000.0)
    folder = head(tmp_path / "head", **served)
    (folder / "draft.json").write_text(json.dumps(head_config(rope_theta=trained)))
    found = judged(folder, base, trained=TRAINED)
    assert (found.verdict, causes(found)) == (verdict, [] if verdict is Verdict.HEALTHY else ["WIRE-6"])


MAP = "drafter-vocabulary-map"
FOUND: list[tuple[str, str, dict[str, Any], str]] = [
    ("drafter-fc-width", "WIRE-1", {"ids": [1, 5]}, "that is 3 states of 8; 2 are captured"),
    ("drafter-fc-width", "WIRE-1", {"put_in": {"fc.weight": noise("BF16", (HIDDEN, 20))}}, "no whole number of states"),
    ("drafter-fc-width", "WIRE-1", {"eagle_config": {"use_aux_hidden_state": False}}, "the engine skips it"),
    (MAP, "WIRE-3", {"without": ("d2t", "t2d")}, "there is no d2t"),
    (MAP, "WIRE-3", {"put_in": {"d2t": ("I64", (DRAFTED,), bytes(8 * DRAFTED))}}, "all zero"),
    (MAP, "WIRE-3", {"put_in": {"d2t": ("I64", (DRAFTED,), ints("q", TARGET_IDS))}}, "target ids where offsets"),
    (MAP, "WIRE-3", {"put_in": {"d2t": ("I64", (DRAFTED,), ints("q", [9] * DRAFTED))}}, "different tokens"),
    (MAP, "WIRE-3", {"put_in": {"d2t": ("I64", (DRAFTED,), ints("q", [-3] * DRAFTED))}}, "ids from -3"),
    (MAP, "WIRE-3", {"put_in": {"d2t": noise("I64", (DRAFTED - 1,))}}, "shape [15]"),
    (MAP, "WIRE-3", {"draft_vocab_size": DRAFTED - 1}, "the head has 16 rows"),
    ("drafter-tensors", "WIRE-2", {"without": ("lm_head.weight",)}, "lm_head"),
    ("drafter-tensors", "WIRE-2", {"without": ("norm.weight", "midlayer.hidden_norm.weight")}, "hidden_norm, norm"),
    ("drafter-tensors", "WIRE-2", {"tie_word_embeddings": True}, "own lm_head is dropped"),
    ("drafter-tensors", "WIRE-2", {"put_in": {"midlayer.self_attn.q_norm.weight": noise("BF16", (8,))}}, "q_norm"),
    ("drafter-initial", "WIRE-2", {"put_in": {"norm.weight": ("BF16", (8,), bytes(16))}}, "all zero"),
    ("drafter-options", "WIRE-2", {"norm_before_residual": True}, "SGLang does not have it"),
    ("drafter-options", "WIRE-2", {"put_in": {"input_norm.weight": noise("BF16", (24,))}}, "the norm is dropped"),
    ("drafter-tokens", "MIS-1", {"vocab_size": VOCAB + 8}, "the drafter has 40 tokens, the target 32"),
    ("drafter-quantisation", "MIS-3", {"quantization_config": {"quant_method": "fp8"}}, "the projections are BF16"),
]


@pytest.mark.parametrize(("check", "cause", "made", "says"), FOUND, ids=[f"{f[0]}-{i}" for i, f in enumerate(FOUND)])
def test_a_fault_is_found_without_a_training_record(
    tmp_path: Path, target: Path, check: str, cause: str, made: dict[str, Any], says: str
) -> None:
    found = judged(head(tmp_path / "head", **made), target)
    mine = [f for f in found.findings if f.check == check]
    assert [f.cause for f in mine] == [cause]
    assert says in mine[0].claim
    assert mine[0].status == "supported"
    assert mine[0].evidence
    assert mine[0].evidence[0].source
    assert found.verdict is Verdict.CAUSE
    assert {f.check for f in found.findings} <= {check, "layer-wiring"}


DOUBTED: list[tuple[str, str, dict[str, Any], str]] = [
    ("drafter-positions", "TRAIN-4", {"max_position_embeddings": 2048}, "2048 positions, the target 4096"),
    ("drafter-positions", "WIRE-6", {"rope_theta": 500000.0}, "rope_theta"),
    ("drafter-positions", "WIRE-6", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_scaling"),
    ("drafter-tensors", "WIRE-2", {"put_in": {"embed_tokens.weight": noise("BF16", (VOCAB, 8))}}, "target's embedding"),
    (
        "drafter-initial",
        "WIRE-2",
        {"put_in": {n: ("BF16", s, bf16([1.0] * 8)) for n, (_, s, _) in head_tensors().items() if s == (8,)}},
        "untrained",
    ),
    (
        "drafter-quantisation",
        "MIS-3",
        {"put_in": {"midlayer.mlp.up_proj.weight": noise("F8_E4M3", (16, 8))}},
        "F8_E4M3",
    ),
]


@pytest.mark.parametrize(
    ("check", "cause", "made", "says"), DOUBTED, ids=[f"{d[1]}-{i}" for i, d in enumerate(DOUBTED)]
)
def test_a_doubt_is_told_with_its_test(
    tmp_path: Path, target: Path, check: str, cause: str, made: dict[str, Any], says: str
) -> None:
    found = judged(head(tmp_path / "head", **made), target, trained=TRAINED)
    assert [(f.check, f.cause, f.status) for f in found.findings] == [(check, cause, "suspected")]
    assert says in found.findings[0].claim
    assert found.findings[0].next_check
    assert found.verdict is Verdict.NOT_ENOUGH_EVIDENCE


def test_a_map_to_the_first_ids_is_right_where_t2d_says_so(tmp_path: Path, target: Path) -> None:
    first = bytes(int(i < DRAFTED) for i in range(VOCAB))
    made: Tensors = {"d2t": ("I64", (DRAFTED,), bytes(8 * DRAFTED)), "t2d": ("BOOL", (VOCAB,), first)}
    assert causes(judged(head(tmp_path / "head", put_in=made), target, trained=TRAINED)) == []


def test_options_are_right_in_versions_that_know_them(tmp_path: Path, target: Path) -> None:
    norm = {"input_norm.weight": noise("BF16", (24,))}
    made = head(tmp_path / "head", put_in=norm, norm_before_fc=True)
    assert causes(judged(made, target, trained=TRAINED)) == ["WIRE-2"]
    newer = EngineChoice(name="sglang", version="0.5.18")
    assert causes(judged(made, target, trained=TRAINED, choice=newer)) == []
    vllm = EngineChoice(name="vllm", version="0.32.0", runner="v1")
    assert "WIRE-2" not in causes(judged(made, target, choice=vllm))


def standalone(folder: Path, words: list[str], **more: Any) -> Path:
    size = more.get("vocab_size", VOCAB)
    tensors: Tensors = {
        "model.embed_tokens.weight": noise("BF16", (size, HIDDEN)),
        "model.layers.0.self_attn.q_proj.weight": noise("BF16", (HIDDEN, HIDDEN)),
        "lm_head.weight": noise("BF16", (size, HIDDEN)),
    }
    return put(folder, target_config(num_hidden_layers=1, **more), tensors, tokenizer__json=tokenizer_text(words))


@pytest.fixture
def speaking(tmp_path: Path) -> Path:
    """A target with its tokenizer."""
    folder = put_target(tmp_path / "speaking")
    (folder / "tokenizer.json").write_text(tokenizer_text(WORDS, special={0: "<s>"}))
    return folder


def test_a_draft_model_of_the_same_tokenizer_is_healthy(tmp_path: Path, speaking: Path) -> None:
    draft = standalone(tmp_path / "draft", WORDS)
    (draft / "tokenizer.json").write_text(tokenizer_text(WORDS, special={0: "<s>"}))
    found = judged(draft, speaking, choice=VLLM_V1)
    assert found.verdict is Verdict.HEALTHY
    assert found.captured == ()


def test_another_tokenizer_of_the_same_size_is_found(tmp_path: Path, speaking: Path) -> None:
    found = judged(standalone(tmp_path / "draft", OTHER), speaking, choice=VLLM_V1)
    assert causes(found) == ["MIS-1"]
    assert "another tokenizer: 30 of 32" in found.findings[0].claim or "31 of 32" in found.findings[0].claim


def test_one_other_special_token_is_a_doubt(tmp_path: Path, speaking: Path) -> None:
    draft = standalone(tmp_path / "draft", WORDS)
    (draft / "tokenizer.json").write_text(tokenizer_text(WORDS, special={0: "<begin>"}))
    found = judged(draft, speaking, choice=VLLM_V1)
    assert causes(found, "suspected") == ["MIS-1"]
    assert "'<begin>' against '<s>'" in found.findings[0].claim


@pytest.mark.parametrize(("engine", "status"), [("vllm", "supported"), ("llamacpp", "suspected")])
def test_padding_is_refused_by_one_engine_and_taken_by_another(
    tmp_path: Path, speaking: Path, engine: str, status: str
) -> None:
    draft = standalone(tmp_path / "draft", WORDS, vocab_size=VOCAB + 8)
    (draft / "tokenizer.json").write_text(tokenizer_text(WORDS, special={0: "<s>"}))
    choice = VLLM_V1 if engine == "vllm" else LLAMACPP
    assert causes(judged(draft, speaking, choice=choice), status) == ["MIS-1"]


def test_layers_that_a_draft_model_lacks_are_named(tmp_path: Path, speaking: Path) -> None:
    draft = standalone(tmp_path / "draft", WORDS)
    config = target_config(num_hidden_layers=3)
    put(draft, config, {n: noise("BF16", (VOCAB, HIDDEN)) for n in ("model.embed_tokens.weight", "lm_head.weight")})
    (draft / "tokenizer.json").unlink()
    assert "layer 0, layer 1, layer 2" in judged(draft, speaking, choice=VLLM_V1).headline
    assert LAYERS == 12


@pytest.mark.parametrize(
    ("engine", "method", "kind", "found"),
    [
        ("sglang", "EAGLE", "head", True),
        ("sglang", "NEXTN", "head", True),
        ("sglang", "EAGLE3", "head", False),
        ("vllm", "draft_model", "head", True),
        ("llamacpp", "draft-simple", "head", True),
        ("vllm", "draft_model", "model", False),
        ("sglang", "EAGLE3", "model", True),
    ],
)
def test_a_method_that_does_not_fit(
    tmp_path: Path, target: Path, engine: str, method: str, kind: str, found: bool
) -> None:
    choice = {"sglang": SGLANG, "vllm": VLLM_V1, "llamacpp": LLAMACPP}[engine]
    draft = put_head(tmp_path / "head") if kind == "head" else standalone(tmp_path / "small", WORDS)
    assert ("CFG-2" in causes(judged(draft, target, choice=choice, method=method))) is found


def test_a_folder_whose_name_changes_the_method(tmp_path: Path, target: Path) -> None:
    draft = standalone(tmp_path / "qwen-eagle3-small", WORDS)
    found = judged(draft, target, choice=VLLM_V1, method="draft_model")
    assert causes(found) == ["CFG-2"]
    assert "rename the folder" in found.findings[0].fix
    assert causes(judged(draft, target, choice=SGLANG, method="STANDALONE")) == []


def test_another_chat_template_is_a_doubt(tmp_path: Path, target: Path) -> None:
    draft = put_head(tmp_path / "head")
    (draft / "chat_template.jinja").write_text("{{ messages }} ")
    (target / "chat_template.jinja").write_text("{{ messages }}")
    assert judged(draft, target, trained=TRAINED).verdict is Verdict.HEALTHY
    (target / "chat_template.jinja").write_text("{{ messages }}<think>")
    assert causes(judged(draft, target, trained=TRAINED), "suspected") == ["TRAIN-1"]


def test_shapes_say_whether_a_trial_is_possible(tmp_path: Path, target: Path) -> None:
    found = judged(put_head(tmp_path / "head", hidden_size=16, vocab_size=40), target).trial
    assert not found.loads
    assert {row.name for row in found.shapes if row.answer == "differs"} == {"hidden size it expects", "vocabulary"}


def test_every_check_is_tried_here() -> None:
    tried = {f[0] for f in FOUND} | {d[0] for d in DOUBTED} | {"drafter-method", "drafter-template"}
    assert tried == {check.name for check in all_drafter_checks()}
    for check in all_drafter_checks():
        assert check.summary.endswith(".")
        named = {f[1] for f in [*FOUND, *DOUBTED] if f[0] == check.name}
        assert named <= set(check.causes)
