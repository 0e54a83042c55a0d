"""CORR: wrong text, corrupted state."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="CORR",
    title="correctness",
    causes=(
        Cause(
            id="CORR-1",
            title="prefix cache and speculation together",
            seen="the first request is fine and later ones degrade; scores break only with both on; cured by a flush",
            check="cache on and off, speculation on and off, the same tasks; flush and repeat one prompt",
            predicts="only the pair of both fails",
            fix="the narrowest switch: a lazy state strategy where there is one, else the cache off; a newer version",
            engines=("sglang", "vllm"),
            severity="wrong output",
            reports=7,
        ),
        Cause(
            id="CORR-2",
            title="other corruption of KV, graph or sampling memory",
            seen="impossible token ids, '!!', an illegal address at the first verify; noise, and nothing accepted, "
            "once it samples",
            check="speculation off, graphs off, overlap off, temperature 0, one at a time",
            predicts="one of them cures it",
            fix="that flag, or another version",
            severity="wrong output",
            reports=4,
        ),
        Cause(
            id="CORR-3",
            title="harmless difference of rounding",
            seen="greedy text differs, quality is equal, the first difference is at a near tie",
            check="gap of the two best logarithmic probabilities at the first differing token; a second run without "
            "speculation at another batch",
            predicts="the gap is small, and that run differs as well",
            fix="none is needed; batch-invariant kernels where it must be equal",
            severity="misleads",
            reports=1,
            sources=("TensorRT-LLM#8285", "vllm#41758", "vllm#9609"),
        ),
        Cause(
            id="CORR-4",
            title="wrong numbers or NaN in kernels of target or drafter",
            seen="text of one sign ('!!!!'), accept length exactly 1 or exactly the maximum",
            check="text and 50 questions with speculation off; look for NaN",
            predicts="the text is wrong without speculation too",
            fix="another GEMM or attention kernel, another version",
            severity="wrong output",
            reports=2,
        ),
        Cause(
            id="CORR-5",
            title="grammar or structured output",
            seen="fails only with a JSON schema or tools; hangs or answers 500",
            check="the same request without the grammar, and with another grammar back-end",
            predicts="it works",
            fix="another version, or no speculation for those routes",
            engines=("sglang", "vllm"),
            severity="wrong output",
            reports=1,
        ),
    ),
)
