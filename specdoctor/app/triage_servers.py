"""Which servers a pile of files tells of: one log each, with the launch line and the rest that belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from specdoctor.app.foreign_launch import dated_after, differences
from specdoctor.core.engine import Engine
from specdoctor.core.launch_text import commands_in
from specdoctor.core.material import FileKind, Material
from specdoctor.core.server import ServerView

_OWNED: frozenset[FileKind] = frozenset({"server log", "launch line", "server info", "engine config"})
_COMMON_WORDS = re.compile(
    r"server|launch|start|serve|run|cmd|command|args?|log|info|get|sglang|vllm|llama(?:cpp)?|output|stdout|stderr|sh|txt|"
    r"config|the|main|spec|now|new|current|after|end|final|\d+"
)
EARLIER = re.compile(r"base(?:line)?|before|old|prev(?:ious)?|without|no_?spec|plain|vanilla|other|reference|off|start")
_PIECE = re.compile(r"#\d+$")
_MOST_OTHERS = 8
Stranger = tuple[str, int, str]
"""A launch line by file and line, and what is against its having started the server."""


@dataclass(frozen=True)
class Servers:
    """The server to be judged, and the others that were given beside it for comparison.

    `foreign` says of launch lines, by file and line, why none of them started that server.
    """

    view: ServerView
    others: tuple[ServerView, ...] = ()
    foreign: tuple[Stranger, ...] = ()


def servers_of(texts: Mapping[str, str], material: Material, engines: Sequence[Engine]) -> Servers | None:
    """The servers that the files tell of; None where no engine knows any of them.

    The one that speculates is judged; among several the one that is not called a baseline, an earlier or another one.
    """
    kinds = {seen.where: seen.kind for seen in material.files}
    logs = [where for where in texts if kinds.get(where) == "server log"]
    asides: dict[str, list[Stranger]] = {}
    views = _by_log(texts, material, logs, engines, asides) if len(logs) > 1 else []
    if len(views) < 2:
        asides = {log: [] for log in logs}
        whole = _view(texts, _hinted(engines, material, logs), asides[logs[0]] if len(logs) == 1 else None)
        views = [whole] if whole is not None else []
    if not views:
        return None
    ranked = sorted(views, key=_rank)
    view, rest = ranked[0], ranked[1:]
    unused = _unused(texts, kinds, views, engines)
    others = [*rest, *unused]
    return Servers(view=view, others=tuple(others[:_MOST_OTHERS]), foreign=_strangers(view, unused, texts, asides))


def _strangers(
    view: ServerView,
    unused: Iterable[ServerView],
    texts: Mapping[str, str],
    asides: Mapping[str, Sequence[Stranger]],
) -> tuple[Stranger, ...]:
    """Of a log without a launch line of its own: the lines that were given beside it, and what is against each."""
    if view.log is None or (view.asked_source is not None and view.asked_source.where != view.log.where):
        return ()
    tried = [*asides.get(view.log.where, ()), *_untried(view, unused, texts)]
    return tuple({(where, line): (where, line, against) for where, line, against in reversed(tried)}.values())[::-1]


def _untried(view: ServerView, unused: Iterable[ServerView], texts: Mapping[str, str]) -> Iterator[Stranger]:
    """Lines that no engine chose, where something is against them."""
    if view.log is None:
        return
    for other in unused:
        theirs = {"asked": other.asked, "asked_source": other.asked_source, "asked_spec": other.asked_spec}
        tried = view.model_copy(update={**theirs, "rewrites": ()})
        against = differences(tried, texts.get(view.log.where, ""))
        if against and other.asked_source is not None:
            yield other.asked_source.where, other.asked_source.line or 1, ", ".join(against)


def _view(
    texts: Mapping[str, str], engines: Sequence[Engine], aside: list[Stranger] | None = None
) -> ServerView | None:
    """What an engine makes of files, without launch lines that started another server than the log's.

    Those are put into `aside`, with what is against each. One that fits and is dated after the log's end gives way to
    another that fits. After many the rest of their file is taken for more of the kind.
    """
    view, later = _read(texts, engines), None
    for tried in range(2 * _MOST_OTHERS):
        source = view.asked_source if view is not None else None
        if view is None or view.log is None or source is None or source.where not in texts:
            break
        log = texts.get(view.log.where, "")
        commands = commands_in(texts[source.where])
        command = next((c for c in commands if c.line <= (source.line or 0) <= c.last_line), None)
        against = differences(view, log)
        if not against and later is None and command is not None and dated_after(command.comment, log):
            later = view
        elif not against or command is None:
            return view
        elif aside is not None:
            aside.append((source.where, source.line or 1, ", ".join(against)))
        many = tried >= _MOST_OTHERS
        without = "" if many else _without(texts[source.where], command.line, command.last_line)
        texts = {**texts, source.where: without}
        view = _read(texts, engines)
    return later or view


def _read(texts: Mapping[str, str], engines: Sequence[Engine]) -> ServerView | None:
    """What an engine makes of files; of several engines the first that finds a log."""
    found: list[ServerView] = []
    for engine in engines:
        view = engine.view_from_files(dict(texts))
        if view is not None and view.log is not None:
            return view
        found += [view] if view is not None else []
    return found[0] if found else None


def _hinted(engines: Sequence[Engine], material: Material, logs: Iterable[str]) -> list[Engine]:
    """The engines, first those whose words the logs begin with: to read a long log is the costly part."""
    names = {seen.engine for seen in material.files if seen.where in logs}
    return sorted(engines, key=lambda engine: engine.name not in names)


def _by_log(
    texts: Mapping[str, str],
    material: Material,
    logs: Iterable[str],
    engines: Sequence[Engine],
    asides: dict[str, list[Stranger]],
) -> list[ServerView]:
    """One view for each log, made from that log, what bears its name, and what bears no log's name."""
    kinds = {seen.where: seen.kind for seen in material.files}
    marks = {where: mark_of(where) for where in texts}
    taken = {marks[where] for where in logs}
    found: list[ServerView] = []
    for log in logs:
        own = {
            where: text for where, text in texts.items() if kinds.get(where) not in _OWNED and not _foreign(where, log)
        }
        own[log] = texts[log]
        shared: list[str] = []
        for kind in _OWNED - {"server log"}:
            of_kind = [where for where in texts if kinds.get(where) == kind]
            same = [where for where in of_kind if marks[where] == marks[log]]
            free = [where for where in of_kind if not marks[where] or marks[where] not in taken]
            own |= {where: texts[where] for where in same or free}
            by_name = bool(same and marks[log])
            shared += [] if by_name or kind != "launch line" else same or free
        view = _agreeing(own, shared, _hinted(engines, material, (log,)), asides.setdefault(log, []))
        found += [view] if view is not None else []
    return found


