"""The layers of a drafter as facts of a judgement."""

from __future__ import annotations

from specdoctor.app.aux_layers import aux_layers
from specdoctor.core.server import LogReading, Notice, ServerView, SpecSetting

EAGLE3 = SpecSetting(algorithm="EAGLE3", draft_steps=3, topk=1, draft_tokens=4)
LINE = "eagle3: capturing residual stream at entry of target layers [2, 18, 33]"


def view(ids: list[int], *, version: str | None = "0.5.17", said: bool = False) -> ServerView:
    notices = (Notice(line=2, kind="aux-layers", text=LINE),) if said else ()
    return ServerView(
        engine="sglang",
        state="running",
        version=version,
        spec=EAGLE3,
        target_config={"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 36},
        draft_config={"eagle_config": {"eagle_aux_hidden_state_layer_ids": list(ids)}},
        log=LogReading(where="server.log", lines=9, notices=notices),
    )


def test_by_the_rule_of_the_version() -> None:
    assert aux_layers(view([2, 18, 33])) == {"aux_layers_configured": [2, 18, 33], "aux_layers_captured": [3, 19, 34]}


def test_by_the_log_whatever_the_rule() -> None:
    assert aux_layers(view([5, 6, 7], said=True))["aux_layers_captured"] == [2, 18, 33]


def test_nothing_is_guessed() -> None:
    assert aux_layers(view([5, 6, 7], version="0.9.9")) == {"aux_layers_configured": [5, 6, 7]}
    assert aux_layers(view([5, 6, 7], version=None)) == {"aux_layers_configured": [5, 6, 7]}
    assert aux_layers(view([5, 6, 7]).model_copy(update={"spec": SpecSetting()})) == {}


def vllm(ids: dict[str, object], *, version: str = "0.32.0", said: str = "", runner: str | None = None) -> ServerView:
    notices = (Notice(line=2, kind="aux-layers", text=said),) if said else ()
    return view([]).model_copy(
        update={
            "engine": "vllm",
            "version": version,
            "draft_config": ids,
            "effective": {"model_runner": runner} if runner else {},
            "log": LogReading(where="server.log", lines=9, notices=notices),
        }
    )


def test_vllm_says_the_ids_as_configured_and_takes_each_once_in_order() -> None:
    line = "Using auxiliary layers from speculative config: (6, 4, 4, 1)"
    assert aux_layers(vllm({"eagle_aux_hidden_state_layer_ids": [6, 4, 4, 1]}, said=line)) == {
        "aux_layers_configured": [6, 4, 4, 1],
        "aux_layers_captured": [1, 4, 6],
    }


def test_the_model_runner_decides_whether_a_nested_list_is_read() -> None:
    nested = {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 18, 34]}}
    assert aux_layers(vllm(nested, runner="v1"))["aux_layers_captured"] == [1, 18, 34]
    assert aux_layers(vllm(nested, runner="v2"))["aux_layers_captured"] == [2, 18, 33]
