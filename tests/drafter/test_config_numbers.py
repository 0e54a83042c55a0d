"""Numbers of a configuration that no model can have are told with file and key, wherever they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.checks.layer_wiring import check as layer_wiring
from specdoctor.core.errors import CheckpointError
from specdoctor.core.facts import Facts, HostFacts
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.drafter.alone.rope import rope_of
from specdoctor.drafter.config_numbers import SPANS, checked, faults_of, number_fault
from tests.drafter.folders import head_config, target_config

ODD: tuple[Any, ...] = (math.nan, math.inf, -1, "x", "1", True, 10**400, 1e300, 0.5)


@pytest.mark.parametrize("key", SPANS)
def test_a_number_out_of_its_span_is_told_with_file_and_key(key: str) -> None:
    for value in ODD:
        if number_fault(key, value):
            with pytest.raises(CheckpointError, match=f"d/config.json: (rope_scaling.)?{key} is "):
                checked({"rope_scaling": {key: value}}, "d/config.json")
    assert sum(bool(number_fault(key, value)) for value in ODD) >= 7


def test_every_fault_of_a_file_is_told_at_once() -> None:
    with pytest.raises(CheckpointError, match=r"hidden_size is 0, .*; text_config\.rope_theta is nan, "):
        checked({"hidden_size": 0, "text_config": {"rope_theta": math.nan}}, "c")


@pytest.mark.parametrize("config", [target_config(), head_config(), {"rope_theta": None, "head_dim": None}])
def test_what_models_have_is_no_fault(config: Mapping[str, Any]) -> None:
    assert list(faults_of(config)) == []


NUMBERS = st.one_of(st.sampled_from(ODD), st.integers(), st.floats(), st.none(), st.text(max_size=2))


@settings(max_examples=30)
@given(
    scaling=st.dictionaries(st.sampled_from([*SPANS, "attention_factor"]), NUMBERS, max_size=6),
    outer=st.dictionaries(st.sampled_from(["rope_theta", "max_position_embeddings"]), NUMBERS),
    kind=st.sampled_from(["default", "linear", "llama3", "yarn"]),
)
def test_a_rotation_is_finite_or_refused(scaling: dict[str, Any], outer: dict[str, Any], kind: str) -> None:
    try:
        found = rope_of({**outer, "rope_scaling": {**scaling, "rope_type": kind}}, 8, "d")
    except CheckpointError:
        return
    assert all(math.isfinite(f) for f in found.frequencies)
    assert math.isfinite(found.factor)


def test_an_investigation_reads_on_and_leaves_the_wiring_undecided() -> None:
    view = ServerView(
        engine="sglang",
        state="running",
        version="0.5.17",
        spec=SpecSetting(algorithm="EAGLE3", draft_steps=3, topk=1, draft_tokens=4),
        model_path="/m",
        draft_path="/d",
        target_config=target_config(num_hidden_layers=10**9),
        draft_config=head_config(),
    )
    scene = Scene(view=view, facts=Facts(taken_at=0.0, duration_s=0.0, host=HostFacts()))
    (said,) = layer_wiring.judge(scene)
    assert said.stance == "suggests"
    assert said.claim.startswith("/m/config.json: num_hidden_layers is 1000000000")
