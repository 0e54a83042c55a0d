"""Whether a launch line started the server of a log: what the log says of itself is the truth for that log.

Model, port, host and number of GPUs are never replaced by an engine; a draft setting that it does replace is told by a
rule, and a difference that no rule explains is another launch's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from specdoctor.app.firm_arguments import argument_differences, listens
from specdoctor.core.server import ServerView

_SPEC = "speculative_config"
_NUMBERS = (
    ("port", ("port",)), ("tensor-parallel size", ("tp_size", "tensor_parallel_size")),
    ("pipeline-parallel size", ("pp_size", "pipeline_parallel_size")),
    ("data-parallel size", ("dp_size", "data_parallel_size")), ("number of nodes", ("nnodes",)),
)  # fmt: skip
_UNREPLACED = {
    "speculative_num_steps": "draft steps", "speculative_eagle_topk": "topk",
    "speculative_num_draft_tokens": "draft tokens", "speculative_algorithm": "algorithm",
}  # fmt: skip
"""What an engine replaces by a known rule only."""
_RECORDED = {f"{_SPEC}.num_speculative_tokens": "draft tokens", f"{_SPEC}.method": "method"}
"""What is compared with the log's own list of what was asked for: nothing was replaced in it yet."""
_DRAFTS = ("speculative_draft_model_path", f"{_SPEC}.model")
_DATE = re.compile(r"(?<!\d)(?P<day>20\d\d-\d\d-\d\d)(?:[ T](?P<time>\d\d:\d\d))?")
_ZONES = timedelta(hours=14)
_MOST_OF_LOG = 20_000
_PLACEHOLDER = re.compile(r"[$<>{}*]|://|\.\.\.")
_CACHED = re.compile(r"models--(?:[^/]*--)?([^/]+)/snapshots/")


def differences(view: ServerView, log: str) -> tuple[str, ...]:
    """What the launch line asks for and the log shows to be another server's; a placeholder says nothing.

    `log` is the log's text: some engines say only there on which port they listen.
    """
    if view.log is None or view.asked_source is None:
        return ()
    return tuple(text for text in (*_identity(view, log), *_speculation(view)) if text)


def unexplained(view: ServerView, named: Mapping[str, str]) -> Iterator[str]:
    """Arguments that are in force other than typed by no rule that is known, and that alone prove no other launch."""
    for rewrite in view.rewrites:
        path = rewrite.key.endswith(("path", "name", "model", "tokenizer"))
        known = rewrite.kind != "rewritten" or rewrite.rule != "unknown" or rewrite.cause is not None
        if path or known or not rewrite.sources or _PLACEHOLDER.search(str(rewrite.asked)):
            continue
        places = [f"{named.get(s.where, s.where)}:{s.line}" if s.line else s.where for s in rewrite.sources]
        said = f"{rewrite.key} {rewrite.asked} is typed, {rewrite.effective} is in force"
        yield f"{said} [{', '.join(places)}]: no known rule of {view.engine} makes that of it"


def dated_after(comment: str, log: str) -> bool:
    """Whether the remark above a launch line bears a date after the log's end, whatever time zone either is of."""
    written = [_moment(match) for match in _DATE.finditer(comment)]
    epochs = [int(number) for number in re.findall(r"^\W*(1\d{9})$", comment.strip())]
    written += [datetime.fromtimestamp(number, tz=UTC) for number in epochs]
    ends = [_moment(match) for match in _DATE.finditer(log[-_MOST_OF_LOG:]) if match["time"]]
    known = [moment for moment in written if moment is not None]
    last = max((moment for moment in ends if moment is not None), default=None)
    return bool(known) and last is not None and min(known) - last > _ZONES


def _moment(match: re.Match[str]) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{match['day']}T{match['time'] or '00:00'}").replace(tzinfo=UTC)
    except ValueError:
        return None


