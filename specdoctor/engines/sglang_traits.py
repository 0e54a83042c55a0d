"""What a SGLang launch line tells of those who depend on the server: other nodes, another side, Ray, a router."""

from __future__ import annotations

from collections.abc import Mapping

from specdoctor.core.server import LaunchTraits

PROGRAMS = ("sglang",)
ROUTERS = ("sglang_router", "sglang-router", "sgl-model-gateway", "smg")


def _integer(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


def traits_of(asked: Mapping[str, str]) -> LaunchTraits:
    """From the arguments that were asked for (underscores)."""
    side = asked.get("disaggregation_mode", "null")
    return LaunchTraits(
        nodes=max(1, _integer(asked.get("nnodes"))),
        rank=_integer(asked.get("node_rank")),
        disaggregation="" if side in ("null", "None") else side,
        ray=asked.get("use_ray") == "True",
        programs=PROGRAMS,
        routers=ROUTERS,
    )
