"""Why a llama.cpp start failed or a server died: the telling line of its log, and what it means in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from specdoctor.core.redact import redact
from specdoctor.core.server import Failure
from specdoctor.engines.explanation import Explanation
from specdoctor.engines.llamacpp_failures import FAILURES, SECONDARY
from specdoctor.engines.llamacpp_notices import find_notice
from specdoctor.engines.llamacpp_prefix import message_of
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.suspects import Suspects

# A line that may belong to a failure holds one of these; everything else is never looked at twice.
SUSPECT = (
    "rror", "ailed", "GGML_ASSERT", "terminate called", "Segmentation", "Killed", "missing tensor", "out of memory",
    "exceeds target n_layer", "requires exactly", "must match target", "closely match", "couldn't bind",
    "address already", "unknown model architecture", "wrong shape", "not found", "Aborted", "No such file",
    "OutOfDeviceMemory",
)  # fmt: skip
_FATAL = re.compile(
    r"exiting due to|GGML_ASSERT\(.{1,200}\) failed|terminate called after|Segmentation fault|^Killed\b|Aborted \(core"
    r"|error while handling argument|error: (?:invalid|unknown) argument|main: error: |couldn't bind"
    r"|failed to load (?:draft )?model|error loading model|exceeds target n_layer|llama_load_model_from_file: failed"
)
_CRASH = re.compile(
    r"GGML_ASSERT\(.{1,200}\) failed|terminate called after|Segmentation fault|^Killed\b|Aborted \(core"
)
_SERVES_ON = re.compile(r"failed to initialize speculative decoding context")
_FRAME_LINES = 60
_MAX_SUSPECTS = 20_000


def is_suspect(line: str) -> bool:
    return any(word in line for word in SUSPECT)


def _candidates(suspects: Suspects) -> Iterator[tuple[int, str]]:
    """Suspects that may be fatal: not what the log itself calls harmless, nor what the server serves on after."""
    for number in suspects.numbers[:_MAX_SUSPECTS]:
        message = message_of(suspects.lines[number - 1])
        row = find_notice(message)
        if (row is None or not row.benign) and not _SERVES_ON.search(message):
            yield number, message


def _around(suspects: Suspects, number: int) -> str:
    near = suspects.lines[max(0, number - _FRAME_LINES) : number + _FRAME_LINES]
    return "\n".join(line[:400] for line in near)


def _explained(
    suspects: Suspects, found: Sequence[tuple[int, str]], rows: Sequence[Explanation]
) -> tuple[int, str, Explanation, re.Match[str]] | None:
    for number, message in found:
        for row in rows:
            match = row.pattern.search(message)
            if match is not None and (row.frame is None or row.frame.search(_around(suspects, number))):
                return number, message, row, match
    return None


def find_failure(suspects: Suspects) -> Failure | None:
    """The failure that these lines tell, None for a living server or one that was stopped in order."""
    found = list(_candidates(suspects))
    fatal = [(n, m) for n, m in found if (_CRASH if suspects.ready else _FATAL).search(m)]
    if not fatal:
        return None
    if suspects.ready:
        found = [(n, m) for n, m in found if n >= fatal[0][0]]
    told = _explained(suspects, found, FAILURES) or _explained(suspects, found, SECONDARY)
    if told is None:
        number, message = fatal[0]
        return Failure(
            line=number,
            quote=quote_from(suspects.lines[number - 1], message),
            meaning=f"the start ended with {redact(message.strip())[-160:].rstrip('. ')}",
            cause=None,
            next_step="read the lines above it",
        )
    number, message, row, match = told
    groups = {key: redact(value)[:200] if value else "" for key, value in match.groupdict().items()}
    return Failure(
        line=number,
        quote=quote_from(suspects.lines[number - 1], message),
        meaning=" ".join(row.meaning.format_map(groups).replace(" ()", "").replace("(use )", "").split()),
        cause=row.cause,
        next_step=row.next_step,
    )