def _agreeing(
    own: Mapping[str, str], shared: Sequence[str], engines: Sequence[Engine], aside: list[Stranger]
) -> ServerView | None:
    """The view of a log; of launch lines that it shares with others, a command that its own words do not contradict."""
    view = _view(own, engines, aside)
    if view is None or not shared or not _contradicted(view):
        return view
    without = {where: text for where, text in own.items() if where not in shared}
    for where in shared:
        for command in commands_in(own[where]):
            one = _view({**without, where: _only(own[where], command.line, command.last_line)}, engines)
            if one is not None and one.asked_source is not None and not _contradicted(one):
                return one
    return _view(without, engines)


def _contradicted(view: ServerView) -> bool:
    """Whether the launch line asks for what the log shows not to be so: speculation, or none."""
    if view.asked_source is None or view.log is None:
        return False
    asks = view.asked_spec is not None and view.asked_spec.on
    drafts = any(w.accept_length is not None for w in view.log.decode)
    if view.log.server_args is not None and view.spec is not None:
        return asks != view.spec.on
    return asks != drafts if view.log.decode else False


def _foreign(where: str, log: str) -> bool:
    """Whether a file (a config, a note) is marked as belonging to the other log."""
    other = bool(re.search(r"other", PurePosixPath(where).stem.lower()))
    return other and not re.search(r"other", PurePosixPath(log).stem.lower())


def mark_of(where: str) -> str:
    """What a file's name says beyond its kind: "server_base.log" and "launch_base.sh" are both "base".

    Pieces of one text bear the same name, which says nothing of either.
    """
    path = PurePosixPath(where.lower())
    name = "" if _PIECE.search(where) else path.name.partition(".")[0]
    words = [w for w in re.split(r"[^a-z0-9]+", f"{path.parent.name} {name}") if w]
    kept = ["base" if w in ("baseline", "base") else w for w in words if not _COMMON_WORDS.fullmatch(w)]
    return " ".join(kept)


def _rank(view: ServerView) -> tuple[bool, bool, bool, int, str]:
    where = view.log.where if view.log else (view.asked_source.where if view.asked_source else "")
    mark = mark_of(where)
    speculates = any(spec is not None and spec.on for spec in (view.spec, view.asked_spec))
    drafts = view.log is not None and any(w.accept_length is not None for w in view.log.decode)
    earlier = bool(EARLIER.search(mark))
    return (not (speculates or drafts), view.log is None, earlier, len(mark), where)


def _unused(
    texts: Mapping[str, str], kinds: Mapping[str, FileKind], views: Sequence[ServerView], engines: Sequence[Engine]
) -> list[ServerView]:
    """Servers of which there is a launch line only: commands that are no other server's own."""
    found: list[ServerView] = []
    owned = [(view.asked_source.where, view.asked_source.line or 0) for view in views if view.asked_source is not None]
    for where, text in texts.items():
        if kinds.get(where) != "launch line":
            continue
        for command in commands_in(text):
            if any(file == where and command.line <= line <= command.last_line for file, line in owned):
                continue
            other = _view({where: _only(text, command.line, command.last_line)}, engines)
            if other is not None and all(other.argv != view.argv for view in views):
                found.append(other)
    return found


def _only(text: str, first: int, last: int) -> str:
    """The text with all lines but these emptied: numbers of lines stay as they are."""
    lines = text.split("\n")
    return "\n".join(line if first <= n <= last else "" for n, line in enumerate(lines, start=1))


def _without(text: str, first: int, last: int) -> str:
    """The text with these lines emptied."""
    lines = text.split("\n")
    return "\n".join("" if first <= n <= last else line for n, line in enumerate(lines, start=1))
