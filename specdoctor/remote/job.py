"""How far a benchmark on this host is; its result, in parts; and its end. Sent often, so it is small."""

import sys
from typing import Any, Dict

from specdoctor.remote.parts.answer import Refusal, run_program
from specdoctor.remote.parts.jobs import drop_job, fetch_job, job_told, stop_jobs
from specdoctor.remote.parts.run_dir import find_run, touch_contact

PARAMS_JSON = "{}"


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    command, action = params["cmd"], params["action"]
    folder = find_run(params["run"])
    if folder is None:
        raise Refusal("unknown-action", "nothing is known here of benchmark %s" % action, "begin it again")
    touch_contact(folder)
    if command == "poll":
        return job_told(folder, action)
    if command == "fetch":
        return {"part": fetch_job(folder, action, int(params["offset"]), int(params["limit"]))}
    if command == "stop":
        stop_jobs(folder)
    drop_job(folder, action)
    return {}


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
