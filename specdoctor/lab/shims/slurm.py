"""squeue, scontrol, scancel, sbatch and srun of the practice host, as far as one job and its successors need them."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from specdoctor.lab.keeper import Record, change_record, descendants, is_kept, start_kept, stop_kept, write_record
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.slurm_jobs import elapsed, find_job, job_record, jobs, next_job_id, node_list, state_of

KILL_WAIT_S = 30.0
SHORT = {"RUNNING": "R", "PENDING": "PD", "CANCELLED": "CA", "COMPLETED": "CD", "FAILED": "F"}
DEFAULT_FORM = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
TITLES = {
    "i": "JOBID",
    "A": "JOBID",
    "P": "PARTITION",
    "j": "NAME",
    "u": "USER",
    "t": "ST",
    "T": "STATE",
    "M": "TIME",
    "D": "NODES",
    "R": "NODELIST(REASON)",
    "N": "NODELIST",
    "l": "TIME_LIMIT",
    "a": "ACCOUNT",
    "b": "TRES_PER_NODE",
    "Z": "WORK_DIR",
    "o": "COMMAND",
}
SQUEUE_VALUES = {
    "-j": "jobs",
    "--jobs": "jobs",
    "--job": "jobs",
    "-u": "user",
    "--user": "user",
    "-o": "format",
    "--format": "format",
    "-t": "states",
    "--states": "states",
    "-w": "nodelist",
    "-p": "partition",
}
SQUEUE_SWITCHES = ("-h", "--noheader", "--me", "-l", "--long")
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
    verbs = {"squeue": _squeue, "scontrol": _scontrol, "scancel": _scancel, "sbatch": _sbatch, "srun": _srun}
    return verbs[tool](state, words)


def _unknown_option(tool: str, word: str) -> int:
    kind = "unrecognized option" if word.startswith("--") else "invalid option --"
    sys.stderr.write(
        f"{tool}: {kind} '{word if word.startswith('--') else word[1:2]}'\nTry \"{tool} --help\" for more information\n"
    )
    return 1


def _squeue(state: Path, words: list[str]) -> int:
    given: dict[str, str] = {}
    switches = set()
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in SQUEUE_VALUES and equals:
            given[SQUEUE_VALUES[name]] = value
        elif word in SQUEUE_VALUES:
            given[SQUEUE_VALUES[word]] = words.pop(0) if words else ""
        elif word[:2] in SQUEUE_VALUES and not word.startswith("--"):
            given[SQUEUE_VALUES[word[:2]]] = word[2:]
        elif word in SQUEUE_SWITCHES:
            switches.add(word)
        else:
            return _unknown_option("squeue", word)
    wanted = given["jobs"].split(",") if "jobs" in given else None
    known = [job for job in jobs(state) if state_of(job) in ("RUNNING", "PENDING")]
    if wanted is not None:
        known = [job for job in known if str(job["job_id"]) in wanted]
        if not known and not any(find_job(state, word) for word in wanted):
            sys.stderr.write("slurm_load_jobs error: Invalid job id specified\n")
            return 1
    if "user" in given:
        known = [job for job in known if job["facts"]["user"] in given["user"].split(",")]
    form = given.get("format", DEFAULT_FORM)
    lines = [] if {"-h", "--noheader"} & switches else [_filled(form, TITLES)]
    for line in [*lines, *(_filled(form, _cells(job)) for job in known)]:
        print(line)
    return 0


def _cells(job: Record) -> dict[str, str]:
    facts, standing = job["facts"], state_of(job)
    return {
        "i": str(job["job_id"]),
        "A": str(job["job_id"]),
        "P": facts["partition"],
        "j": facts["job_name"],
        "u": facts["user"],
        "t": SHORT[standing],
        "T": standing,
        "M": elapsed(job),
        "D": str(len(facts["nodes"])),
        "R": node_list(facts["nodes"]),
        "N": node_list(facts["nodes"]),
        "l": facts["time_limit"],
        "a": facts["account"],
        "b": f"gres/{facts['gres']}",
        "Z": job["cwd"],
        "o": facts["command"],
    }


def _filled(form: str, cells: Mapping[str, str]) -> str:
    def cell(match: re.Match[str]) -> str:
        right, width, letter = match[1], match[2], match[3]
        text = cells.get(letter, "")
        if not width:
            return text
        return text[: int(width)].rjust(int(width)) if right else text[: int(width)].ljust(int(width))

    return re.sub(r"%(\.?)(\d*)([A-Za-z])", cell, form)


def _scontrol(state: Path, words: list[str]) -> int:
    options = [word for word in words if word.startswith("-") and word != "-"]
    rest = [word for word in words if word not in options]
    if rest[:2] == ["show", "job"] or rest[:2] == ["show", "jobs"]:
        return _show_job(state, rest[2:], oneline="-o" in options or "--oneliner" in options)
    if rest[:1] == ["show"] and rest[1:2] and rest[1].startswith("job="):
        return _show_job(state, [rest[1].partition("=")[2]], oneline="-o" in options)
    if rest[:2] == ["show", "hostnames"]:
        for newest in jobs(state)[-1:]:
            print("\n".join(newest["facts"]["nodes"]))
        return 0
    if rest[:2] == ["write", "batch_script"] and len(rest) > 2:
        job = find_job(state, rest[2])
        if job is None:
            sys.stderr.write("job script retrieval failed: Invalid job id specified\n")
            return 1
        name = rest[3] if len(rest) > 3 else f"slurm-{job['job_id']}.sh"
        if name == "-":
            sys.stdout.write(job["facts"]["script"])
        else:
            Path(name).write_text(job["facts"]["script"], encoding="utf-8")
            print(f"batch script for job {job['job_id']} written to {name}")
        return 0
    sys.stderr.write(f"invalid keyword: {' '.join(rest[:2])}\n")
    return 1


def _show_job(state: Path, words: list[str], *, oneline: bool) -> int:
    named = find_job(state, words[0]) if words else None
    found: list[Record] = jobs(state) if not words else [named] if named is not None else []
    if not found:
        sys.stderr.write("slurm_load_jobs error: Invalid job id specified\n" if words else "No jobs in the system\n")
        return 1 if words else 0
    for each in found:
        text = _described(each)
        print(" ".join(line.strip() for line in text.splitlines()) if oneline else text + "\n")
    return 0


def _time(at_s: float | None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at_s)) if at_s else "Unknown"


def _described(job: Record) -> str:
    facts, nodes = job["facts"], node_list(job["facts"]["nodes"])
    code = job["exit_code"] or 0
    ended = f"{code}:0" if code < 128 else f"0:{code - 128}"
    gpus = facts["gres"].rsplit(":", 1)[-1]
    count = len(facts["nodes"])
    return "\n".join(
        [
            f"JobId={job['job_id']} JobName={facts['job_name']}",
            f"   UserId={facts['user']}(1000) GroupId={facts['user']}(1000) MCS_label=N/A",
            f"   Priority=4294901733 Nice=0 Account={facts['account']} QOS=normal",
            f"   JobState={state_of(job)} Reason=None Dependency=(null)",
            f"   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={ended}",
            f"   RunTime={elapsed(job)} TimeLimit={facts['time_limit']} TimeMin=N/A",
            f"   SubmitTime={_time(job['created_at'])} EligibleTime={_time(job['created_at'])}",
            f"   StartTime={_time(job['started_at'])} EndTime={_time(job['finished_at'])} Deadline=N/A",
            f"   Partition={facts['partition']} AllocNode:Sid={facts['host']}:4012",
            "   ReqNodeList=(null) ExcNodeList=(null)",
            f"   NodeList={nodes}",
            f"   BatchHost={facts['nodes'][0]}",
            f"   NumNodes={count} NumCPUs={count * 64} NumTasks={count} CPUs/Task=64 ReqB:S:C:T=0:0:*:*",
            f"   ReqTRES=cpu={count * 64},node={count},gres/gpu={int(gpus) * count}",
            f"   AllocTRES=cpu={count * 64},node={count},gres/gpu={int(gpus) * count}",
            f"   TresPerNode=gres/{facts['gres']}",
            f"   Command={facts['command']}",
            f"   WorkDir={job['cwd']}",
            f"   StdErr={job['output'].partition(':')[2]}",
            "   StdIn=/dev/null",
            f"   StdOut={job['output'].partition(':')[2]}",
        ]
    )


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
            return _unknown_option("sbatch", word)
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
