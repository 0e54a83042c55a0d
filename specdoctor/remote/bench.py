"""Begin a benchmark that runs by itself: a lost connection does not end it, and its result waits to be fetched.

Given again under the same action id it is not begun again.
"""

import json
import os
import signal
import sys
import traceback
from typing import Any, Dict

from specdoctor.remote.parts.answer import Refusal, printable, run_program
from specdoctor.remote.parts.bench_load import Bench, measure
from specdoctor.remote.parts.detached import Ready, detached
from specdoctor.remote.parts.jobs import finish_job, job_state, job_told, save_job
from specdoctor.remote.parts.procfs import own_stat
from specdoctor.remote.parts.proved_server import ProvedServer, proved
from specdoctor.remote.parts.records import need_room
from specdoctor.remote.parts.redaction import mask_all
from specdoctor.remote.parts.run_dir import alone_in, find_run, make_run, touch_contact

PARAMS_JSON = "{}"


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    os.umask(0o077)
    plan = params["plan"]
    folder = find_run(plan["run"])
    state = job_state(folder, plan["action"]) if folder else None
    if folder is None or state is None:
        server = proved(plan["server"])
        folder = make_run(plan["run"])
        with alone_in(folder):  # the same order may have been given over a connection that was lost
            touch_contact(folder)
            if job_state(folder, plan["action"]) is None:
                refuse_without_room(folder)
                begin(folder, params, server)
    return job_told(folder, plan["action"])


def refuse_without_room(folder: str) -> None:
    try:
        need_room(folder)
    except OSError as failure:
        what = "the host has no room for the result of a benchmark (%s); no request was sent" % failure
        raise Refusal("no-room", what, "make room in %s" % folder) from failure


def begin(folder: str, params: Dict[str, Any], server: ProvedServer) -> None:
    def work(ready: Ready) -> None:
        own = own_stat(os.getpid())
        worker = {"pid": os.getpid(), "start_ticks": own.start_ticks if own else 0}
        state: Dict[str, Any] = {"action": params["plan"]["action"], "worker": worker, "outcome": None}
        state["port"] = int(params["plan"]["server"]["port"])
        save_job(folder, dict(state, stage="warm-up", done=0, total=0))
        ready()
        try:
            document = carried_out(params, server, lambda *beat: save_job(folder, told(state, *beat)))
            raw = json.dumps(printable(mask_all(document, server.secrets))).encode("ascii")
            finish_job(folder, state, raw, "")
        finally:
            if state["outcome"] is None:
                finish_job(folder, state, b"", traceback.format_exc(limit=3)[-600:])

    if not detached(work):
        raise Refusal("no-worker", "no process could be started on the host for the benchmark; no request was sent")


def told(state: Dict[str, Any], stage: str, done: int, total: int, passed_s: float, tokens: float) -> Dict[str, Any]:
    return dict(state, stage=stage, done=done, total=total, passed_s=passed_s, tokens=tokens)


def carried_out(params: Dict[str, Any], server: ProvedServer, beat: Any) -> Dict[str, Any]:
    bench = Bench(params["plan"], server, dict(params["extra_body"]), beat)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, frame: bench.stop("stopped by signal %d" % received))
    return measure(bench, params)


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
