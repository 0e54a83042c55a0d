"""The seam of the practice host: arguments in, a server's behaviour out.

    resolved = resolve(argv, env, world)                  # Resolved, or StartupFailure
    for step in startup_script(resolved, world, rng, now_s=t): ...   # StartupStep pieces; an Exit at the end = it died
    core = EngineCore(resolved, world, seed)
    core.submit(GenRequest(...), now_s)
    while (result := core.step(now_s)) is not None: ...

Nothing here sleeps, opens files or sockets: the caller owns the clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specdoctor.lab.engine_types import (
    Exit,
    Finished,
    GenRequest,
    HttpReply,
    Occupancy,
    Resolved,
    StartupFailure,
    StartupStep,
    StepResult,
    Token,
)
from specdoctor.lab.world import Model, World

__all__ = [
    "EngineCore",
    "Exit",
    "Finished",
    "GenRequest",
    "HttpReply",
    "Occupancy",
    "Resolved",
    "StartupFailure",
    "StartupStep",
    "StepResult",
    "Token",
    "resolve",
    "startup_script",
]


def resolve(
    argv: Sequence[str],
    env: Mapping[str, str],
    world: World,
    *,
    models: Mapping[str, Model] | None = None,
    occupied: Occupancy | None = None,
    read_file: Any = None,
) -> Resolved | StartupFailure:
    """Parse and resolve a whole command line (`python -m sglang.launch_server ...` or `sglang serve ...`).

    `models` maps folder paths to what lies there (default: the world's own models under their declared paths);
    a wrapper with real folders passes `tensors.scan_models(root, world)` here, so that copied and edited folders count.
    `read_file` returns the text of a path for `--config` (default: the world's declared host files).
    """
    raise NotImplementedError


def startup_script(
    resolved: Resolved, world: World, rng: random.Random, *, now_s: float, pid: int = 4121
) -> Iterator[StartupStep | Exit]:
    """The start as timed pieces of log, stamped from `now_s` on. Ends with a step of phase "ready", or with an `Exit`."""
    raise NotImplementedError


class EngineCore:
    """A running server: queue, batch, cache, counters; one `step` is one scheduler iteration."""

    def __init__(self, resolved: Resolved, world: World, seed: int, *, ready_s: float = 0.0, pid: int = 4121) -> None:
        raise NotImplementedError

    def submit(self, request: GenRequest, now_s: float) -> HttpReply | None:
        """Queue a request; a reply (status 400 and a JSON error body) when it is refused."""
        raise NotImplementedError

    def abort(self, request_id: str) -> None:
        """Forget a request at the next step (client gone)."""
        raise NotImplementedError

    def step(self, now_s: float) -> StepResult | None:
        """Run one iteration that begins now; None when there is nothing to do."""
        raise NotImplementedError

    def meta_info(self, request_id: str) -> dict[str, Any]:
        """meta_info of an unfinished request, for the chunks of a stream."""
        raise NotImplementedError

    @property
    def health_generates(self) -> bool:
        """Whether GET /health runs a request of one token in this version (submit one with `health_check=True`)."""
        raise NotImplementedError

    def server_info(self, now_s: float) -> dict[str, Any]:
        """Body of /server_info (and /get_server_info)."""
        raise NotImplementedError

    def model_info(self) -> dict[str, Any]:
        """Body of /model_info (and /get_model_info)."""
        raise NotImplementedError

    def models(self) -> dict[str, Any]:
        """Body of /v1/models."""
        raise NotImplementedError

    def metrics_text(self, now_s: float) -> str:
        """Body of /metrics in the Prometheus text format."""
        raise NotImplementedError

    def loads(self, now_s: float) -> dict[str, Any]:
        """Body of /v1/loads."""
        raise NotImplementedError

    def endpoints(self) -> dict[str, str | None]:
        """Paths this version answers -> the path it says to use instead (a deprecated name), or None."""
        raise NotImplementedError

    def flush_cache(self, now_s: float) -> HttpReply:
        """POST /flush_cache: empties the prefix cache and the accept-length totals when nothing runs or waits."""
        raise NotImplementedError

    def access_line(self, method: str, path: str, status: int, now_s: float) -> str:
        """The uvicorn line of one answered call; also counts it for the HTTP metrics."""
        raise NotImplementedError

    def note_line(self, text: str, now_s: float, *, rank: bool = False) -> str:
        """A log line of the launcher (or of rank 0) with this version's stamp, e.g. the deprecation warnings."""
        raise NotImplementedError
