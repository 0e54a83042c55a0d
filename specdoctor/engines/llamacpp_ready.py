"""How a llama.cpp start shows itself in its log: ready, failed, and the phases in between."""

from __future__ import annotations

from specdoctor.core.launch import ReadyRules

READY = r"(?:server is listening on|: listening on) http|all slots are idle|Uvicorn running on http"
_FAILURES = (
    r"exiting due to (?:model loading|HTTP server) error",
    r"GGML_ASSERT\(.{1,200}\) failed",
    r"terminate called after throwing",
    r"error while handling argument ",
    r"error: (?:invalid|unknown) argument: ",
    r"couldn't bind (?:HTTP )?server socket",
)
_PHASES = (
    (r"load_model: loading model '|llama_server: initializing", "loading the target"),
    (r"loading draft model '|creating MTP draft context", "loading the draft"),
    (r"initializing(?: slots)?, n_slots", "KV cache"),
    (r"model loaded", "opening the port"),
)


def ready_rules(version: str | None) -> ReadyRules:
    """The rules for all builds: their words for these moments differ little. /health answers 503 while loading."""
    return ReadyRules(ready=READY, failures=_FAILURES, phases=_PHASES, health_path="/health")
