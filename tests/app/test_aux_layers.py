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
