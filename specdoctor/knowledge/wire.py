"""WIRE: what the engine feeds the drafter is not what it was trained on. An accept length never clears the wiring."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="WIRE",
    title="wiring of the drafter",
    causes=(
        Cause(
            id="WIRE-1",
            title="states taken from other layers than in training",
            seen="anything from a few percent of the accept length to all of it; no error",
            check="layer ids of the training record against the layers that this version captures for this model class",
            predicts="they are not the same states (entry of layer i is the output of layer i - 1)",
            fix="ids in the engine's convention in the drafter's config, or a version that reads them",
            reports=5,
        ),
        Cause(
            id="WIRE-2",
            title="tensors or options missing in the drafter's checkpoint",
            seen="an accept length of 1.00; the config promises what the file lacks (lm_head, a norm)",
            check="tensor names in the checkpoint against the parameters of the model class",
            predicts="a parameter stays at its initial value",
            fix="export the drafter again with it, borrow the target's head, or a version that does",
            engines=("sglang", "vllm"),
            reports=3,
            sources=("sglang PR#27908",),
        ),
        Cause(
            id="WIRE-3",
            title="vocabulary map missing, stale or all zero",
            seen="draft vocabulary smaller than the target's and no d2t in the weights, or an identity map",
            check="d2t present, and i + d2t[i] names frequent tokens rather than 0 to N - 1",
            predicts="it is absent or zero",
            fix="put the map of the training into the checkpoint",
            engines=("sglang", "vllm", "llamacpp"),
            reports=1,
        ),
        Cause(
            id="WIRE-4",
            title="the drafter's own KV, hidden states or positions wrong in the engine",
            seen="8 to 15 % of the accept length lost; images only; a window that is ignored",
            check="text against images; decay by position against the reference implementation",
            predicts="they differ",
            fix="another version or runner",
            engines=("vllm",),
            reports=3,
        ),
        Cause(
            id="WIRE-5",
            title="drafter state not handed over (prefill/decode split, DP attention, cache replay)",
            seen="the accept length drops only in the split or parallel form of the same server",
            check="same model, drafter and prompts on one server that does everything",
            predicts="the accept length is back",
            fix="a version that ships the drafter's state",
            engines=("sglang", "vllm"),
            reports=3,
        ),
        Cause(
            id="WIRE-6",
            title="the drafter's RoPE differs from the target's",
            seen="short contexts fine, long ones bad; rope_scaling or rope_theta differ",
            check="rope fields of both configs; accept length by position",
            predicts="they differ, and the loss begins beyond the unscaled range",
            fix="the same rope fields",
            reports=1,
        ),
    ),
)
