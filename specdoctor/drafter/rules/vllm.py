"""vLLM: an id is a layer's input; where ids are looked for depends on version and model runner."""

from __future__ import annotations

from specdoctor.drafter.rules.rule import EngineRules, Lookup, Rule

TOP = "eagle_aux_hidden_state_layer_ids"
NESTED = "eagle_config.eagle_aux_hidden_state_layer_ids"
_INPUTS = "id i is the input of layer i; sorted, each once"
_BLOCK_IDS = (
    Lookup(key=TOP),
    Lookup(key="dflash_config.target_layer_ids", shift=1),
    Lookup(key="dspark_target_layer_ids", shift=1),
    Lookup(key="target_layer_ids", shift=1),
)

engine = EngineRules(
    name="vllm",
    title="vLLM",
    runners=("v1", "v2"),
    runner_defaults=(((0, 0, 0), (0, 21, 0), "v1"), ((0, 29, 0), (0, 33, 0), "v2")),
    rules=(
        Rule(first=(0, 8, 5), last=(0, 11, 0), says="ids in the drafter's config are ignored: always the defaults"),
        Rule(
            first=(0, 12, 0),
            last=(0, 21, 0),
            runner="v1",
            lookups=(Lookup(key=TOP),),
            says=f"only the top-level {TOP} is read; {_INPUTS}",
        ),
        Rule(
            first=(0, 22, 0),
            last=(0, 33, 0),
            runner="v1",
            lookups=(
                Lookup(key=TOP),
                Lookup(key=NESTED, ends=True),
                Lookup(key="dflash_config.target_layer_ids", shift=1),
            ),
            says=f"the top-level {TOP}, then the one in eagle_config; {_INPUTS}",
        ),
        Rule(
            first=(0, 20, 2),
            last=(0, 23, 0),
            runner="v2",
            lookups=(Lookup(key=TOP),),
            says=f"only the top-level {TOP} is read; {_INPUTS}",
        ),
        Rule(
            first=(0, 25, 1),
            last=(0, 25, 1),
            runner="v2",
            lookups=_BLOCK_IDS,
            says=f"the top-level {TOP}; the same key in eagle_config is not read; {_INPUTS}",
        ),
        Rule(
            first=(0, 28, 0),
            last=(0, 33, 0),
            runner="v2",
            lookups=(*_BLOCK_IDS, Lookup(key="dflash_config.layer_ids"), Lookup(key="eagle_config.layer_ids")),
            says=f"the top-level {TOP}, then eagle_config.layer_ids; {NESTED} is not read; {_INPUTS}",
        ),
    ),
)
