"""The life of a guard: it watches, and puts the original back when whoever steers the run is silent for too long."""

import contextlib
import os
import signal
import time
import traceback
from typing import Any, Callable, Dict, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.detached import Ready
from specdoctor.remote.parts.folder_memory import FolderMemory
from specdoctor.remote.parts.guard_story import GUARD, guard_story
from specdoctor.remote.parts.jobs import stop_jobs
from specdoctor.remote.parts.lease import LEASE, remove_shared_lease, write_shared_lease
from specdoctor.remote.parts.orders import start_restoring
from specdoctor.remote.parts.other_start import look_out, other_seen
from specdoctor.remote.parts.procfs import alive, own_stat
from specdoctor.remote.parts.records import note_json, read_json
from specdoctor.remote.parts.redaction import mask_text
from specdoctor.remote.parts.run_dir import action_path, contact_at, drop_lock, read_actions, take_lock, under_way
from specdoctor.remote.parts.run_servers import Ref, begun_by_another
from specdoctor.remote.parts.server_logs import log_end
from specdoctor.remote.parts.start_watch import StartWatch
from specdoctor.remote.parts.way_back import secrets_of

ATTEMPTS = 3
MOST_ATTEMPTS = 12
"""Three starts are made; what stands before a start (a keeper that does not answer, no room) may go by itself."""
PAUSE_S = 10.0
GUARD_LOOK_S = 1.0
OTHERS_EVERY_S = 5.0
TAIL_BYTES = 4000


