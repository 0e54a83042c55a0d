"""hostname, nproc, lscpu, dmesg and taskset of the practice host; the real ones would describe the real computer."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from specdoctor.core.cpu_list import parse_list
from specdoctor.lab.cpu_shares import format_list, machine_cpus, real_cpus, span, world_cpus
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.machine import node_cpus


def main(argv: Sequence[str]) -> int:
    """`argv[0]` names the tool; returns its exit code."""
    tool, rest = argv[0], list(argv[1:])
    world = read_world(state_dir())
    if tool == "hostname":
        print(world["host"]["name"])
    elif tool == "nproc":
        print(world["host"]["cpus"])
    elif tool == "dmesg":
        print("\n".join(world["host"]["dmesg"]))
    elif tool == "lscpu":
        print(_lscpu(world))
    elif tool == "taskset":
        return _taskset(world, rest)
    return 0


def _lscpu(world: Mapping[str, Any]) -> str:
    host = world["host"]
    rows = [
        ("Architecture:", "x86_64"),
        ("CPU op-mode(s):", "32-bit, 64-bit"),
        ("CPU(s):", str(host["cpus"])),
        ("On-line CPU(s) list:", span(0, host["cpus"] - 1)),
        ("Model name:", host["cpu_model"]),
        ("Thread(s) per core:", "1"),
        ("Core(s) per socket:", str(host["cpus"] // host["numa_nodes"])),
        ("Socket(s):", str(host["numa_nodes"])),
        ("NUMA node(s):", str(host["numa_nodes"])),
    ]
    rows += [(f"NUMA node{n} CPU(s):", span(*node_cpus(world, n))) for n in range(host["numa_nodes"])]
    return "\n".join(f"{title:<33}{value}" for title, value in rows)


def _taskset(world: Mapping[str, Any], words: list[str]) -> int:
    """`taskset [-a] -c LIST command...`, `taskset [-a] -p[c] [LIST] PID`: lists only, no hexadecimal masks."""
    flags = ""
    while words and re.fullmatch(r"-[apc]+|--cpu-list|--pid|--all-tasks", words[0]):
        word = words.pop(0)
        flags += {"--cpu-list": "c", "--pid": "p", "--all-tasks": "a"}.get(word, word[1:])
    count, available = world["host"]["cpus"], machine_cpus()
    if "p" in flags and len(words) == 1:
        pid = int(words[0])
        allowed = world_cpus(os.sched_getaffinity(pid), world_count=count, available=available)
        print(f"pid {pid}'s current affinity list: {format_list(allowed)}")
        return 0
    if "c" not in flags or len(words) < 2:
        sys.stderr.write("Usage: taskset [options] [mask | cpu-list] [pid|cmd [args...]]\n")
        return 1
    try:
        real = real_cpus(parse_list(words[0]), world_count=count, available=available)
    except ValueError:
        sys.stderr.write(f"taskset: failed to parse CPU list: {words[0]}\n")
        return 1
    pid = int(words[1]) if "p" in flags else 0
    try:
        os.sched_setaffinity(pid, real)
    except OSError as error:
        sys.stderr.write(f"taskset: failed to set pid {pid}'s affinity: {error.strerror}\n")
        return 1
    if "p" in flags:
        return 0
    try:
        os.execvp(words[1], words[1:])
    except OSError as error:
        sys.stderr.write(f"taskset: failed to execute {words[1]}: {error.strerror}\n")
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
