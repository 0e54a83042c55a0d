"""VER: regressions."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="VER",
    title="versions",
    causes=(
        Cause(
            id="VER-1",
            title="regression, or a bug fixed elsewhere, in one version",
            seen="began with an upgrade, with the same files, flags and prompts",
            check="one fixed command on both versions (accept length and speed); then bisect by image",
            predicts="the figures follow the version",
            fix="the other version; report it with the command",
            reports=13,
            sources=("vllm#26191", "vllm PR#36561", "vllm PR#41655"),
        ),
    ),
)
