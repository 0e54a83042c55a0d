"""Small questions that several checks put to a view: arguments in force, where they stand, what the log shows."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from specdoctor.core.facts import PackageFacts
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, ServerView, Source


def no_data(check: str, cause: str | None, what: str) -> tuple[Observation, ...]:
    """The answer of a check that could not look; `what` says what was missing."""
    return (Observation(check=check, cause=cause, stance="no-data", claim=what),)


def silent(check: str, cause: str | None, what: str, *sources: Source) -> tuple[Observation, ...]:
    """The answer of a check that looked and found nothing wrong; `what` says what it saw."""
    return (Observation(check=check, cause=cause, stance="silent", claim=what, sources=sources),)


def slows_cycle(
    check: str, cause: str, claim: str, source: Source, remedy: Remedy | None, *, decides: str
) -> Observation:
    """Something that may make each cycle long; a restart with the `remedy` decides it, else `decides` off line."""
    return Observation(
        check=check,
        cause=cause,
        stance="suggests",
        about="cycle",
        claim=claim,
        sources=(source,),
        remedy=remedy,
        decided_by="restart" if remedy is not None else "offline",
        decides=decides,
    )


def in_force(view: ServerView, name: str) -> Source:
    """Where the effective value of an argument stands."""
    origin = view.effective_source or view.asked_source
    where = origin.where if origin else "launch line"
    return Source(where=where, line=origin.line if origin else None, key=name, quote=f"{name}={view.argument(name)}")


def whole(value: JsonValue) -> int | None:
    """An integer argument, None for anything else (also for booleans and words)."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(str(value))
    except ValueError:
        return None


def truth(value: JsonValue) -> bool:
    """A switch in force, however it is spelt."""
    return value is True or str(value).lower() in ("true", "1")


def text_config(config: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    """A model's text configuration: the nested one of a multimodal wrapper, else the whole."""
    if config is None:
        return {}
    nested = config.get("text_config")
    return {**config, **nested} if isinstance(nested, dict) else config


def server_packages(scene: Scene) -> tuple[str, dict[str, PackageFacts]]:
    """The interpreter of the server and its packages by name; nothing where it cannot be told."""
    view, known = scene.view, scene.facts.packages
    process = next((p for p in scene.facts.processes if view.ref is not None and p.pid == view.ref.pid), None)
    words = [] if process is None else [*process.argv[:1], process.exe or ""]
    where = next((word for word in words if word in known), next(iter(known)) if len(known) == 1 else "")
    return where, {p.name.lower().replace("_", "-"): p for p in known.get(where, ())}


def windows(view: ServerView) -> tuple[DecodeWindow, ...]:
    """Decode windows that hold living requests."""
    if view.log is None:
        return ()
    return tuple(w for w in view.log.decode if w.running > 0 and w.tokens != 0)


def log_source(view: ServerView, line: int, quote: str) -> Source:
    """A line of the server's log."""
    return Source(where=view.log.where if view.log else "log", line=line, quote=quote)


EXPERT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts")
ACTIVE_KEYS = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk")


def config_of(scene: Scene, role: Literal["target", "draft"]) -> tuple[dict[str, JsonValue] | None, str]:
    """The configuration of target or drafter and where it stands: on the host, else among the files given."""
    view = scene.view
    config, folder = (view.target_config, view.model_path) if role == "target" else (view.draft_config, view.draft_path)
    given = next((c for c in scene.material.configs if c.role == role), None)
    if given is not None:
        return config or given.content, given.where
    return config, f"{folder}/config.json"


def experts_of(config: dict[str, JsonValue] | None) -> tuple[int, int] | None:
    """Experts active for one token and in all, None for a dense model or one that is not known."""
    words = text_config(config)
    total = next((n for k in EXPERT_KEYS if (n := whole(words.get(k)))), None)
    active = next((n for k in ACTIVE_KEYS if (n := whole(words.get(k)))), None)
    return (active, total) if total and active and active < total else None


def config_source(scene: Scene, role: Literal["target", "draft"], *keys: str) -> Source | None:
    """Where one of those keys stands in the configuration, by its line where the file was given."""
    config, where = config_of(scene, role)
    words = text_config(config)
    key = next((k for k in keys if k in words), None)
    if key is None:
        return None
    lines = scene.material.texts.get(where, "").split("\n")
    number = next((n for n, line in enumerate(lines, start=1) if f'"{key}"' in line), None)
    quote = lines[number - 1].strip().rstrip(",") if number is not None else f"{key}: {words[key]}"
    return Source(where=where, line=number, key=key, quote=quote[:200])


def at_once(scene: Scene) -> int:
    """How many requests run at once: as the user says; where files were given, at least as many as they show."""
    if not scene.material.files:
        return scene.concurrency
    rows = [row.concurrency or 1.0 for table in scene.material.tables for row in table.rows if row.speculative]
    return int(max(scene.concurrency, *(w.running for w in windows(scene.view)), *rows, 1))


def no_files(scene: Scene) -> bool:
    """Whether nothing but the host was read: then figures of logs are measured anew, not judged as they lie there."""
    return not scene.material.files
