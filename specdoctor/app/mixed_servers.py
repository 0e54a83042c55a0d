"""Two servers whose lines stand in one log: what a line tells is of the one or of the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdoctor.core.server import ServerView

_ARGUMENTS = "server_args="
_READY = "The server is fired up and ready to roll"
_PORT = re.compile(r"\bport['\"]?(?:=|: )(\d{1,5})\b")
_MODEL = re.compile(r"\bmodel_path['\"]?(?:=|: )['\"]([^'\"]{1,400})['\"]")
_MOST_OF_LINE = 20_000


def mixed_in(view: ServerView, text: str) -> str:
    """Says that the log holds two servers at once, "" where nothing shows it.

    A server that is started anew in the same log becomes ready once after its arguments; two that start side by side,
    with another port or model each, become ready twice after the later arguments.
    """
    if view.log is None or text.count(_ARGUMENTS) < 2:
        return ""
    begins = list(_begins(text))
    if len(begins) < 2 or text.count(_READY, begins[-1][0]) < 2:
        return ""
    ports, models = {port for _, port, _ in begins[-2:]}, {model for _, _, model in begins[-2:]}
    if len(ports) < 2 and len(models) < 2:
        return ""
    of = [f"port {port or '?'}, {model or '?'}" for _, port, model in begins[-2:]]
    return f"holds the lines of two servers mixed ({'; '.join(of)}): no figure is a mean over them"


def _begins(text: str) -> Iterator[tuple[int, str, str]]:
    """Where each line of arguments stands, and its port and model."""
    at = text.find(_ARGUMENTS)
    while at >= 0:
        end = text.find("\n", at)
        line = text[at : min(end if end >= 0 else len(text), at + _MOST_OF_LINE)]
        port, model = _PORT.search(line), _MODEL.search(line)
        if port or model:
            yield at, port[1] if port else "", model[1] if model else ""
        at = text.find(_ARGUMENTS, at + len(line))


def without_means(view: ServerView) -> ServerView:
    """The view without anything that was measured over the log's lines."""
    if view.log is None:
        return view
    return view.model_copy(update={"log": view.log.model_copy(update={"decode": (), "whole": None, "counts": None})})
