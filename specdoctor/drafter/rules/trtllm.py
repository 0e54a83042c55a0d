"""TensorRT-LLM: the layers are named in its own YAML, not in the drafter's checkpoint; an id is a layer's output."""

from __future__ import annotations

from specdoctor.drafter.rules.rule import Convention, EngineRules, Rule

engine = EngineRules(
    name="trtllm",
    title="TensorRT-LLM",
    paper=True,
    from_checkpoint=False,
    rules=(
        Rule(
            first=(1, 2, 1),
            last=(1, 4, 0),
            convention=Convention(shift=1),
            says="eagle3_layers_to_capture of its own YAML (id i is out(i), sorted, each once), else the defaults "
            "out(1), out(L//2-1), out(L-4); the drafter's config is not read",
        ),
    ),
)
