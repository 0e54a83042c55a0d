"""Whether a launch line started the server of a log: model, port and number of GPUs are never replaced by an engine."""

from __future__ import annotations

import re

from pydantic import JsonValue

from specdoctor.core.server import ServerView

_NUMBERS = (("port", ("port",)), ("tensor-parallel size", ("tp_size", "tensor_parallel_size")))
_LISTENS = re.compile(
    r"(?:Uvicorn running on|Starting vLLM (?:API )?server(?: \d+)? on|server is listening on) https?://\S{1,80}:(\d{2,5})"
)
_PLACEHOLDER = re.compile(r"[$<>{}*]|://|\.\.\.")
_CACHED = re.compile(r"models--(?:[^/]*--)?([^/]+)/snapshots/")


def differences(view: ServerView, log: str) -> tuple[str, ...]:
    """What the launch line asks for and the log shows to be another server's; a placeholder says nothing.

    `log` is the log's text: some engines say only there on which port they listen.
    """
    if view.log is None or view.asked_source is None:
        return ()
    found = [_model(view), _served(view)]
    for word, names in _NUMBERS:
        asked = next((view.asked[name] for name in names if name in view.asked), "")
        shown = [str(value) for name in names for value in _shown(view, name)]
        if word == "port":
            shown += _LISTENS.findall(log)
        if asked.isdigit() and shown and asked not in shown and all(value.isdigit() for value in shown):
            found.append(f"{word} {asked} against {shown[0]}")
    return tuple(text for text in found if text)


def _shown(view: ServerView, name: str) -> list[JsonValue]:
    """The value that answers or the log have for an argument, none where they do not name it."""
    log = view.log
    places = (view.effective, (log.server_args if log else None) or {}, (log.asked_args if log else None) or {})
    return [place[name] for place in places if place.get(name) is not None][:1]


def _model(view: ServerView) -> str:
    for name in ("model_path", "model"):
        asked, shown = view.asked.get(name), next(iter(_shown(view, name)), None)
        if not asked or not isinstance(shown, str) or not shown or _PLACEHOLDER.search(f"{asked}{shown}"):
            continue
        here, there = _parts(asked), _parts(shown)
        if here[-1] not in there and there[-1] not in here:
            return f"model {asked} against {shown}"
    return ""


def _served(view: ServerView) -> str:
    asked, shown = view.asked.get("served_model_name"), next(iter(_shown(view, "served_model_name")), None)
    names = [str(name) for name in shown] if isinstance(shown, list) else [shown] if isinstance(shown, str) else []
    if not asked or not names or _PLACEHOLDER.search(asked) or set(re.split(r"[\s,]+", asked)) & set(names):
        return ""
    return f"served model {asked} against {names[0]}"


def _parts(path: str) -> list[str]:
    """The names along a model's path, as its hub writes them whatever a cache makes of them."""
    plain = _CACHED.sub(r"\1/", path.replace("___", ".").rstrip("/")).lower()
    return [part for part in plain.split("/") if part] or [""]
