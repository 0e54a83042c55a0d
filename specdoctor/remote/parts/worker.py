"""The worker: one launch or restoration, step by step, each step on disk before the next."""

import os
import time
import traceback
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.driver_plain import Start
from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.launch_line import changed_argv, changed_env
from specdoctor.remote.parts.other_start import note_other, other_seen, other_start, told_other
from specdoctor.remote.parts.procfs import (
    alive,
    all_stats,
    argv_of,
    own_stat,
    port_is_held,
    socket_inodes,
    tree_of,
)
from specdoctor.remote.parts.records import note_json, write_json
from specdoctor.remote.parts.redaction import mask_text
from specdoctor.remote.parts.run_dir import action_path
from specdoctor.remote.parts.run_servers import Ref, addresses_of, remains_of, running
from specdoctor.remote.parts.server_logs import log_size
from specdoctor.remote.parts.start_watch import StartWatch
from specdoctor.remote.parts.stopping import memory_before, wait_until_free
from specdoctor.remote.parts.way_back import secrets_of

GIVE_WAY = 2
"""How often a restoration gives way to somebody else whose start comes to nothing."""
AGAIN_S = 5.0
"""How long it is waited then whether they start it again."""


def new_state(kind: str, order: Dict[str, Any], server: Optional[Ref]) -> Dict[str, Any]:
    own = own_stat(os.getpid())
    return {
        "kind": kind,
        "begun_ticks": own.start_ticks if own else 0,
        "action": order["action"],
        "order": order,
        "server": server,
        "begun": time.monotonic(),
        "begun_at": time.time(),
        "worker": None,
        "phase": "accepted",
        "phases": {},
        "down_from": None,
        "stop_s": 0.0,
        "stopped": False,
        "launched": None,
        "let_go": False,
        "logs": [],
        "notes": {},
        "other": None,
        "outcome": None,
    }


