"""Ask a host which SGLang is installed there, and how that one picks the states of a target."""

from __future__ import annotations

from specdoctor.core.engine_source import InstalledEngine
from specdoctor.core.host import Host
from specdoctor.core.model import Frozen
from specdoctor.operations.conversation import Conversation, Refused

LIMIT_S = 30.0


class _Answer(Frozen):
    installs: tuple[InstalledEngine, ...]


def installed_engines(host: Host, target: str, *, python: str | None) -> tuple[InstalledEngine, ...]:
    """Those that running servers use, else the one of `python`, else that of the first Python there.

    Only reads. Raises TargetError where the host has no Python, or says nothing that can be read.
    """
    talk = Conversation(host, interpreter=None, target=host.name)
    result = talk.run("installed", {"target": target, "python": python}, timeout_s=LIMIT_S)
    try:
        return _Answer.model_validate(talk.document("installed", result)).installs
    except Refused as refusal:
        raise refusal.as_error(f"look for SGLang on {host.name}") from refusal
