"""SGLang: the target's runner reads one nested key of the drafter's config; an id is a layer's output, mostly."""

from __future__ import annotations

from specdoctor.drafter.rules.rule import Convention, EngineRules, Family, Lookup, Rule

KEY = "eagle_config.eagle_aux_hidden_state_layer_ids"
NO_RESIDUAL = "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'"
_OUTPUTS = Convention(shift=1)
_DEEPSEEK_BY_FIRST_ID = Family(
    name="DeepSeek family",
    architectures=frozenset(
        {
            "DeepseekV2ForCausalLM",
            "DeepseekV3ForCausalLM",
            "DeepseekV32ForCausalLM",
            "KimiK25ForConditionalGeneration",
            "MistralLarge3ForCausalLM",
            "Glm4MoeLiteForCausalLM",
        }
    ),
    model_types=frozenset({"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm4_moe_lite"}),
    convention=Convention(shift=1, unless="first id is not 1", otherwise=0),
)
_GPT_OSS = Family(
    name="gpt-oss",
    architectures=frozenset({"GptOssForCausalLM"}),
    convention=Convention(shift=1, unless="largest id is L", otherwise=0, reaches_end=True),
)
_MINIMAX_VL = Family(
    name="MiniMax-M3 VL",
    architectures=frozenset({"MiniMaxM3VLForConditionalGeneration"}),
    defaults=("3", "L//2+1", "L-2"),
)
_NESTED = (Lookup(key=KEY),)
_SILENT = f"only {KEY} is read; any other place, and any error in it, means the defaults, without a message"

engine = EngineRules(
    name="sglang",
    title="SGLang",
    rules=(
        Rule(
            first=(0, 4, 6),
            last=(0, 4, 6),
            convention=_OUTPUTS,
            last_entry=-1,
            first_entry=1,
            below_fails=NO_RESIDUAL,
            says="the drafter's config is not read: always the defaults",
        ),
        Rule(
            first=(0, 4, 9),
            last=(0, 5, 12),
            lookups=_NESTED,
            convention=_OUTPUTS,
            last_entry=-1,
            first_entry=1,
            below_fails=NO_RESIDUAL,
            file="model_executor/model_runner.py",
            says=f"{_SILENT}; id v is out(v), captured in ascending order",
        ),
        Rule(
            first=(0, 5, 13),
            last=(0, 5, 16),
            lookups=_NESTED,
            convention=_OUTPUTS,
            families=(_DEEPSEEK_BY_FIRST_ID,),
            last_entry=-1,
            first_entry=1,
            below_fails=NO_RESIDUAL,
            file="model_executor/model_runner.py",
            says=f"{_SILENT}; id v is out(v), on DeepSeek targets only if the first id is 1, else v is the input of "
            "layer v",
        ),
        Rule(
            first=(0, 5, 17),
            last=(0, 5, 19),
            lookups=_NESTED,
            convention=_OUTPUTS,
            families=(_DEEPSEEK_BY_FIRST_ID, _GPT_OSS),
            last_entry=-1,
            first_entry=1,
            below_fails=NO_RESIDUAL,
            file="model_executor/model_runner.py",
            says=f"{_SILENT}; id v is out(v), on DeepSeek targets only if the first id is 1, on gpt-oss only if no id "
            "is L, else v is the input of layer v",
        ),
        Rule(
            first=(0, 5, 20),
            last=(0, 5, 23),
            lookups=_NESTED,
            convention=_OUTPUTS,
            families=(_DEEPSEEK_BY_FIRST_ID, _GPT_OSS, _MINIMAX_VL),
            last_entry=-1,
            file="model_executor/model_runner_components/spec_aux_hidden_state.py",
            says=f"{_SILENT}; id v is out(v), on DeepSeek targets only if the first id is 1, on gpt-oss only if no id "
            "is L, else v is the input of layer v; the embedding can be taken",
        ),
    ),
)
