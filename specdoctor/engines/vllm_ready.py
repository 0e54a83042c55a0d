"""How a vLLM start shows itself in its log: ready, failed, and the phases in between."""

from __future__ import annotations

from specdoctor.core.launch import ReadyRules

_READY = r"Application startup complete"
_FAILURES = (
    r"EngineCore failed to start",
    r"Engine core initialization failed",
    r"EngineCore encountered (?:an issue|a fatal error)",
    r"Engine process failed to start",
    r"^(?:\(\w+ pid=\d+\) )?(?:[\w.]+\.)?ValidationError: ",
    r": error: (?:unrecognized arguments|ambiguous option|argument |the following arguments)",
    r"address already in use",
    r"PackageNotFoundError: ",
)
_PHASES = (
    (r"non-default args: ", "reading arguments"),
    (r"Initializing an? (?:V[01] )?LLM engine", "starting the engine"),
    (r"world_size=\d+ rank=0 ", "joining the ranks"),
    (r"Starting to load model", "loading weights"),
    (r"Loading drafter model", "loading the drafter"),
    (r"torch\.compile takes|Dynamo bytecode transform time|Cache the graph", "compiling"),
    (r"KV cache size: ", "KV cache"),
    (r"Capturing CUDA graph|Graph capturing", "graphs"),
    (r"Starting vLLM (?:API )?server", "opening the port"),
)


def ready_rules() -> ReadyRules:
    """The rules for every version read: these lines did not change. `/health` is 200 once, 503 when the engine died."""
    return ReadyRules(ready=_READY, failures=_FAILURES, phases=_PHASES, health_path="/health")
