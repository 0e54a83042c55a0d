"""Training records in the forms that trainers write."""

from __future__ import annotations

import json

import pytest

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.records.table import found_record, read_record

LLAMA = TargetShape(layers=32, names=frozenset({"LlamaForCausalLM"}))
KIMI = TargetShape(layers=61, names=frozenset({"KimiK25ForConditionalGeneration"}))

SPECFORGE = """
model:
  target_model_path: /models/base
  draft_model_config: configs/head.json
  aux_hidden_state_layer_ids: {ids}
training: {{num_epochs: 2}}
"""
REFERENCE = """
        for idx, decoder_layer in enumerate(self.layers):
            if idx==len(self.layers)-3 or idx==len(self.layers)//2 or idx==2:
                all_hidden_states += (hidden_states,)
"""
DUMP = """
out = model(ids, output_hidden_states=True)
states = torch.cat([out.hidden_states[0], out.hidden_states[3], out.hidden_states[31]], dim=-1)
"""


def read(text: str, name: str, *, target: TargetShape | None = LLAMA, draft: dict[str, object] | None = None) -> str:
    record = read_record(text, name, draft_config=draft or {}, target=target, strict=True)
    return "none" if record is None else " ".join(record.states) + (" ?" if record.doubt else "")


NESTED = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [3, 4, 5]}}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("trained_on: [embed, out(2), out(30)]", "record.yaml", "embed out(2) out(30)"),
        ("run: {drafter: {trained_on: [out(5), out(1)]}}", "notes.yml", "out(5) out(1)"),
        (SPECFORGE.format(ids="[1, 15, 28]"), "run.yaml", "out(1) out(15) out(28)"),
        (SPECFORGE.format(ids="[28, 15, 1]"), "run.yaml", "out(1) out(15) out(28)"),
        (SPECFORGE.format(ids="null"), "run.yaml", "out(1) out(15) out(28)"),
        ('{"capture_layers": [2, 16, 29], "target_model": "/m"}', "provenance.json", "out(2) out(16) out(29)"),
        ('{"training": {"capture_layers": [2, 16]}}', "p.json", "out(2) out(16)"),
        (json.dumps({"speculators_model_type": "eagle3"}), "config.json", "out(1) out(15) out(28)"),
        (
            json.dumps({"speculators_model_type": "eagle3", "eagle_aux_hidden_state_layer_ids": [0, 3, 32]}),
            "config.json",
            "embed out(2) out(31)",
        ),
        ("states: {hidden_states: [0, 3, 31]}", "run.yaml", "embed out(2) out(30)"),
        ("states: {hidden_states: [0, 3, 31], concat: [31, 0, 3]}", "run.yaml", "out(30) embed out(2)"),
        ("states: {hidden_states: [3, 31, 32]}", "run.yaml", "out(2) out(30) out(31) ?"),
        ("states: {hidden_states: [3, 31, 50]}", "run.yaml", "out(2) out(30) out(49) ?"),
        (REFERENCE, "modeling_llama_kv.py", "out(1) out(15) out(28)"),
        (DUMP, "dump.py", "embed out(2) out(30)"),
        ("learning_rate: 1.0e-4", "run.yaml", "none"),
        (json.dumps({"hidden_size": 8, **NESTED}), "config.json", "none"),
        ("import os", "train.py", "none"),
        ("just words", "notes.yaml", "none"),
    ],
)
def test_what_a_drafter_was_trained_on(text: str, name: str, expected: str) -> None:
    assert read(text, name) == expected


def test_specforge_without_an_override_takes_the_draft_config() -> None:
    assert read(SPECFORGE.format(ids="null"), "run.yaml", draft=NESTED) == "out(3) out(4) out(5)"


def test_specforge_on_a_target_that_its_versions_read_differently_leaves_a_doubt() -> None:
    assert read(SPECFORGE.format(ids="[2, 30, 58]"), "run.yaml", target=KIMI) == "out(2) out(30) out(58) ?"
    assert read(SPECFORGE.format(ids="[1, 29, 57]"), "run.yaml", target=KIMI) == "out(1) out(29) out(57)"


def test_a_word_that_is_no_state_is_refused_with_its_key() -> None:
    with pytest.raises(CheckpointError, match=r"record\.yaml: trained_on: .* is no state"):
        read("trained_on: [layer 2]", "record.yaml")


@pytest.mark.parametrize(("name", "text"), [("run.yaml", "a: [1"), ("run.json", "{,}")])
def test_a_file_that_does_not_parse_is_refused_only_when_it_was_named(name: str, text: str) -> None:
    with pytest.raises(CheckpointError, match=name):
        read(text, name)
    assert found_record({name: text}, draft_config={}, target=LLAMA) is None


def lying_about(**texts: str) -> TrainingRecord | None:
    named = {name.replace("__", "."): text for name, text in texts.items()}
    return found_record(named, draft_config={}, target=LLAMA)


def test_records_that_contradict_each_other_leave_a_doubt() -> None:
    record = lying_about(a__yaml="trained_on: [out(1)]", b__yaml="trained_on: [out(2)]", c__yaml="lr: 1")
    assert record is not None
    assert record.doubt == "b.yaml says otherwise: out(2)"
    agreed = lying_about(a__yaml="trained_on: [out(1)]", b__yaml="trained_on: [out(1)]")
    assert agreed is not None
    assert agreed.doubt == ""


def test_yaml_that_would_build_objects_builds_none() -> None:
    assert lying_about(a__yaml="trained_on: !!python/object/apply:os.system [id]") is None
