"""What each engine version captures for given ids, against the engines' own documented cases."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.comparison import EngineChoice, column_for
from specdoctor.drafter.repair import repair
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.states import at_entries, at_entry, entry_of

KIMI = TargetShape(layers=61, names=frozenset({"KimiK25ForConditionalGeneration", "kimi_k2"}))
LLAMA = TargetShape(layers=32, names=frozenset({"LlamaForCausalLM", "llama"}))
GPT_OSS = TargetShape(layers=36, names=frozenset({"GptOssForCausalLM"}))
NESTED, TOP = "nested", "top"


def config(ids: list[int] | None, place: str = NESTED) -> dict[str, Any]:
    if ids is None:
        return {}
    if place == TOP:
        return {"eagle_aux_hidden_state_layer_ids": ids}
    return {"eagle_config": {"eagle_aux_hidden_state_layer_ids": ids}}


def captured(engine: str, version: str, config: dict[str, Any], target: TargetShape, runner: str | None = None) -> str:
    column = column_for(EngineChoice(name=engine, version=version, runner=runner), config, target)
    assert column is not None
    return "nothing" if column.states is None else " ".join(column.states)


@pytest.mark.parametrize(
    ("target", "ids", "version", "expected"),
    [
        (KIMI, [2, 30, 58], "0.5.12", "out(2) out(30) out(58)"),
        (KIMI, [2, 30, 58], "0.5.13", "out(1) out(29) out(57)"),
        (KIMI, [1, 29, 57], "0.5.13", "out(1) out(29) out(57)"),
        (KIMI, [3, 30, 57], "0.5.23", "out(2) out(29) out(56)"),
        (KIMI, [0, 3, 31], "0.5.20", "embed out(2) out(30)"),
        (KIMI, [0, 3, 31], "0.5.19", "nothing"),
        (KIMI, None, "0.5.12", "out(1) out(29) out(57)"),
        (LLAMA, [1, 15, 28], "0.5.12", "out(1) out(15) out(28)"),
        (LLAMA, [2, 16, 29], "0.5.17", "out(2) out(16) out(29)"),
        (LLAMA, [28, 1, 15], "0.5.17", "out(1) out(15) out(28)"),
        (LLAMA, [2, 16, 31], "0.5.17", "nothing"),
        (LLAMA, [1, 15, 28], "0.4.6", "out(1) out(15) out(28)"),
        (LLAMA, [5, 6, 7], "0.4.6.post5", "out(1) out(15) out(28)"),
        (LLAMA, [-1, 15, 28], "0.5.20", "embed out(15) out(28)"),
        (LLAMA, [-1, 15, 28], "0.5.17", "nothing"),
        (GPT_OSS, [24, 30, 36], "0.5.17", "out(23) out(29) out(35)"),
        (GPT_OSS, [24, 30, 36], "0.5.16", "nothing"),
        (GPT_OSS, [1, 17, 32], "0.5.17", "out(1) out(17) out(32)"),
    ],
)
def test_sglang(target: TargetShape, ids: list[int] | None, version: str, expected: str) -> None:
    assert captured("sglang", version, config(ids), target) == expected


def test_sglang_looks_in_one_place_only() -> None:
    assert captured("sglang", "0.5.23", config([2, 16, 29], TOP), LLAMA) == "out(1) out(15) out(28)"
    assert captured("sglang", "0.5.23", {"eagle_config": "none"}, LLAMA) == "out(1) out(15) out(28)"


@pytest.mark.parametrize(
    ("version", "runner", "place", "expected"),
    [
        ("0.11.0", "v1", TOP, "out(1) out(15) out(28)"),
        ("0.12.0", "v1", TOP, "out(2) out(9) out(19)"),
        ("0.21.0", "v1", NESTED, "out(1) out(15) out(28)"),
        ("0.22.0", "v1", NESTED, "out(2) out(9) out(19)"),
        ("0.33.0", "v1", TOP, "out(2) out(9) out(19)"),
        ("0.33.0", "v2", TOP, "out(2) out(9) out(19)"),
        ("0.33.0", "v2", NESTED, "out(1) out(15) out(28)"),
        ("0.32.0+cpu", "v1", NESTED, "out(2) out(9) out(19)"),
    ],
)
def test_vllm(version: str, runner: str, place: str, expected: str) -> None:
    assert captured("vllm", version, config([20, 3, 10, 3], place), LLAMA, runner) == expected


def test_vllm_reads_the_last_layer_and_block_drafter_ids() -> None:
    assert captured("vllm", "0.32.0", config([0, 16, 32], TOP), LLAMA, "v1") == "embed out(15) out(31)"
    assert captured("vllm", "0.32.0", {"eagle_config": {"layer_ids": [2, 3, 4]}}, LLAMA, "v2") == "out(1) out(2) out(3)"
    block = {"dflash_config": {"target_layer_ids": [1, 2]}}
    assert captured("vllm", "0.32.0", block, LLAMA, "v1") == "out(1) out(2)"
    # A nested object without the key still ends the search of runner v1.
    assert captured("vllm", "0.32.0", {**block, "eagle_config": {}}, LLAMA, "v1") == "out(1) out(15) out(28)"


def test_llamacpp_keeps_the_order_and_wants_three() -> None:
    assert captured("llamacpp", "b11434", {"eagle3.target_layers": [29, 2, 16]}, LLAMA) == "out(28) out(1) out(15)"
    assert captured("llamacpp", "11434", {"eagle3.target_layers": [2, 6]}, LLAMA) == "nothing"
    assert captured("llamacpp", "11434", config([3, 4, 5]), LLAMA) == "out(1) out(15) out(28)"
    assert captured("llamacpp", "11434", config([3, 4, 5], TOP), LLAMA) == "out(2) out(3) out(4)"


def test_trtllm_is_never_certain() -> None:
    column = column_for(EngineChoice(name="trtllm", version="1.3.0"), config([9, 10, 11]), LLAMA)
    assert column is not None
    assert column.states == ("out(1)", "out(15)", "out(28)")
    assert column.doubt


@pytest.mark.parametrize("version", ["0.5.24", "0.5.12.dev3+gabc1234", "0.4.8", "0.6.0rc1"])
def test_a_version_that_was_not_read_leaves_a_doubt(version: str) -> None:
    column = column_for(EngineChoice(name="sglang", version=version), config([1, 15, 28]), LLAMA)
    assert column is not None
    assert column.doubt


def test_a_release_that_was_read_leaves_none() -> None:
    for name, version in (("sglang", "0.5.17"), ("sglang", "0.5.6.post1"), ("vllm", "0.21.0"), ("llamacpp", "b11434")):
        column = column_for(EngineChoice(name=name, version=version), config([1, 15, 28]), LLAMA)
        assert column is not None
        assert column.doubt == "", (name, version)


def test_a_version_older_than_all_rules_has_no_column() -> None:
    assert column_for(EngineChoice(name="sglang", version="0.3.0"), {}, LLAMA) is None


def test_without_a_runner_both_must_agree() -> None:
    same = column_for(EngineChoice(name="vllm", version="0.32.0"), config([2, 9, 20], TOP), LLAMA)
    other = column_for(EngineChoice(name="vllm", version="0.32.0"), config([2, 9, 20]), LLAMA)
    assert same is not None
    assert same.doubt == ""
    assert other is not None
    assert "runner v1 captures out(1), out(8), out(19)" in other.doubt


def test_the_newest_version_of_each_engine_is_one_of_its_own() -> None:
    for engine in ENGINES.values():
        assert engine.release(engine.newest) is not None


@pytest.mark.parametrize(
    ("engine", "version", "runner", "target", "trained", "says"),
    [
        ("sglang", "0.5.23", None, KIMI, (0, 3, 31), "eagle_aux_hidden_state_layer_ids [0, 3, 31]"),
        ("sglang", "0.5.12", None, KIMI, (0, 3, 31), "SGLang 0.5.20 or later can, with"),
        ("sglang", "0.5.23", None, LLAMA, (2, 16, 29), "layer_ids [1, 15, 28]"),
        ("vllm", "0.32.0", "v2", LLAMA, (2, 16, 29), "write eagle_aux_hidden_state_layer_ids [2, 16, 29]"),
        ("vllm", "0.11.0", "v1", LLAMA, (3, 4, 5), "vLLM 0.12.0 or later can"),
        ("llamacpp", "11434", None, LLAMA, (3, 4, 5), "make the GGUF file again"),
        ("trtllm", "1.3.0", None, LLAMA, (3, 4, 5), "eagle3_layers_to_capture [2, 3, 4]"),
        ("sglang", "0.5.23", None, LLAMA, (2, 16, 32), "train it again on"),
    ],
)
def test_a_repair_brings_what_it_says(
    engine: str, version: str, runner: str | None, target: TargetShape, trained: tuple[int, ...], says: str
) -> None:
    said = repair(at_entries(trained), engine, version, runner, config([5, 6, 7]), target).words
    assert says in said


def test_names_of_states() -> None:
    assert [at_entry(i) for i in range(3)] == ["embed", "out(0)", "out(1)"]
    assert [entry_of(at_entry(i)) for i in range(70)] == list(range(70))
    for bad in ("out(-1)", "out", "in(3)", "layer 3", ""):
        with pytest.raises(ValueError, match="no state"):
            entry_of(bad)
