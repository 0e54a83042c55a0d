"""squeue and scontrol of the practice host: what they tell of its jobs."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from specdoctor.lab.keeper import Record
from specdoctor.lab.shims.option_words import read_options
from specdoctor.lab.slurm_jobs import elapsed, find_job, jobs, node_list, state_of

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


def unknown_option(tool: str, word: str) -> int:
    kind = "unrecognized option" if word.startswith("--") else "invalid option --"
    sys.stderr.write(
        f"{tool}: {kind} '{word if word.startswith('--') else word[1:2]}'\nTry \"{tool} --help\" for more information\n"
    )
    return 1


def squeue(state: Path, words: list[str]) -> int:
    given, switches, unknown = read_options(words, named=SQUEUE_VALUES, switches=SQUEUE_SWITCHES)
    if unknown is not None:
        return unknown_option("squeue", unknown)
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


def scontrol(state: Path, words: list[str]) -> int:
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
