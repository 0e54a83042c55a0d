"""squeue, scontrol, scancel, sbatch and srun of the practice host, as far as one job and its successors need them."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from specdoctor.lab.keeper import Record, change_record, descendants, is_kept, start_kept, stop_kept, write_record
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.shims.slurm_reading import scontrol, squeue, unknown_option
from specdoctor.lab.slurm_jobs import find_job, job_record, next_job_id

KILL_WAIT_S = 30.0
SBATCH_VALUES = {
    "-J": "job-name",
    "-p": "partition",
    "-N": "nodes",
    "-o": "output",
    "-e": "error",
    "-t": "time",
    "-D": "chdir",
    "-A": "account",
    "-n": "ntasks",
    "-c": "cpus-per-task",
    "-w": "nodelist",
    "-G": "gpus",
}
SBATCH_LONG = (
    *SBATCH_VALUES.values(),
    "gres",
    "wrap",
    "export",
    "qos",
    "mem",
    "exclude",
    "constraint",
    "dependency",
    "ntasks-per-node",
    "gpus-per-node",
    "comment",
    "reservation",
    "signal",
)
SBATCH_SWITCHES = (
    "--parsable",
    "--exclusive",
    "--requeue",
    "--no-requeue",
    "--wait",
    "-W",
    "--overlap",
    "--hold",
    "-H",
)


def main(argv: Sequence[str]) -> int:
    """`argv[0]` names the tool; returns its exit code."""
    tool, words = argv[0], list(argv[1:])
    state = state_dir()
    if read_world(state)["keeper"]["kind"] != "slurm":
        sys.stderr.write(f"{tool}: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n")
        sys.stderr.write(f"{tool}: fatal: Could not establish a configuration source\n")
        return 1
    verbs = {"squeue": squeue, "scontrol": scontrol, "scancel": _scancel, "sbatch": _sbatch, "srun": _srun}
    return verbs[tool](state, words)


def _scancel(state: Path, words: list[str]) -> int:
    code = 0
    given = [word for word in words if not word.startswith("-")]
    if not given:
        sys.stderr.write("scancel: error: No job identification provided\n")
        return 1
    for word in given:
        job = find_job(state, word)
        if job is None:
            sys.stderr.write(f"scancel: error: Kill job error on job id {word}: Invalid job id specified\n")
            code = 1
        elif not is_kept(job):
            sys.stderr.write(
                f"scancel: error: Kill job error on job id {word}: Job/step already completing or completed\n"
            )
            code = 1
        else:
            change_record(state, job["name"], cancelled=True)
            stop_kept(state, job["name"], grace_s=KILL_WAIT_S, number=signal.SIGTERM, everyone=True)
    return code


def _sbatch(state: Path, words: list[str]) -> int:
    given: dict[str, str] = {}
    parsable = False
    script, arguments = "", []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            script, arguments = word, words
            break
        name, equals, value = word.partition("=")
        if word in SBATCH_SWITCHES:
            parsable = parsable or word == "--parsable"
        elif name.startswith("--") and name[2:] in SBATCH_LONG:
            given[name[2:]] = value if equals else words.pop(0) if words else ""
        elif word[:2] in SBATCH_VALUES:
            given[SBATCH_VALUES[word[:2]]] = word[2:] or (words.pop(0) if words else "")
        else:
            return unknown_option("sbatch", word)
    if "wrap" in given:
        text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{given['wrap']}\nexit $?\n"
    else:
        try:
            text = Path(script).read_text(encoding="utf-8") if script else sys.stdin.read()
        except OSError:
            sys.stderr.write(f"sbatch: error: Unable to open file {script}\n")
            return 1
    if not text.startswith("#!"):
        sys.stderr.write(
            "sbatch: error: This does not look like a batch script.  The first\n"
            "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
            "sbatch: error: For instance: #!/bin/sh\n"
        )
        return 1
    job = _submitted(state, text, {**_directives(text), **given}, script or "(null)", arguments)
    write_record(state, job)
    start_kept(state, job["name"])
    print(job["job_id"] if parsable else f"Submitted batch job {job['job_id']}")
    return 0


def _directives(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in re.finditer(r"^#SBATCH\s+(-\w|--[\w-]+)[= ]?\s*(.*)$", text, re.MULTILINE):
        name = SBATCH_VALUES.get(match[1], match[1].lstrip("-"))
        found[name] = match[2].strip().strip("\"'")
    return found


def _submitted(state: Path, text: str, given: Mapping[str, str], script: str, arguments: list[str]) -> Record:
    world = read_world(state)
    keeper = world["keeper"]
    cwd = given.get("chdir", str(Path.cwd()))
    base = json.loads((state / "plumbing.json").read_text(encoding="utf-8"))
    output = given.get("output", "slurm-%j.out")
    facts = {
        "job_name": given.get("job-name", "wrap" if script == "(null)" else Path(script).name),
        "partition": given.get("partition", keeper["partition"]),
        "nodes": keeper["nodes"] if int(given.get("nodes", "1").partition("-")[0]) > 1 else [],
        "account": given.get("account", keeper["account"]),
        "gres": given.get("gres", keeper["gres"]),
        "time_limit": given.get("time", keeper["time_limit"]),
    }
    job = job_record(
        state,
        job_id=next_job_id(state),
        facts=facts,
        user=world["host"]["user"],
        host=world["host"]["name"],
        script=text,
        env={**os.environ, **base},
        cwd=cwd,
        output=output if output.startswith("/") else str(Path(cwd) / output),
        command=script,
    )
    return {**job, "argv": [*job["argv"], *arguments]}


def _srun(state: Path, words: list[str]) -> int:
    """Inside of a job, or with --jobid beside one, runs the command as one of its steps."""
    number = os.environ.get("SLURM_JOB_ID", "")
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, equals, value = word.partition("=")
        takes = name in (
            "--jobid",
            "-n",
            "-N",
            "-w",
            "-c",
            "--gres",
            "-p",
            "--ntasks",
            "--nodes",
            "--nodelist",
            "-J",
            "-t",
        )
        value = value if equals else words.pop(0) if takes and words else ""
        number = value if name == "--jobid" else number
    job = find_job(state, number) if number else None
    if job is None or not is_kept(job):
        sys.stderr.write("srun: error: Unable to allocate resources: Requested node configuration is not available\n")
        return 1
    if os.getpid() not in descendants(job["keeper"][0]):
        place = job["surroundings"]["cgroup"].replace("step_batch", "step_0")
        note_surroundings(state, os.getpid(), {"cgroup": place, "spaces": []})
    if not words:
        sys.stderr.write("srun: fatal: No command given to execute.\n")
        return 1
    environment = {key: value for key, value in job["env"].items() if key.startswith("SLURM_")}
    try:
        os.execvpe(words[0], words, {**os.environ, **environment, "SLURM_STEP_ID": "0"})
    except OSError as error:
        sys.stderr.write(f"slurmstepd: error: execve(): {words[0]}: {error.strerror}\n")
        return 2
