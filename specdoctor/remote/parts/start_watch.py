"""Watching a start: phases, readiness and failure by the log, the death of the process, then the health path."""

import os
import re
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from specdoctor.remote.parts.local_http import Endpoint, endpoint_of, get
from specdoctor.remote.parts.procfs import alive, all_stats, argv_of, environ_of, listeners_of, text_of, tree_of

WATCH_STEP_S = 0.2
LOOK_S = 3.0
OTHER_LOOK_S = 2.0
QUIET_READY_S = 20.0
LAST_WORDS_S = 15.0
CHUNK = 1 << 20


class Follower:
    """New complete lines of a growing log."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        self.offset = offset
        self._rest = b""

    def lines(self, to_the_end: bool = False) -> List[str]:
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.offset)
                raw = stream.read(CHUNK)
        except OSError:
            return []
        self.offset += len(raw)
        pieces = (self._rest + raw).split(b"\n")
        self._rest = b"" if to_the_end else pieces.pop()
        return [text_of(piece) for piece in pieces if piece]


class StartWatch:
    """One start under observation. `report` is called with the phase whenever something has changed."""

    def __init__(
        self, process: Tuple[int, int], port: int, rules: Dict[str, Any], logs: List[Tuple[str, int]], since: float
    ) -> None:
        self.pid, self.start_ticks = process
        self.port = port
        self.health_path = str(rules["health_path"])
        self.ready = re.compile(rules["ready"])
        self.failures = [re.compile(pattern) for pattern in rules["failures"]]
        self.patterns = [(name, re.compile(pattern)) for name, pattern in rules["phases"]]
        self.followers = [Follower(path, offset) for path, offset in logs]
        self.since = since
        self.phases: Dict[str, float] = {}
        self.failure = ""
        self.ready_seen = False
        self.exit_status: Optional[int] = None
        self._next_look = time.monotonic() + LOOK_S
        self._listening_since: Optional[float] = None

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.since

    def read_log(self, to_the_end: bool = False) -> bool:
        """Take in new lines; True if one of them began a phase, was a failure or said ready."""
        changed = False
        for line in [line for follower in self.followers for line in follower.lines(to_the_end)]:
            for name, pattern in self.patterns:
                if name not in self.phases and pattern.search(line):
                    self.phases[name] = round(self.elapsed_s, 2)
                    changed = True
            if not self.failure and any(pattern.search(line) for pattern in self.failures):
                self.failure = line.strip()[:500]
                changed = True
            if not self.ready_seen and self.ready.search(line):
                self.ready_seen = changed = True
        return changed

    def dead(self) -> bool:
        """Whether the launcher has ended; notes its exit status when it is our child."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid == self.pid:
                self.exit_status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                return True
        except ChildProcessError:
            return not alive(self.pid, self.start_ticks)
        return False

    def endpoint(self) -> Optional[Endpoint]:
        """Where the new server listens: on the wanted port, else on the lowest of its own."""
        entries = [entry for _, entry in listeners_of(tree_of(self.pid, all_stats()))]
        entries.sort(key=lambda entry: (entry.port != self.port, entry.port))
        if not entries:
            return None
        return endpoint_of(self.pid, entries[0], argv_of(self.pid) or [], environ_of(self.pid) or {})

    def healthy(self, endpoint: Optional[Endpoint]) -> bool:
        """A health path that is not there or wants a key still shows that the server answers."""
        return endpoint is not None and get(endpoint, self.health_path, 10.0, 65536)["status"] in (200, 401, 403, 404)

    def wait(
        self,
        timeout_s: float,
        report: Callable[[str, Dict[str, float]], None],
        other: Callable[[], str] = str,
    ) -> Tuple[str, str]:
        """("ready" | "failed" | "timeout" | "other", reason).

        `other` tells who else starts the server or has its port; empty where nobody does.
        """
        failed_at: Optional[float] = None
        look_at = time.monotonic() + OTHER_LOOK_S
        while self.elapsed_s < timeout_s:
            if self.read_log():
                report(self.phase, self.phases)
            if time.monotonic() >= look_at:
                found = other()
                look_at = time.monotonic() + OTHER_LOOK_S
                if found:
                    return "other", found
            if self.dead():
                found, said = other(), self._last_words()
                return ("other", "%s; %s" % (found, said)) if found else ("failed", said)
            if self.failure and failed_at is None:
                failed_at = time.monotonic()
            if failed_at is not None and not self.ready_seen and time.monotonic() - failed_at > LAST_WORDS_S:
                return "failed", "the log says: " + self.failure
            if self._answers():
                found = other()
                if found:
                    return "other", found
                self.phases["ready"] = round(self.elapsed_s, 2)
                return "ready", ""
            time.sleep(WATCH_STEP_S)
        return "timeout", "not ready after %d s; last phase: %s" % (self.elapsed_s, self.phase)

    def _answers(self) -> bool:
        """Healthy after its ready line; a server that is too quiet to log one, after it has listened for a while."""
        now = time.monotonic()
        if not self.ready_seen and now < self._next_look:
            return False
        self._next_look = now + LOOK_S
        endpoint = self.endpoint()
        if endpoint is None:
            self._listening_since = None
            return False
        if self._listening_since is None:
            self._listening_since = now
        return (self.ready_seen or now - self._listening_since > QUIET_READY_S) and self.healthy(endpoint)

    @property
    def phase(self) -> str:
        return max(self.phases, key=lambda name: self.phases[name]) if self.phases else "starting"

    def _last_words(self) -> str:
        time.sleep(WATCH_STEP_S)
        self.read_log(to_the_end=True)
        how = "ended" if self.exit_status is None else "exited with code %d" % self.exit_status
        said = "; the log says: " + self.failure if self.failure else ""
        return "the process %s after %.0f s%s" % (how, self.elapsed_s, said)
