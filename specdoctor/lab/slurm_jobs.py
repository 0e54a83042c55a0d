"""Batch jobs of a practice host: a script below slurmstepd, with the job's environment and control group.

Standard library only, for `sbatch` and its kin.
"""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import Record, all_records, is_kept, new_record

FIRST_OF_SUBMITTED = 48214
CLUSTER = "gpu-cluster"


def jobs(state: Path) -> list[Record]:
    """All jobs, oldest first."""
    return [record for record in all_records(state) if "job_id" in record]


def find_job(state: Path, word: str) -> Record | None:
    """The job of this number (`.step` and `_task` are left out of account)."""
    number = word.partition(".")[0].partition("_")[0]
    return next((record for record in jobs(state) if str(record["job_id"]) == number), None)


def state_of(record: Mapping[str, Any]) -> str:
    """Slurm's word for how a job stands."""
    if is_kept(record):
        return "RUNNING"
    if record["started_at"] is None:
        return "PENDING"
    if record.get("cancelled"):
        return "CANCELLED"
    return "COMPLETED" if record["exit_code"] == 0 else "FAILED"


def node_list(nodes: Sequence[str]) -> str:
    """`gpu-[01-02]` for names that differ in their last digits alone."""
    if len(nodes) == 1:
        return nodes[0]
    stem = nodes[0].rstrip("0123456789")
    numbers = [node[len(stem) :] for node in nodes]
    if any(not node.startswith(stem) or not number.isdecimal() for node, number in zip(nodes, numbers, strict=True)):
        return ",".join(nodes)
    whole = [str(int(numbers[0]) + i).zfill(len(numbers[0])) for i in range(len(numbers))]
    return f"{stem}[{numbers[0]}-{numbers[-1]}]" if numbers == whole else f"{stem}[{','.join(numbers)}]"


def job_record(
    state: Path,
    *,
    job_id: int,
    facts: Mapping[str, Any],
    user: str,
    host: str,
    script: str,
    env: Mapping[str, str],
    cwd: str,
    output: str,
    command: str,
) -> Record:
    """A job that has not started. `facts`: job_name, partition, nodes, account, gres, time_limit."""
    spool = state / "files/var/spool/slurmd" / f"job{job_id}" / "slurm_script"
    spool.parent.mkdir(parents=True, exist_ok=True)
    spool.write_text(script, encoding="utf-8")
    nodes = list(facts["nodes"]) or [host]
    place = f"system.slice/slurmstepd.scope/job_{job_id}/step_batch/user"
    return new_record(
        f"job-{job_id}",
        argv=[shutil.which("bash") or "/bin/sh", str(spool)],
        env={**env, **_environment(job_id, facts, nodes, user=user, host=host, cwd=cwd)},
        cwd=cwd,
        policy="no",
        delay_s=0.0,
        output=f"file:{output.replace('%j', str(job_id)).replace('%x', facts['job_name'])}",
        surroundings={
            "cgroup": f"0::/{place}/task_0\n",
            "spaces": [],
            "keeper_cgroup": f"0::/{place.removesuffix('/user')}/slurm\n",
        },
        title=f"slurmstepd: [{job_id}.batch]",
        comm="slurmstepd",
        show_child=True,
        job_id=job_id,
        facts={**facts, "nodes": nodes, "user": user, "host": host, "command": command, "script": script},
    )


def _environment(
    job_id: int, facts: Mapping[str, Any], nodes: Sequence[str], *, user: str, host: str, cwd: str
) -> dict[str, str]:
    return {
        "SLURM_JOB_ID": str(job_id),
        "SLURM_JOBID": str(job_id),
        "SLURM_JOB_NAME": facts["job_name"],
        "SLURM_JOB_PARTITION": facts["partition"],
        "SLURM_JOB_ACCOUNT": facts["account"],
        "SLURM_JOB_USER": user,
        "SLURM_JOB_NODELIST": node_list(nodes),
        "SLURM_NODELIST": node_list(nodes),
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_NTASKS": str(len(nodes)),
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_CLUSTER_NAME": CLUSTER,
        "SLURM_SUBMIT_DIR": cwd,
        "SLURM_SUBMIT_HOST": host,
        "SLURMD_NODENAME": host,
        "SLURM_GPUS_ON_NODE": facts["gres"].rsplit(":", 1)[-1],
    }


def batch_script(facts: Mapping[str, Any], command: Sequence[str], output: str) -> str:
    """The script by which somebody submitted this command."""
    return (
        "#!/bin/bash\n"
        f"#SBATCH --job-name={facts['job_name']}\n#SBATCH --partition={facts['partition']}\n"
        f"#SBATCH --nodes={max(len(facts['nodes']), 1)}\n#SBATCH --gres={facts['gres']}\n"
        f"#SBATCH --time={facts['time_limit']}\n#SBATCH --output={output}\n\n"
        f"{shlex.join(command)}\nexit $?\n"
    )


def world_job(state: Path, world: Mapping[str, Any], command: Sequence[str], *, env: Mapping[str, str]) -> Record:
    """The job in which the world's server runs."""
    facts = {key: value for key, value in world["keeper"].items() if key not in ("kind", "job_id")}
    log = str(state / "home" / "slurm-%j.out")
    return job_record(
        state,
        job_id=world["keeper"]["job_id"],
        facts=facts,
        user=world["host"]["user"],
        host=world["host"]["name"],
        script=batch_script(facts, command, log),
        env=env,
        cwd=str(state / "home"),
        output=log,
        command=str(state / "home" / "serve.sbatch"),
    )


def next_job_id(state: Path) -> int:
    return max([FIRST_OF_SUBMITTED - 1, *(int(record["job_id"]) for record in jobs(state))]) + 1


def elapsed(record: Mapping[str, Any]) -> str:
    """Run time as `squeue` shows it."""
    began = record["started_at"]
    if began is None:
        return "0:00"
    seconds = int((record["finished_at"] or time.time()) - began)
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, last = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02d}:{minutes:02d}:{last:02d}"
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"
