"""Slurm: a job whose allocation may end with its server."""

from __future__ import annotations

import re
import shlex

from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import ByHand, Wanted
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
    kept = next((k for k in seen.facts.kept if k.pid == process.pid and k.kind == "slurm"), None)
    return refused(
        "slurm",
        detail,
        "it runs in a Slurm job, whose allocation may end with it",
        f"scancel {job or 'JOB'}, then sbatch the script with the changed arguments",
        kept.known if kept is not None else {"JobId": job or ""},
    )


_OPTIONS = {
    "JobName": "job-name", "Partition": "partition", "Account": "account", "NumNodes": "nodes", "TresPerNode": "gres",
    "TimeLimit": "time", "WorkDir": "chdir",
}  # fmt: skip
_NOTHING = ("", "(null)", "N/A", "None")


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The job ended, and one like it submitted with the changed line in place of its script."""
    known = {name: str(value) for name, value in keeper.known.items() if str(value) not in _NOTHING}
    job = known.get("JobId", "JOB")
    options = [
        f"--{option}={shlex.quote(_resource(known[name]))}" for name, option in _OPTIONS.items() if name in known
    ]
    submitted = f"sbatch {' '.join(options)} --wrap {shlex.quote(wanted.line)}"
    script = known.get("Command")
    whole = f"sbatch {' '.join(options)} --wrap {shlex.quote(wanted.original)}"
    again = f"sbatch {shlex.quote(script)}" if script else whole
    where = f"cd {shlex.quote(known['WorkDir'])} && " if "WorkDir" in known else ""
    return ByHand(
        start=f"scancel {job} && {submitted}",
        back=f"scancel THE-NEW-JOB && {where}{again}",
        first="its GPUs are free for others in between; the new job may have to wait",
    )


def _resource(text: str) -> str:
    """`gres/gpu:2` as the option wants it."""
    return text.removeprefix("gres/")


row = Row(
    kind="slurm",
    title="Slurm job or step",
    recognised_by="`slurm` and `job_N` in its cgroup, or `SLURM_JOB_ID` in its environment",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the allocation may end with the server, and another job may take its GPUs",
    by_hand="`scancel JOB`, then `sbatch` with the job's own resources and the changed line as `--wrap`",
    recognise=recognise,
    hand=hand,
)
