"""Slurm: a job whose allocation may end with its server."""

from __future__ import annotations

import re

from specdoctor.core.server import Keeper
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused

_JOB = re.compile(r"/job_(?P<job>\d+)(?:/step_(?P<step>\w+))?")


def recognise(seen: Seen) -> Keeper | None:
    process = seen.process
    match = _JOB.search(process.cgroup) if "slurm" in process.cgroup else None
    job = match["job"] if match is not None else process.env.get("SLURM_JOB_ID")
    if job is None and "SLURM_JOB_ID" not in process.env_names:
        return None
    step = match["step"] if match is not None else process.env.get("SLURM_STEP_ID")
    detail = f"job {job}" + (f", step {step}" if step else "") if job else "a job"
    return refused(
        "slurm",
        detail,
        "it runs in a Slurm job, whose allocation may end with it",
        f"scancel {job or 'JOB'}, then sbatch the script with the changed arguments",
    )


row = Row(
    kind="slurm",
    title="Slurm job or step",
    recognised_by="`slurm` and `job_N` in its cgroup, or `SLURM_JOB_ID` in its environment",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the allocation may end with the server, and another job may take its GPUs",
    by_hand="`scancel JOB`, then `sbatch` with the changed arguments",
    recognise=recognise,
)
