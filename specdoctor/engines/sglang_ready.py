"""How an SGLang start shows itself in its log: ready, failed, and the phases in between."""

from __future__ import annotations

from specdoctor.core.launch import ReadyRules
from specdoctor.engines.versions import VersionRange, range_of

_READY = r"The server is fired up and ready to roll!"
_FAILURES = (
    r"Scheduler hit an exception: ",
    r"Received sigquit from a child process",
    r"SIGQUIT received\.",
    r"scheduler died during initialization",
    r"crashed with exit code -?\d+\. Triggering SIGQUIT",
    r"kill_process_tree called: .*include_parent=True",
    r": error: (?:unrecognized arguments|ambiguous option|argument |the following arguments)",
    r"error while attempting to bind on address",
    r"Capture (?:\w+ )*(?:cuda|CUDA) graph failed",
    r"is not available in \d+ seconds\.",
)
# New wording of the capture lines, with the part that is captured written out.
_NAMED_CAPTURES = VersionRange.of("0.5.14")
_PHASES_FIRST = (
    (r"server_args=", "reading arguments"),
    (r"Init torch distributed begin", "joining the ranks"),
    (r"Load weight begin", "loading weights"),
    (r"KV Cache is allocated|Memory pool end", "KV cache"),
)
_PHASES_OLD = (
    (r"Capture draft extend cuda graph begin", "draft-extend graphs"),
    (r"Capture (?:Frozen-KV MTP )?draft cuda graph begin", "draft graphs"),
    (r"Capture (?:cuda|cpu|npu) graph begin", "target graphs"),
    (r"Capture piecewise CUDA graph begin", "prefill graphs"),
)
_PHASES_NEW = (
    (r"Capture draft extend \w+ graph begin", "draft-extend graphs"),
    (r"Capture (?:draft decode|UNO tree draft|Frozen-KV MTP draft) \w+ graph begin", "draft graphs"),
    (r"Capture target (?:verify|decode) \w+ graph begin", "target graphs"),
    (r"Capture (?:target|draft) prefill \w+ graph begin", "prefill graphs"),
)
_PHASES_LAST = (
    (r"Uvicorn running on ", "warming up"),
    (r"Application startup complete", "warming up"),
)
_HEALTH = "/health"


def ready_rules(version: str | None) -> ReadyRules:
    """The rules for a version; without one, those of all versions together.

    `/health` makes the server generate one token in most versions, which proves more than an open port.
    """
    known = range_of(version)
    captures = (_PHASES_NEW if _NAMED_CAPTURES.overlaps(known) else ()) + (
        () if _NAMED_CAPTURES.covers(known) else _PHASES_OLD
    )
    return ReadyRules(
        ready=_READY,
        failures=_FAILURES,
        phases=(*_PHASES_FIRST, *captures, *_PHASES_LAST),
        health_path=_HEALTH,
    )
