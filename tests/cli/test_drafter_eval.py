"""The drafter alone on the command line: a head whose right answers are built in, fed rightly and wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Command, document
from tests.drafter.folders import put
from tests.drafter.stored import put_safetensors, tensor

V = 16  # vocabulary, and the width of everything: a state can spell a token
ANSWERS = 4
CONFIG = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": V,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "vocab_size": V,
    "draft_vocab_size": V,
    "rms_norm_eps": 1e-5,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 5]},
}


def one_hot(ids: Any) -> Any:
    return np.eye(V, dtype=np.float32)[np.asarray(ids) % V]


def head_folder(folder: Path, **config: Any) -> Path:
    """A head that says aloud what the middle third of its input spells, and nothing of its own."""
    zero, one = np.zeros((V, V), dtype=np.float32), np.eye(V, dtype=np.float32)
    wide = np.zeros((V, 2 * V), dtype=np.float32)
    tensors = {
        "fc.weight": np.concatenate([zero, one, zero], axis=1),
        "norm.weight": np.ones(V, dtype=np.float32),
        "lm_head.weight": one,
        "d2t": np.zeros(V, dtype=np.int64),
        **{f"midlayer.{n}.weight": np.ones(V, dtype=np.float32) for n in ("input_layernorm", "hidden_norm")},
        "midlayer.post_attention_layernorm.weight": np.ones(V, dtype=np.float32),
        **{f"midlayer.self_attn.{p}_proj.weight": wide for p in "qkv"},
        "midlayer.self_attn.o_proj.weight": zero,
        **{f"midlayer.mlp.{p}_proj.weight": zero for p in ("gate", "up", "down")},
    }
    return put(folder, {**CONFIG, **config}, {name: tensor(array) for name, array in tensors.items()})


@pytest.fixture
def states(tmp_path: Path) -> Path:
    """Four texts of pairs of equal tokens; out(2) spells the token two places on, the other states lead astray."""
    arrays: dict[str, Any] = {"embed_tokens.weight": np.eye(V, dtype=np.float32)}
    for number in range(ANSWERS):
        tokens = (np.arange(30) // 2 * (number + 1)) % V
        ahead = np.concatenate([tokens[2:], [0, 0]])
        arrays |= {
            f"{number}.tokens": tokens.astype(np.int64),
            f"{number}.greedy": tokens.astype(np.int64),
            f"{number}.answer": np.array([4, 16]),
            f"{number}.out(1)": one_hot(ahead + 3),
            f"{number}.out(2)": one_hot(ahead),
            f"{number}.out(5)": one_hot(ahead + 7),
        }
    return put_safetensors(tmp_path / "states.safetensors", arrays)


def test_a_head_that_is_right_at_its_first_draft_and_blind_after_it(
    specdoctor: Command, tmp_path: Path, states: Path
) -> None:
    """Pairs of equal tokens: from the first of a pair the second draft repeats rightly, from the second wrongly."""
    folder = head_folder(tmp_path / "head")
    words = ("drafter", "eval", "--draft", str(folder), "--states", str(states), "--draft-steps", "2", "--json")
    found = document(specdoctor(*words, "--feed", "out(1),out(2),out(5)", "--feed", "out(2),out(1),out(5)"))
    assert found["schema"] == "specdoctor.drafter-eval/1"
    right, wrong = found["fed"]
    assert right["steps"][0]["forced"]["value"] == 1.0
    assert right["steps"][1]["forced"]["value"] < 0.6
    # base 4 is the first of a pair: drafts its second (right), and again (wrong): the bonus token is a first one again
    assert (right["accept_length"]["value"], right["cycles"]) == (2.0, ANSWERS * 8)
    assert 2.0 < right["over_all_positions"]["value"] < 3.0
    assert (wrong["accept_length"]["value"], wrong["steps"][0]["forced"]["value"]) == (1.0, 0.0)
    assert (found["text_is_greedy"], found["sequences"]) == (1.0, ANSWERS)


def test_the_search_names_the_states(specdoctor: Command, tmp_path: Path, states: Path) -> None:
    head_folder(tmp_path / "head")
    words = ("drafter", "eval", "--draft", "head", "--states", "states.safetensors")
    found = document(specdoctor(*words, "--feed", "out(1),out(2),out(5)", "--search-wiring", "--json"))
    assert found["search"]["tried"] == 6
    best = [ranked["states"][1] for ranked in found["search"]["best"]]
    assert best[:2] == ["out(2)", "out(2)"]
    assert "out(2)" not in best[2:]
    accuracy = ("--trained-accuracy", "0.9")
    wrong = ("--feed", "out(2),out(1),out(5)")
    restored = document(
        specdoctor(*words, "--feed", "out(1),out(2),out(5)", *wrong, *accuracy, "--search-wiring", "--json")
    )
    assert restored["as_trained"]["found"] == [["out(1)", "out(2)", "out(5)"], ["out(5)", "out(2)", "out(1)"]]
    assert (restored["as_trained"]["restored"], restored["as_trained"]["short"]) == (
        ["out(1) out(2) out(5)"],
        ["out(2) out(1) out(5)"],
    )
    shown = specdoctor(*words, *wrong, *accuracy, "--search-wiring").stdout
    assert "0.9 at the first step; not by out(2) out(1) out(5); 2 of 6 choices reach it" in " ".join(shown.split())
    assert "6 ordered choices" in " ".join(shown.split())
    assert "over all positions is another quantity" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_the_record_and_the_engine_name_the_states(specdoctor: Command, tmp_path: Path, states: Path) -> None:
    folder = head_folder(tmp_path / "head")
    (folder / "record.yaml").write_text("trained_on: [out(1), out(2), out(5)]\n")
    target = put(tmp_path / "target", {"num_hidden_layers": 8, "architectures": ["LlamaForCausalLM"], "hidden_size": V},
                 {"model.embed_tokens.weight": tensor(np.eye(V, dtype=np.float32))})  # fmt: skip
    words = ("drafter", "eval", "--draft", str(folder), "--states", str(states), "--json")
    found = document(specdoctor(*words, "--target", str(target), "--engine", "sglang", "--engine-version", "0.5.17"))
    assert [(fed["label"], fed["states"]) for fed in found["fed"]] == [
        ("trained on", ["out(1)", "out(2)", "out(5)"]),
        ("captured by sglang 0.5.17", ["out(1)", "out(2)", "out(5)"]),
    ]
    off = json.loads((folder / "config.json").read_text())
    off["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [1, 3, 5]
    (folder / "config.json").write_text(json.dumps(off))
    shown = specdoctor(*words, "--target", str(target), "--engine", "sglang", "--engine-version", "0.5.17")
    assert shown.exit_code == 2
    assert "out(3) is not among the stored states" in shown.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "which states is it to be fed"),
        (("--feed", "layer 3"), "is no state"),
        (("--feed", "out(1),out(2)"), "takes 3 states"),
        (("--engine", "sglang"), "depends on the target's layers"),
        (("--feed", "out(1),out(2),out(5)", "--draft-steps", "30"), "no answer in it is long enough"),
        (
            ("--feed", "out(1),out(2),out(5)", "--search-wiring", "--states-to-try", "out(1),out(2)"),
            "the drafter takes 3",
        ),
        (
            ("--feed", "out(1),out(2),out(5)", "--search-wiring", "--states-to-try", "out(0),out(2),out(5)"),
            "out(0) is not among the stored states",
        ),
        (
            ("--feed", "out(1),out(2),out(5)", "--search-wiring", "--states-to-try", "nonsense,x,y"),
            "nonsense is not among the stored states",
        ),
        (("--feed", "out(1),out(2),out(5)", "--states-to-try", "out(1),out(2),out(5)"), "nothing is searched"),
        (("--feed", ""), "takes 3 states"),
    ],
)
def test_what_cannot_be_tested_is_said(
    specdoctor: Command, tmp_path: Path, states: Path, more: tuple[str, ...], said: str
) -> None:
    arrays_on_top = states  # three states for three places would be fed in their order: a fourth makes it a question
    raw = _with_fourth(arrays_on_top, tmp_path)
    folder = head_folder(tmp_path / "head")
    shown = specdoctor("drafter", "eval", "--draft", str(folder), "--states", str(raw), *more)
    assert shown.exit_code == 2, shown.stdout
    assert said in " ".join(shown.stderr.split())
    assert shown.stdout == ""


def _with_fourth(states: Path, tmp_path: Path) -> Path:
    from specdoctor.app.dump_reading import read_dumps

    (dump,) = read_dumps(states, names=())
    arrays: dict[str, Any] = {"embed_tokens.weight": np.eye(V, dtype=np.float32)}
    for sample in dump.samples:
        arrays |= {f"{sample.name}.{name}": array for name, array in sample.states.items()}
        arrays |= {f"{sample.name}.tokens": sample.tokens, f"{sample.name}.out(6)": sample.states["out(1)"]}
    return put_safetensors(tmp_path / "four.safetensors", arrays)


def test_states_without_names_are_fed_by_their_place(specdoctor: Command, tmp_path: Path, states: Path) -> None:
    from specdoctor.app.dump_reading import read_dumps

    (dump,) = read_dumps(states, names=())
    (tmp_path / "dump").mkdir()
    for sample in dump.samples:
        parts = [sample.states[f"out({n})"] for n in (1, 2, 5)]
        last = np.zeros((len(sample.tokens), V), dtype=np.float32)
        arrays = {"token_ids": sample.tokens, "hidden_states": np.stack([*parts, last], axis=1)}
        put_safetensors(tmp_path / "dump" / f"hs_{sample.name}.safetensors", arrays)
    target = put(tmp_path / "target", {"num_hidden_layers": 8, "hidden_size": V},
                 {"model.embed_tokens.weight": tensor(np.eye(V, dtype=np.float32)),
                  "model.norm.weight": tensor(np.ones(V, dtype=np.float32))})  # fmt: skip
    head_folder(tmp_path / "head")
    words = ("drafter", "eval", "--draft", "head", "--states", "dump", "--target", str(target), "--json")
    as_stored = document(specdoctor(*words))
    assert (as_stored["layout"], as_stored["fed"][0]["label"]) == ("speculators", "as stored")
    assert as_stored["states"] == ["place 1", "place 2", "place 3"]
    turned = document(specdoctor(*words, "--feed", "place 2,place 1,place 3"))
    lengths = [found["fed"][0]["accept_length"]["value"] for found in (as_stored, turned)]
    assert lengths[0] > 1.5
    assert lengths[1] == 1.0


def test_a_missing_embedding_is_named(specdoctor: Command, tmp_path: Path) -> None:
    bare = put_safetensors(
        tmp_path / "bare.safetensors", {"tokens": np.arange(9), **{f"out({n})": one_hot(range(9)) for n in (1, 2, 5)}}
    )
    folder = head_folder(tmp_path / "head")
    shown = specdoctor("drafter", "eval", "--draft", str(folder), "--states", str(bare))
    assert (shown.exit_code, "no embedding of its own" in shown.stderr) == (2, True)