class Guard:
    """The life of one guard."""

    def __init__(self, folder: str, record: Dict[str, Any], story: Dict[str, Any]) -> None:
        self.folder = folder
        self.record = record
        self.story = story
        self.port = int(record["server"]["port"])
        self.grace_s = float(story["grace_s"])
        self.memory = FolderMemory(folder)
        self.starts = 0
        self._mark = contact_at(folder)
        self._heard = time.monotonic()
        self._look_at = time.monotonic()

    def save(self, **changes: Any) -> None:
        self.story.update(changes)
        if not os.path.isdir(self.folder):
            self.memory.keep()
        note_json(self.folder + "/" + GUARD, self.story)

    def tell(self, text: str) -> None:
        self.save(story=[*self.story["story"], [time.time(), text]])

    def run(self, ready: Ready) -> None:
        """Show the lease, then watch until released or needed."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        own = own_stat(os.getpid())
        myself = {"pid": os.getpid(), "start_ticks": own.start_ticks if own else 0}
        lease = {key: self.story[key] for key in ("run", "port", "who", "since", "grace_s")}
        lease["guard"] = myself
        note_json(self.folder + "/" + LEASE, lease)
        write_shared_lease(lease)
        self.save(guard=myself)
        ready()
        try:
            self.watch()
        finally:
            remove_shared_lease(self.story["run"], self.port)

    def watch(self) -> None:
        try:
            while self.posted():
                self.memory.watch(min(GUARD_LOOK_S, self.grace_s / 4.0))
                self.without_fail(self.look_out)
                if self.silent_s() > self.grace_s and self.act():
                    return
        finally:
            if self.story["acted_at"] is not None and self.story["result"] is None:
                self.end("failed", "the guard broke: " + traceback.format_exc(limit=3)[-600:])

    def look_out(self) -> None:
        """Note, once, that somebody else starts the server too."""
        if time.monotonic() >= self._look_at and other_seen(self.folder) is None:
            self._look_at = time.monotonic() + OTHERS_EVERY_S
            look_out(self.folder, self.record)

    def posted(self) -> bool:
        """Whether no other guard has been named for the run.

        A run that is released ends its guard first: where its folder is gone, or cannot be
        read, somebody else did that.
        """
        story = guard_story(self.folder)
        return not story or not story["guard"] or story["guard"]["pid"] == os.getpid()

    def silent_s(self) -> float:
        """Seconds since somebody steered the run, by a clock that nobody sets."""
        mark = contact_at(self.folder)
        if mark != self._mark:
            self._mark, self._heard = mark, time.monotonic()
        return time.monotonic() - self._heard

    def act(self) -> bool:
        """Put the original back; False when whoever steers the run came back in time."""
        self.without_fail(self.interrupt)
        lock, _ = take_lock(self.folder, self.port)
        if lock is None:
            return False  # another order took the port meanwhile: a restoration, or somebody who is back
        if self.silent_s() <= self.grace_s:
            drop_lock(self.folder, self.port, lock)
            return False
        self.save(phase="acting", acted_at=time.time(), quiet_s=self.silent_s())
        self.tell("nobody was in touch for %d s; putting the original back" % self.story["quiet_s"])
        self.without_fail(self.undo_launches)
        self.without_fail(lambda: stop_jobs(self.folder))
        used: Optional[int] = lock
        for attempt in range(1, MOST_ATTEMPTS + 1):
            if self.attempted(used):
                return True
            used = None
            if self.starts == ATTEMPTS or attempt == MOST_ATTEMPTS:
                break
            time.sleep(min(PAUSE_S * attempt, max(1.0, self.grace_s)))
        self.end("failed", self.story["reason"])
        return True

    def interrupt(self) -> None:
        """End the worker of a launch that is still under way; a restoration is what is wanted, and goes on."""
        for state in read_actions(self.folder):
            if state["kind"] == "launch" and under_way(state):
                worker = state["worker"]
                with contextlib.suppress(ProcessLookupError):  # it has just come to its end
                    os.kill(worker["pid"], signal.SIGKILL)
                while alive(worker["pid"], worker["start_ticks"]):
                    time.sleep(0.05)

    def undo_launches(self) -> None:
        """A launch without an end gets one, so that nobody takes it up again."""
        for state in read_actions(self.folder):
            if state["kind"] == "launch" and state["outcome"] is None:
                down = time.monotonic() - state["down_from"] if state["down_from"] is not None else 0.0
                state["outcome"] = {
                    "status": "undone",
                    "reason": "nobody was in touch for %d s: the guard took over" % self.story["quiet_s"],
                    "server": None,
                    "start_s": 0.0,
                    "downtime_s": down,
                }
                state["phase"] = "undone"
                note_json(action_path(self.folder, state["action"]), state)

    def without_fail(self, step: Callable[[], None]) -> None:
        """A step that putting back can do without: what went wrong with it is told."""
        try:
            step()
        except Exception as error:  # noqa: BLE001  nothing may keep the original down
            self.tell("%s: %s" % (type(error).__name__, error))

    def attempted(self, lock: Optional[int]) -> bool:
        """One attempt that may break: the next one is made all the same."""
        try:
            return self.try_once(lock)
        except Exception as error:  # noqa: BLE001  nothing may keep the original down
            self.save(reason="%s: %s" % (type(error).__name__, str(error)[-300:]))
            self.tell(self.story["reason"])
            return False

    def try_once(self, lock: Optional[int]) -> bool:
        """One attempt; True when there is nothing more to do."""
        begun = begun_by_another(self.folder, self.record)
        if begun:
            self.tell("somebody else has started it again as process %d; waiting for that one" % begun["pid"])
            if lock is not None:
                drop_lock(self.folder, self.port, lock)
                lock = None
            self.healthy(begun)
        order = dict(self.story["order"], run=self.story["run"], action=self.next_action(), port=self.port)
        try:
            answer = start_restoring(self.folder, self.record, order, lock)
        except Refusal as refusal:
            self.tell(refusal.message)
            if refusal.kind == "port-taken":
                self.end("left-alone", refusal.message)
                return True
            self.save(reason=refusal.message)
            return False
        self.starts += 1
        if answer is not None:
            return self.found_in_place(answer["outcome"])
        return self.followed(order["action"])

    def next_action(self) -> str:
        taken = [state["action"] for state in read_actions(self.folder)]
        return next(name for name in ("guard-%d" % number for number in range(1, 1000)) if name not in taken)

    def found_in_place(self, outcome: Dict[str, Any]) -> bool:
        if not self.healthy(outcome["server"]):
            self.save(reason="the original runs as process %d and is not healthy" % outcome["server"]["pid"])
            self.tell(self.story["reason"])
            return False
        self.tell("the original runs already as process %d and is healthy" % outcome["server"]["pid"])
        self.save(outcome=outcome)
        self.end("nothing-to-do", "")
        return True

    def followed(self, action: str) -> bool:
        """Wait for the worker that restores, and take in what came of it."""
        path = action_path(self.folder, action)
        state = read_json(path)
        while state and state["outcome"] is None and under_way(state):
            time.sleep(min(GUARD_LOOK_S, self.grace_s / 4.0))
            state = read_json(path)
        self.port_let_go()
        outcome = state["outcome"] if state else None
        if not state or not outcome:
            self.save(reason="the worker that restored was lost")
            self.tell(self.story["reason"])
            return False
        self.save(outcome=outcome, reason=str(outcome["reason"]), log=self.tail(state))
        if outcome["status"] == "nothing-to-do":  # somebody else has started it, and was waited for
            return self.found_in_place(outcome)
        if outcome["status"] != "restored":
            self.tell("the original did not come up (%s): %s" % (outcome["status"], outcome["reason"]))
            return False
        unequal = sorted(name for name, equal in outcome["equal"].items() if not equal)
        same = "all its parts are equal" if not unequal else "not equal: " + ", ".join(unequal)
        self.tell("the original is back as process %d and healthy; %s" % (outcome["server"]["pid"], same))
        self.end("restored", "")
        return True

    def port_let_go(self) -> None:
        """Wait for a worker that found no place to say how far it is: it holds the port's lock until its end."""
        lock, _ = take_lock(self.folder, self.port)
        while lock is None:
            time.sleep(min(GUARD_LOOK_S, self.grace_s / 4.0))
            lock, _ = take_lock(self.folder, self.port)
        drop_lock(self.folder, self.port, lock)

    def tail(self, state: Dict[str, Any]) -> str:
        """The end of what the start wrote, free of secrets."""
        text = "".join(log_end(str(path), int(start), TAIL_BYTES) for path, start in state["logs"])
        return mask_text(text, secrets_of(self.record))[-TAIL_BYTES:]

    def healthy(self, server: Ref) -> bool:
        """Whether this server answers, waiting as long as a start may take while it lives."""
        rules, limit_s = self.story["order"]["rules"], float(self.story["order"]["ready_timeout_s"])
        watch = StartWatch((server["pid"], server["start_ticks"]), self.port, rules, [], time.monotonic())
        while alive(server["pid"], server["start_ticks"]) and watch.elapsed_s < limit_s:
            endpoint = watch.endpoint()
            if endpoint is not None and endpoint.port == self.port and watch.healthy(endpoint):
                return True
            time.sleep(GUARD_LOOK_S)
        return False

    def end(self, result: str, reason: str) -> None:
        self.save(phase=result, result=result, reason=reason)
        if result == "failed":
            self.tell("GIVEN UP: the original is not back: " + reason)
