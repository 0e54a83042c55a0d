"""The models of the live tests: what is planted stands in the files, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from specdoctor.drafter.gguf import parse_gguf
from tests.live.ground import runs_again, servers_on
from tests.live.scenarios import LLAMACPP, VLLM, Scenario, right, speed_up
from tests.live.tiny_models import RECORD, load, makers, other_tokenizer, without_map, write
from tests.transports.ssh_servers import free_port


def test_heads_carry_the_layers_that_are_planted() -> None:
    planted = {
        "eagle3": [2, 4, 6],
        "eagle3-aux-off1": [1, 3, 5],
        "eagle3-aux-early": [1, 2, 3],
        "eagle3-aux-missing": [2, 4, 5],
    }
    assert RECORD == "trained_on: [out(1), out(3), out(5)]\n"  # the inputs of layers 2, 4 and 6
    models = makers()
    for name, ids in planted.items():
        assert models[name]().config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == ids


def test_a_map_in_gguf_holds_target_ids(tmp_path: Path) -> None:
    head = load("tiny-eagle3", tokenizer=load("tiny-target"))
    path = tmp_path / "head.gguf"
    for model, identity in ((head, False), (without_map(head), True)):
        write(model, path)
        raw = path.read_bytes()
        header = parse_gguf(raw, "x")
        tensor = header.tensors["d2t"]
        ids = np.frombuffer(raw[header.data_at + tensor.begin : header.data_at + tensor.end], np.int64)
        assert bool((ids == np.arange(len(ids))).all()) is identity
        assert header.metadata["eagle3.target_layers"] == [2, 4, 6]


def test_shuffled_ids_keep_the_rows_of_their_words() -> None:
    draft = load("tiny-draft")
    other = other_tokenizer(draft)
    before, after = draft.tokenizer["model"]["vocab"], other.tokenizer["model"]["vocab"]
    word = next(text for text in before if before[text] != after[text])
    name = "model.embed_tokens.weight"
    assert (other.tensors[name][after[word]] == draft.tensors[name][before[word]]).all()


def test_every_scenario_names_models_that_are_made() -> None:
    known = set(makers())
    for scenario in (*LLAMACPP, *VLLM):
        named = {part for part in known if f"{{models}}/{part}" in scenario.words}
        assert named, scenario.name
        assert scenario.target in known


def test_nothing_runs_on_a_port_that_is_free() -> None:
    port = free_port()
    assert servers_on(port) == []
    assert not runs_again(("llama-server", "--port", str(port)), port)


def test_a_scenario_is_right_by_what_was_planted_and_nothing_else() -> None:
    planted = Scenario("x", "", ("WIRE-1",))
    assert right(planted, "not-enough-evidence", ("WIRE-1",), (), "")
    assert right(planted, "cause", (), ("WIRE-1",), "")
    assert not right(planted, "cause", ("WIRE-1",), ("TRAIN-2",), "")
    assert not right(planted, "healthy", (), (), "twice as fast")
    assert right(Scenario("x", ""), "healthy", (), (), "twice as fast")
    assert not right(Scenario("x", ""), "healthy", (), (), "")
    assert not right(Scenario("x", ""), "cause", ("CFG-4",), ("CFG-4",), "slower")


def test_a_gain_is_told_with_its_interval_or_not_at_all() -> None:
    told = {"about": "speculation", "text": "2.0 (1.8-2.2) times", "throughput_ratio_interval": [1.8, 2.2]}
    assert speed_up({"comparisons": [{"about": "workers"}, told]}) == "2.0 (1.8-2.2) times"
    assert speed_up({"comparisons": [{**told, "throughput_ratio_interval": None}]}) == ""
    assert speed_up({}) == ""
