"""MIS: drafter and target do not match."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="MIS",
    title="drafter against target",
    causes=(
        Cause(
            id="MIS-1",
            title="other tokenizer or vocabulary",
            seen="refused for the vocabulary, or next to nothing accepted where no check exists",
            check="vocabulary sizes, special token ids, texts encoded by both",
            predicts="ids differ; equal sizes prove nothing, and other padding is no other tokenizer",
            fix="a drafter of the target's family; for other padding alone, pad the embedding",
            severity="does not start",
            reports=1,
        ),
        Cause(
            id="MIS-2",
            title="quantised target changes its states or loses its prediction head",
            seen="fine on the unquantised target, bad on the rotated or converted one",
            check="the same drafter on the unquantised target",
            predicts="the accept length is back",
            fix="rotate the drafter's fc as well; keep the head in its own precision",
            engines=("sglang", "vllm"),
            reports=2,
        ),
        Cause(
            id="MIS-3",
            title="drafter takes over the target's quantisation or type",
            seen="nothing accepted with a quantised target only",
            check="quantisation of the drafter in force",
            predicts="it is the target's, and not the checkpoint's",
            fix="say it explicitly (SGLang: --speculative-draft-model-quantization unquant)",
            engines=("sglang", "vllm"),
            versions="SGLang since 0.5.7",
            reports=2,
        ),
        Cause(
            id="MIS-4",
            title="KV cache of low precision for the drafter",
            seen="a third of the accept length lost with an 8-bit KV cache",
            check="KV type auto or bf16",
            predicts="the accept length is back",
            fix="bf16 KV for the drafter",
            reports=2,
        ),
        Cause(
            id="MIS-5",
            title="target fine-tuned or with an adapter, drafter not",
            seen="the accept length drops for adapted requests only",
            check="accept length of base and adapter on the same prompts",
            predicts="the adapter's is lower",
            fix="adapt the drafter too",
            engines=("sglang", "vllm"),
            reports=0,
            sources=("sglang PR#34337", "sglang#37772", "vllm#52038"),
        ),
    ),
)