class Worker:
    """Carries out one action step by step; each step is saved, so that another worker could go on from there."""

    def __init__(self, folder: str, state: Dict[str, Any], record: Dict[str, Any]) -> None:
        self.folder = folder
        self.state = state
        self.order: Dict[str, Any] = state["order"]
        self.record = record
        self.driver = driver_of(record)
        self.port = int(record["server"]["port"])
        self._gives_way = True

    def save(self, **changes: Any) -> None:
        """Before a step that has to be known. Raises Refusal where a launch cannot be written down.

        Before the first stop it has to go into the run's own folder, afterwards into any place that takes it.
        Restoring goes on without.
        """
        if self.state["kind"] == "restore":
            return self.note(**changes)
        after = dict(self.state, **changes)
        if not self.state["stopped"]:
            try:
                write_json(self.path, after)
            except OSError as failure:
                what = "no record can be written on the host (%s); nothing was stopped" % failure
                raise Refusal("no-room", what, "make room in %s" % self.folder) from failure
        elif not note_json(self.path, after):
            raise Refusal("no-room", "the server was stopped; then the host took no record any more of what comes next")
        self.state.update(changes)
        return None

    def note(self, **changes: Any) -> None:
        """After a step, or on the way: nothing ends for want of room to write it down."""
        self.state.update(changes)
        note_json(self.path, self.state)

    @property
    def path(self) -> str:
        return action_path(self.folder, str(self.order["action"]))

    def run(self) -> None:
        """To the end; whatever happens, an outcome is written."""
        try:
            self.finish(*self.carry_out())
        except Refusal as refusal:
            self.finish("failed", refusal.message)
        finally:
            if self.state["outcome"] is None:
                self.finish("failed", "the worker broke: " + traceback.format_exc(limit=3)[-600:])

    def carry_out(self) -> Tuple[str, str]:
        """One try of a launch; a restoration gives way to somebody else who starts the original, and waits for them.

        Where nothing comes of theirs, it starts the original itself in the end.
        """
        if self.state["launched"] and not self.state["let_go"] and not self.became_server():
            self.save(launched=None)
        tries = GIVE_WAY + 1 if self.state["kind"] == "restore" else 1
        status, reason = "failed", ""
        for left in range(tries - 1, -1, -1):
            self._gives_way = left > 0 or self.state["kind"] == "launch"
            status, reason = self.one_try()
            if status != "other":
                break
            if self.state["kind"] == "launch":
                return "undone", reason  # it says nothing of the launch
            if not left or not self.state["other"]["same"]:
                return "failed", reason
            if self.comes_up(self.state["other"]):
                return "left", ""
            time.sleep(AGAIN_S)
        return status, reason

    def one_try(self) -> Tuple[str, str]:
        """Stop what runs, start, watch; "other" where somebody else does so, whose process is not touched."""
        if not self.state["launched"]:
            busy = self.stop_what_runs()
            found = self.others()
            if found or busy.startswith("port"):
                return ("other", found) if found else ("failed", busy)
            self.launch(busy)
        return self.watch()

    def others(self) -> str:
        """Who else starts the server or has its port; it is written down."""
        found = other_start(self.folder, self.record, self.state["launched"], self._gives_way)
        if found:
            self.note(other=found)
            note_other(self.folder, found)
        return str(found["words"]) if found else ""

    def comes_up(self, other: Dict[str, Any]) -> bool:
        """Whether the server that somebody else has started answers, waiting while it lives as long as a start may."""
        self.note(phase="waiting for process %d, which somebody else has started" % other["pid"])
        process, since = (int(other["pid"]), int(other["start_ticks"])), time.monotonic()
        watch = StartWatch(process, self.port, self.order["rules"], [], since)
        while alive(*process) and watch.elapsed_s < float(self.order["ready_timeout_s"]):
            endpoint = watch.endpoint()
            if endpoint is not None and watch.healthy(endpoint):
                return bool(endpoint.port == self.port)
            if socket_inodes(process[0]) is None and port_is_held(self.port, addresses_of(self.record)):
                return True  # another user's: who listens cannot be told
            time.sleep(0.5)
        return False

    def stop_what_runs(self) -> str:
        """Stop the server of this run that lives; what is still in the way afterwards."""
        server, _ = running(self.folder, self.record)
        pids: Set[int] = set()
        before: Dict[str, Any] = {"used": [], "held": 0}
        if self.state["down_from"] is None:
            self.save(down_from=time.monotonic())
        if server or self.driver.holds(self.record):
            pids = set(tree_of(server["pid"], all_stats())) if server else set()
            before = memory_before(pids)
            stats = all_stats()
            members = [[pid, stats[pid].start_ticks] for pid in pids if pid in stats]
            self.save(phase="stopping", down_from=time.monotonic(), stopped=True, members=members)
            pids |= self.driver.stop(self.record, server, float(self.order["stop_timeout_s"]))
        pids |= self.driver.clear_remains(self.remains(), float(self.order["stop_timeout_s"]))
        self.note(phase="waiting for port and GPU memory")
        settle, limit = int(self.order["memory_settle_mb"]), float(self.order["release_timeout_s"])
        busy = wait_until_free(
            self.port,
            pids,
            before,
            settle,
            limit,
            lambda text: self.note(phase=text),
            lambda: bool(self.others()),
            addresses_of(self.record),
        )
        self.note(stop_s=time.monotonic() - self.state["down_from"])
        return busy

    def remains(self) -> Dict[int, int]:
        """What still lives of servers that were stopped or have ended: start ticks by pid."""
        return remains_of(self.folder, all_stats())

    def launch(self, busy: str) -> None:
        test = self.state["kind"] == "launch"
        env = dict(self.record["env"])
        start = Start(
            run=str(self.order["run"]),
            action=str(self.order["action"]),
            changed=test,
            change=self.order["change"] if test else {},
            argv=self.words(),
            env=changed_env(env, self.order["change"]) if test else env,
            folder=self.folder,
            log="%s/action-%s.log" % (self.folder, self.order["action"]),
            beside="%s/server-%d.log" % (os.path.dirname(self.folder), self.port),
        )
        prospect = self.driver.prepare(self.record, start)
        notes = dict(prospect.notes, memory=busy) if busy else prospect.notes
        places = [[path, log_size(path)] for path in prospect.logs]
        launched = dict(prospect.launched, port=self.port) if prospect.launched else None
        self.save(launched=launched, logs=places, notes=notes, phase="starting", launched_at=time.monotonic())
        self.note(launched=dict(prospect.go(), port=self.port), let_go=True)

    def became_server(self) -> bool:
        """Whether the process that an earlier worker had prepared was let go before that worker was lost.

        One that was not ends by itself, as the word it waits for cannot come any more.
        """
        launched = self.state["launched"]
        while alive(launched["pid"], launched["start_ticks"]):
            if argv_of(launched["pid"]) == self.words():
                return True
            time.sleep(0.1)
        return False

    def words(self) -> List[str]:
        """The arguments to start with."""
        argv = list(self.record["argv"])
        return changed_argv(argv, self.order["change"]) if self.state["kind"] == "launch" else argv

    def watch(self) -> Tuple[str, str]:
        launched = self.state["launched"]
        logs = [(str(path), int(offset)) for path, offset in self.state["logs"]]
        process = (int(launched["pid"]), int(launched["start_ticks"]))
        watch = StartWatch(process, self.port, self.order["rules"], logs, float(self.state["launched_at"]))
        began_at = time.time() - watch.elapsed_s
        test = self.state["kind"] == "launch"
        copy = self.driver.copy_of_log(self.record, [path for path, _ in logs], test, began_at)
        if copy:
            copy.start()
        try:
            limit_s = float(self.order["ready_timeout_s"])
            status, reason = watch.wait(
                limit_s, lambda phase, phases: self.note(phase=phase, phases=phases), self.others
            )
        finally:
            if copy:
                copy.stop()
        self.note(phases=watch.phases, start_s=watch.elapsed_s)
        endpoint = watch.endpoint() if status == "ready" else None
        if endpoint:
            self.note(launched=dict(self.driver.server_in(launched, self.words()), port=endpoint.port))
        elif status != "ready":
            self.note(phase="clearing away the failed start")
            self.driver.clear(self.record, launched)
            if status == "other":
                self.note(launched=None, let_go=False)
        return status, reason

    def compared(self, pid: int, notes: Dict[str, str]) -> Tuple[Dict[str, bool], Dict[str, str]]:
        """The server that is up against its record; up it is, also where the keeper does not tell of it."""
        try:
            return self.driver.compare(self.record, pid, notes)
        except (Refusal, OSError) as failure:
            return {"comparison": False}, {"comparison": "it could not be made: %s" % failure}

    def finish(self, status: str, reason: str) -> None:
        """Write the outcome; for a restoration with the comparison against the record."""
        known = secrets_of(self.record)
        down = time.monotonic() - self.state["down_from"] if self.state["down_from"] is not None else 0.0
        other = other_seen(self.folder) or self.state["other"]
        server = self.state["launched"] if status == "ready" else None
        if status == "left":
            server = {key: self.state["other"][key] for key in ("pid", "start_ticks", "port")}
        outcome: Dict[str, Any] = {
            "status": "nothing-to-do" if status == "left" else status,
            "reason": mask_text(reason, known),
            "server": server,
            "start_s": float(self.state.get("start_s") or 0.0),
            "downtime_s": down,
            "other": told_other(self.folder, self.record, other),
        }
        if self.state["kind"] == "restore" and server:
            notes = self.state["notes"] if status == "ready" else {}
            equal, differences = self.compared(int(server["pid"]), notes)
            outcome.update(equal=equal, differences=dict(notes, **differences))
            outcome.update(status="restored" if status == "ready" else "nothing-to-do")
        self.note(phase=str(outcome["status"]), outcome=outcome)
