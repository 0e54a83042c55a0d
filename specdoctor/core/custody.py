"""What runs have left on a host, and who holds which server, as anybody who looks is told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from specdoctor.core.launch import GuardStory
from specdoctor.core.measurement import OwnLoad
from specdoctor.core.model import Frozen
from specdoctor.core.server import ServerRef


class GuardProcess(Frozen):
    """The process of a guard."""

    pid: int
    start_ticks: int


class Lease(Frozen):
    """A server held by a run, of any user of the host. `who` is the person at the other end of the link."""

    run: str
    port: int
    who: str
    user: str
    since: float
    grace_s: float
    guard: GuardProcess


class ControllerEnd(Frozen):
    """The last word of whoever steered a run: when (by the host's clock), with which exit code, and how that came.

    `exit_code` is None where it broke.
    """

    at: float
    exit_code: int | None
    words: str = ""


AT_WORK_S = 20.0
"""A run that has stopped no server counts as at work for this long after its last word."""

Standing = Literal["steered", "at work", "silent", "acting", "as found", "changed", "down", "past", "files"]


class LeftRun(Frozen):
    """What one run of the user who looks has on the host. Times are seconds since the epoch by the host's clock.

    `held_by` is the run, and its person, that holds the server's port by now, `listening` a process that has the port
    and is neither of this run nor the original. `stopped`: the run has stopped or started a server at least once.
    `silent_s` is how long nobody has steered it, None if nobody ever did; `log` the end of its newest start's output.
    `ended` is there where whoever steered it has said that it ended, and nobody has taken it up since.
    """

    run: str
    folder: str
    files: tuple[str, ...] = ()
    who: str = ""
    silent_s: float | None = None
    ended: ControllerEnd | None = None
    way_back: bool = False
    actions: dict[str, str] = Field(default_factory=dict)
    under_way: bool = False
    stopped: bool = False
    loads: tuple[OwnLoad, ...] = ()
    guard: GuardStory | None = None
    log: str = ""
    port: int | None = None
    recorded_at: float | None = None
    rebooted: bool = False
    running: ServerRef | None = None
    running_is_original: bool | None = None
    held_by: str = ""
    listening: int | None = None

    @property
    def standing(self) -> Standing:
        """How it stands: whose turn it is, and whether the server is as it was found."""
        if not self.way_back:
            lately = self.ended is None and self.silent_s is not None and self.silent_s < AT_WORK_S
            return "at work" if lately else "files"
        if self.guard is not None and self.guard.acting:
            return "acting"
        if self.guard is not None and self.guard.alive and self.silent_s is not None and self.ended is None:
            return "steered" if self.silent_s < self.guard.grace_s / 2 else "silent"
        if self.held_by or (self.running is None and self.listening is not None):
            return "past"
        if self.running_is_original:
            return "as found"
        return "down" if self.running is None else "changed"

    @property
    def guard_acts_in_s(self) -> float | None:
        """Seconds until the guard acts if nobody takes the run up; None where none stands watch."""
        guard = self.guard
        if guard is None or not guard.alive or guard.phase != "watching" or self.silent_s is None:
            return None
        return max(0.0, guard.grace_s - self.silent_s)

    @property
    def never_stopped(self) -> bool:
        """Whether there is nothing to put back, and nothing on its way that could change that."""
        return not self.way_back or not (self.stopped or self.under_way)


class Leftovers(Frozen):
    """Everything of specdoctor on a host: leases of all users that can be seen, and the runs of this one."""

    now: float
    leases: tuple[Lease, ...] = ()
    runs: tuple[LeftRun, ...] = ()

    def of(self, run: str) -> LeftRun | None:
        return next((each for each in self.runs if each.run == run), None)
