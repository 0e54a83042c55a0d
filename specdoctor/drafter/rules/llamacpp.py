"""llama.cpp: the ids stand in the GGUF file, put there by the converter; an id is a layer's input, kept in order."""

from __future__ import annotations

from specdoctor.drafter.rules.rule import EngineRules, Lookup, Rule

GGUF_KEY = "eagle3.target_layers"
TOP = "eagle_aux_hidden_state_layer_ids"

engine = EngineRules(
    name="llamacpp",
    title="llama.cpp",
    builds=True,
    rules=(
        Rule(
            first=(11434,),
            last=(11434,),
            lookups=(Lookup(key=GGUF_KEY), Lookup(key="eagle3.extract_layers"), Lookup(key=TOP)),
            ascending=False,
            count=3,
            says=f"{GGUF_KEY} of the GGUF file (its converter took the top-level {TOP}, else the defaults); id i is "
            "the input of layer i, exactly three, in the order written",
        ),
    ),
)
