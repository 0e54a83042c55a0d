"""Does a client count stream chunks where the server counts tokens?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.logged_rows import logged_row
from specdoctor.analysis.measured_rows import LAUNCH_NOISE
from specdoctor.checks.reading import no_data, no_files, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

COUNTED = re.compile(r"\b(?:chunks?|sse|stream\w* events?|deltas?)\b", re.I)
CHUNKS = re.compile(r"\b(?:chunks?|events|deltas)\b\s*[=:]\s*(?P<n>\d+)", re.I)
TOKENS = re.compile(r"completion_tokens\b[\"']?\s*[=:]\s*(?P<n>\d+)", re.I)
STREAMS = re.compile(r"stream\s*=\s*True|[\"']stream[\"']\s*:\s*[Tt]rue|iter_lines\(|aiter_lines\(|data: ")
ASKS = re.compile(r"completion_tokens|include_usage|tokenizer|encode\(|token_ids|meta_info")
LOOP = re.compile(r"\b(?:async )?for \w*(?:chunk|event|line|delta|part)\w* in\b")
ADDS = re.compile(r"^\s+\w+\s*\+=\s*1\b")
TOKEN_NAME = re.compile(r"tok(?:en)?s?\b", re.I)
_NEAR_LINES, _LONGEST_CODE = 8, 100_000
SPEED = re.compile(r"(?<![\w.])(?P<n>\d+(?:\.\d+)?)\s*(?:tok(?:en)?s?/s|tokens? per second|t/s|tps)\b", re.I)


class ClientCount:
    """With speculation one chunk carries a cycle's tokens: a counter of chunks is low by the accept length."""

    name = "client-count"
    summary = "Compare a client's count of chunks, or its speed, with the server's: the accept length lies between."
    causes = ("MEAS-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, "MEAS-4", "no files were given to be judged")
        coded = _in_code(scene)
        spoken = coded or next((s for s, _ in found_lines(scene, COUNTED, "notes", "text", "script", "answer")), None)
        row = logged_row(scene.view)
        length = row.accept_length if row is not None and row.speculative else None
        if spoken is None or length is None or row is None:
            return no_data(self.name, "MEAS-4", "no count of chunks beside a log with an accept length")
        if coded is not None:
            claim = f"the client adds one for each chunk of the stream, and a chunk carries {length:.2f} tokens a cycle"
            speed = (row.throughput_tok_s or 0.0) / length
            claim += f": of {row.throughput_tok_s or 0.0:.1f} tok/s it sees about {speed:.1f}"
            return (proved(self.name, "MEAS-4", claim, coded, row.source),)
        found = _by_counts(scene, length) or _by_speed(scene, length, row.throughput_tok_s or 0.0)
        if found is None:
            return silent(self.name, "MEAS-4", "the client's figures are not low by the accept length", spoken)
        said, places = found
        claim = f"{said}: a chunk of the stream carries the {length:.2f} tokens of a cycle, counted as one"
        return (proved(self.name, "MEAS-4", claim, *places, spoken, row.source),)


def _in_code(scene: Scene) -> Source | None:
    """Where a program counts the chunks of a stream and never asks the server for its count."""
    for where, text in scene.material.texts.items():
        if len(text) > _LONGEST_CODE or not STREAMS.search(text) or ASKS.search(text):
            continue
        loops = [n for n, line in enumerate(text.split("\n"), start=1) if LOOP.search(line, 0, 300)]
        for place, _ in found_lines(scene, ADDS):
            near = any(0 < (place.line or 0) - n <= _NEAR_LINES for n in loops)
            if place.where == where and near and TOKEN_NAME.search(text):
                return place
    return None


def _near(ratio: float, length: float) -> bool:
    return abs(ratio / length - 1) <= 2 * LAUNCH_NOISE


def _by_counts(scene: Scene, length: float) -> tuple[str, tuple[Source, ...]] | None:
    chunks = [(s, float(m["n"])) for s, m in found_lines(scene, CHUNKS)]
    tokens = [(s, float(m["n"])) for s, m in found_lines(scene, TOKENS)]
    for place, count in chunks:
        for other, whole in tokens:
            if count and _near(whole / count, length):
                return f"{whole:.0f} tokens came in {count:.0f} chunks", (place, other)
    return None


def _by_speed(scene: Scene, length: float, server: float) -> tuple[str, tuple[Source, ...]] | None:
    for place, match in found_lines(scene, SPEED, "notes", "text", "script"):
        client = float(match["n"])
        if client and length > 1 + 2 * LAUNCH_NOISE and _near(server / client, length):
            return f"the client says {client:g} tok/s, the server {server:.1f}", (place,)
    return None


check = ClientCount()