def _identity(view: ServerView, log: str) -> Iterator[str]:
    yield _path(view, "model", ("model_path", "model"))
    yield _served(view)
    told = {word: f"{word} {asked} against {shown}" for word, asked, shown in argument_differences(
        view, log, complete=_complete(view)
    )}  # fmt: skip
    for word, names in _NUMBERS:
        asked = next((view.asked[name] for name in names if name in view.asked), "")
        shown = [str(value) for name in names for value in _shown(view, name)]
        if word == "port":
            shown += [port for _, port in listens(log)]
        if asked.isdigit() and shown and asked not in shown and all(value.isdigit() for value in shown):
            told.setdefault(word, f"{word} {asked} against {shown[0]}")
    host, there = view.asked.get("host"), next(iter(_shown(view, "host")), None)
    if host and isinstance(there, str) and there and not _PLACEHOLDER.search(host) and host != there:
        told.setdefault("host", f"host {host} against {there}")
    yield from told.values()


def _complete(view: ServerView) -> bool:
    """Whether the launch line names every argument: no file of them, no variable that may hold more."""
    known = view.asked_spec is not None and "config" not in view.asked
    pairs = zip(view.argv, view.argv[1:], strict=False)
    return known and not any(word[:1] in ("$", "{", "<") and not before.startswith("-") for before, word in pairs)


def _speculation(view: ServerView) -> Iterator[str]:
    """Whether it drafts at all, by what, and how long: as far as the log records it and no rule replaces it."""
    drafts = _drafts(view)
    asks = view.asked_spec.on if view.asked_spec is not None else None
    if drafts is not None and asks is not None and asks != drafts and not _explained(view):
        yield f"{_words(asks)} against {_words(drafts)}"
        return
    yield _path(view, "draft model", _DRAFTS)
    for rewrite in view.rewrites:
        if rewrite.kind == "rewritten" and rewrite.rule == "unknown" and rewrite.key in _UNREPLACED:
            word = _UNREPLACED[rewrite.key]
            if not _PLACEHOLDER.search(str(rewrite.asked)):
                yield f"{word} {rewrite.asked} against {rewrite.effective}"
    recorded = _recorded(view)
    for key, word in _RECORDED.items():
        asked, shown = view.asked.get(key), recorded.get(key)
        if asked and isinstance(shown, str | int) and not _PLACEHOLDER.search(asked) and asked != str(shown):
            yield f"{word} {asked} against {shown}"


def _drafts(view: ServerView) -> bool | None:
    """Whether the log's own record of its arguments speculates; None without such a record."""
    log = view.log
    if log is not None and log.server_args is not None and "speculative_algorithm" in log.server_args:
        return log.server_args["speculative_algorithm"] is not None
    if log is not None and log.asked_args is not None:
        return any(key.startswith(_SPEC) for key in log.asked_args)
    return None


def _explained(view: ServerView) -> bool:
    """Whether the engine has a reason of its own to draft or not, whatever was asked."""
    replaced = [r for r in view.rewrites if r.key == "speculative_algorithm"]
    return any(r.rule != "unknown" for r in replaced)


def _words(on: bool) -> str:
    return "speculation" if on else "no speculation"


def _recorded(view: ServerView) -> Mapping[str, JsonValue]:
    """What the log says was asked for, with the names that a launch line has for what stands in a group."""
    asked = (view.log.asked_args if view.log is not None else None) or {}
    group = asked.get(_SPEC)
    inner = {f"{_SPEC}.{key}": value for key, value in group.items()} if isinstance(group, dict) else {}
    return {**asked, **inner}


def _shown(view: ServerView, name: str) -> list[JsonValue]:
    """The value that answers or the log have for an argument, none where they do not name it."""
    log = view.log
    places = (view.effective, (log.server_args if log else None) or {}, _recorded(view))
    return [place[name] for place in places if place.get(name) is not None][:1]


def _path(view: ServerView, word: str, names: tuple[str, ...]) -> str:
    for name in names:
        asked, shown = view.asked.get(name), next(iter(_shown(view, name)), None)
        if not asked or not isinstance(shown, str) or not shown or _PLACEHOLDER.search(f"{asked}{shown}"):
            continue
        here, there = _parts(asked), _parts(shown)
        if here[-1] not in there and there[-1] not in here:
            return f"{word} {asked} against {shown}"
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
