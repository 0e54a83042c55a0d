"""Benchmarks that run by themselves: their progress and their result as files of the run's folder."""

import contextlib
import hashlib
import os
import signal
import time
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import alive
from specdoctor.remote.parts.records import drop_record, names_in, note_json, read_json, write_whole
from specdoctor.remote.parts.run_dir import CONTACT, END_TOLD, checked_name, contact_at, other_runs, remove_run

STOP_S = 5.0


def _path(folder: str, action: str, kind: str) -> str:
    return "%s/bench-%s.%s" % (folder, checked_name(action), kind)


def job_state(folder: str, action: str) -> Optional[Dict[str, Any]]:
    found: Optional[Dict[str, Any]] = read_json(_path(folder, action, "json"))
    return found


def save_job(folder: str, state: Dict[str, Any]) -> None:
    note_json(_path(folder, state["action"], "json"), state)


def finish_job(folder: str, state: Dict[str, Any], raw: bytes, problem: str) -> None:
    """Leave the result, whole, before it is said that there is one."""
    try:
        write_whole(_path(folder, state["action"], "result"), raw)
    except OSError as failure:
        raw, problem = b"", "the host has no room for its result (%s)" % failure
    state["outcome"] = {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest(), "problem": problem}
    save_job(folder, dict(state, stage="done", done=1, total=1))


def job_runs(state: Dict[str, Any]) -> bool:
    return state["outcome"] is None and alive(int(state["worker"]["pid"]), int(state["worker"]["start_ticks"]))


def job_told(folder: str, action: str) -> Dict[str, Any]:
    """How a job stands: done (`outcome`), not done (`runs`), or unknown (neither). Raises Refusal for no such job."""
    state = job_state(folder, action)
    if state is None:
        raise Refusal("unknown-action", "nothing is known here of benchmark %s" % action, "begin it again")
    answer = {key: state[key] for key in ("action", "stage", "done", "total", "outcome")}
    answer.update({key: state[key] for key in ("passed_s", "tokens") if key in state})
    return dict(answer, runs=job_runs(state))


def fetch_job(folder: str, action: str, offset: int, limit: int) -> str:
    """A part of the result, which is ASCII."""
    with open(_path(folder, action, "result"), "rb") as stream:
        stream.seek(offset)
        return stream.read(limit).decode("ascii")


def loads_of(folder: str, port: Optional[int] = None) -> List[Dict[str, Any]]:
    """Benchmarks of a run that load a server now, or that of one port: action, process, and how long nobody asked."""
    at = contact_at(folder)
    states = [read_json(folder + "/" + name) for name in names_in(folder) if _is_state(name)]
    return [
        {
            "run": os.path.basename(folder),
            "action": state["action"],
            "pid": state["worker"]["pid"],
            "silent_s": max(0.0, time.time() - at) if at else None,
            "stage": str(state["stage"]),
            "done": int(state["done"]),
            "total": int(state["total"]),
        }
        for state in states
        if state and job_runs(state) and port in (None, state.get("port"))
    ]


def loads_on(port: int) -> List[Dict[str, Any]]:
    """Benchmarks of all runs of this user that load the server of a port now."""
    return [load for _, folder in other_runs("") for load in loads_of(folder, port)]


def stop_jobs(folder: str) -> None:
    """End every job of a run: asked first, so that it drops its requests, then killed."""
    states = [read_json(folder + "/" + name) for name in names_in(folder) if _is_state(name)]
    running = [state for state in states if state and job_runs(state)]
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal([state for state in running if job_runs(state)], number)


def _is_state(name: str) -> bool:
    return name.startswith("bench-") and name.endswith(".json")


def _signal(states: List[Dict[str, Any]], number: int) -> None:
    for state in states:
        with contextlib.suppress(ProcessLookupError):  # it has just come to its end
            os.kill(state["worker"]["pid"], number)
    end = time.monotonic() + STOP_S
    workers = [(state["worker"]["pid"], state["worker"]["start_ticks"]) for state in states]
    while any(alive(pid, ticks) for pid, ticks in workers) and time.monotonic() < end:
        time.sleep(0.05)


def drop_job(folder: str, action: str) -> None:
    """Remove what a job has left, and the folder of a run that has nothing else here."""
    for kind in ("json", "result"):
        drop_record(_path(folder, action, kind))
    if not set(names_in(folder)) - {CONTACT, END_TOLD}:
        remove_run(folder)
