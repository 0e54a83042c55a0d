"""Operations over the inside of a container: everything but restarts, which only its host could do."""

from __future__ import annotations

from specdoctor.core.facts import Facts
from specdoctor.core.host import Host
from specdoctor.core.launch import LaunchOrder, LaunchOutcome
from specdoctor.core.operations import Clock, OnProgress, SnapshotRequest
from specdoctor.core.via import Via, keeper_through
from specdoctor.operations.remote import RemoteOperations


class ContainerOperations(RemoteOperations):
    """The port `Operations` over a host that is the inside of the container `via`."""

    def __init__(self, host: Host, *, via: Via, clock: Clock, interpreter: str | None = None, target: str) -> None:
        super().__init__(host, clock=clock, interpreter=interpreter, target=target)
        self._via = str(via)

    def snapshot(self, request: SnapshotRequest) -> Facts:
        """As of any host; the facts name the container."""
        return super().snapshot(request).model_copy(update={"via": self._via})

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        """Refused, whoever asks."""
        keeper = keeper_through(self._via)
        reason = keeper.reason if keeper is not None else ""
        return LaunchOutcome(action=order.action, status="refused", server=None, reason=reason)
