"""The worker: one launch or restoration, step by step, each step on disk before the next."""

import os
import time
import traceback
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.launch_line import changed_argv, changed_env
from specdoctor.remote.parts.procfs import alive, all_stats, argv_of, tree_of
from specdoctor.remote.parts.redaction import mask_text
from specdoctor.remote.parts.run_dir import action_path, write_json
from specdoctor.remote.parts.run_servers import Ref, running
from specdoctor.remote.parts.server_logs import log_size
from specdoctor.remote.parts.start_watch import StartWatch
from specdoctor.remote.parts.starting import Prepared, original_streams, own_log_streams
from specdoctor.remote.parts.stopping import memory_before, stop_tree, wait_until_free
from specdoctor.remote.parts.way_back import compare, secrets_of


def new_state(kind: str, order: Dict[str, Any], server: Optional[Ref]) -> Dict[str, Any]:
    return {
        "kind": kind,
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
        "outcome": None,
    }


class Worker:
    """Carries out one action step by step; each step is saved, so that another worker could go on from there."""

    def __init__(self, folder: str, state: Dict[str, Any], record: Dict[str, Any]) -> None:
        self.folder = folder
        self.state = state
        self.order: Dict[str, Any] = state["order"]
        self.record = record
        self.port = int(record["server"]["port"])

    def save(self, **changes: Any) -> None:
        self.state.update(changes)
        write_json(action_path(self.folder, str(self.order["action"])), self.state)

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
        if self.state["launched"] and not self.state["let_go"] and not self.became_server():
            self.save(launched=None)
        if not self.state["launched"]:
            busy = self.stop_what_runs()
            if busy.startswith("port"):
                return "failed", busy
            self.launch(busy)
        return self.watch()

    def stop_what_runs(self) -> str:
        """Stop the server of this run that lives; what is still in the way afterwards."""
        server, _ = running(self.folder, self.record)
        pids: Set[int] = set()
        before: Dict[str, Any] = {"used": [], "held": 0}
        if self.state["down_from"] is None:
            self.save(down_from=time.monotonic())
        if server:
            pids = set(tree_of(server["pid"], all_stats()))
            before = memory_before(pids)
            self.save(phase="stopping", down_from=time.monotonic(), stopped=True)
            pids |= stop_tree(server["pid"], server["start_ticks"], float(self.order["stop_timeout_s"]))
        self.save(phase="waiting for port and GPU memory")
        settle, limit = int(self.order["memory_settle_mb"]), float(self.order["release_timeout_s"])
        busy = wait_until_free(self.port, pids, before, settle, limit, lambda text: self.save(phase=text))
        self.save(stop_s=time.monotonic() - self.state["down_from"])
        return busy

    def launch(self, busy: str) -> None:
        argv, env = self.words(), dict(self.record["env"])
        notes: Dict[str, str] = {}
        if self.state["kind"] == "launch":
            env = changed_env(env, self.order["change"])
            log = "%s/action-%s.log" % (self.folder, self.order["action"])
            streams, logs = own_log_streams(log), [log]
        else:
            beside = "%s/server-%d.log" % (os.path.dirname(self.folder), self.port)
            streams, notes, logs = original_streams(self.record, beside)
        if busy:
            notes["memory"] = busy
        places = [[path, log_size(path)] for path in logs]
        prepared = Prepared(self.record, argv, env, streams)
        launched = {"pid": prepared.pid, "start_ticks": prepared.start_ticks, "port": self.port}
        self.save(launched=launched, logs=places, notes=notes, phase="starting", launched_at=time.monotonic())
        problem = prepared.go()
        if problem:
            raise Refusal("not-started", "the program could not be executed: " + problem)
        self.save(let_go=True)

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
        status, reason = watch.wait(
            float(self.order["ready_timeout_s"]), lambda phase, phases: self.save(phase=phase, phases=phases)
        )
        self.save(phases=watch.phases, start_s=watch.elapsed_s)
        endpoint = watch.endpoint() if status == "ready" else None
        if endpoint:
            self.save(launched=dict(launched, port=endpoint.port))
        elif status != "ready":
            self.save(phase="clearing away the failed start")
            stop_tree(process[0], process[1], 5.0)
        return status, reason

    def finish(self, status: str, reason: str) -> None:
        """Write the outcome; for a restoration with the comparison against the record."""
        known = secrets_of(self.record)
        down = time.monotonic() - self.state["down_from"] if self.state["down_from"] is not None else 0.0
        outcome: Dict[str, Any] = {
            "status": status,
            "reason": mask_text(reason, known),
            "server": self.state["launched"] if status == "ready" else None,
            "start_s": float(self.state.get("start_s") or 0.0),
            "downtime_s": down,
        }
        if self.state["kind"] == "restore" and status == "ready":
            equal, differences = compare(self.record, int(self.state["launched"]["pid"]), self.state["notes"])
            outcome.update(status="restored", equal=equal, differences=dict(self.state["notes"], **differences))
        self.save(phase=str(outcome["status"]), outcome=outcome)
