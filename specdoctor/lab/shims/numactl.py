"""numactl of the practice host: shows the world's nodes, and binds a command to the real CPUs that stand for a node."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.core.cpu_list import parse_list
from specdoctor.lab.cpu_shares import machine_cpus, real_cpus, world_cpus
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.machine import node_cpus, node_memory_mib
from specdoctor.lab.memory_policy import MODES, policy_of, set_policy

VALUE_OPTIONS = {
    "--cpunodebind": "cpunodes",
    "-N": "cpunodes",
    "--membind": "bind",
    "-m": "bind",
    "--physcpubind": "cpus",
    "-C": "cpus",
    "--interleave": "interleave",
    "-i": "interleave",
    "--preferred": "prefer",
    "-p": "prefer",
}
LOCAL_OPTIONS = {"--localalloc", "-l"}
BARE_OPTIONS = {"--all", "-a"}
USAGE = "usage: numactl [--all | -a] [--interleave= | -i <nodes>] [--preferred= | -p <node>]\n"


def main(argv: Sequence[str]) -> int:
    """Answer one call; does not return when it runs a command."""
    state = state_dir()
    world = read_world(state)
    if list(argv) in (["-H"], ["--hardware"]):
        sys.stdout.write(_hardware(world))
        return 0
    if list(argv) in ([], ["-s"], ["--show"]):
        sys.stdout.write(_show(state, world))
        return 0
    bindings, command = _parse(list(argv))
    if command is None:
        sys.stderr.write(USAGE)
        return 1
    problem = _bind(state, world, bindings)
    if problem is not None:
        sys.stderr.write(problem)
        return 1
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"numactl: execution of `{command[0]}': {error.strerror}\n")
        return 1


def _parse(words: list[str]) -> tuple[dict[str, str], list[str] | None]:
    bindings: dict[str, str] = {}
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return bindings, words or None
        if name in VALUE_OPTIONS:
            if not equals:
                value = words.pop(0) if words else ""
            bindings[VALUE_OPTIONS[name]] = value
        elif word in LOCAL_OPTIONS:
            bindings["local"] = ""
        elif word not in BARE_OPTIONS:
            return (bindings, None) if word.startswith("-") else (bindings, [word, *words])
    return bindings, None


def _bind(state: Path, world: Mapping[str, Any], bindings: Mapping[str, str]) -> str | None:
    """Apply the bindings to this process; the words of the refusal when they cannot be."""
    nodes = world["host"]["numa_nodes"]
    wanted: set[int] | None = None
    for kind, text in bindings.items():
        if kind == "local":
            set_policy(state, "local", ())
            continue
        try:
            numbers = set(range(nodes)) if text == "all" else parse_list(text)
        except ValueError:
            return f"<{text}> is invalid\n{USAGE}"
        limit = world["host"]["cpus"] if kind == "cpus" else nodes
        if not numbers or max(numbers) >= limit:
            return f"libnuma: Warning: {kind[:4]} argument {text} is out of range\n\n<{text}> is invalid\n{USAGE}"
        if kind in MODES:
            set_policy(state, kind, numbers)
            continue
        cpus = numbers if kind == "cpus" else {c for node in numbers for c in _range(node_cpus(world, node))}
        wanted = cpus if wanted is None else wanted & cpus
    if wanted is not None:
        real = real_cpus(wanted, world_count=world["host"]["cpus"], available=machine_cpus())
        usable = real & os.sched_getaffinity(0)
        if usable:
            os.sched_setaffinity(0, usable)
    return None


def _range(ends: tuple[int, int]) -> range:
    return range(ends[0], ends[1] + 1)


def _hardware(world: Mapping[str, Any]) -> str:
    nodes = range(world["host"]["numa_nodes"])
    lines = [f"available: {len(nodes)} nodes ({'0' if len(nodes) == 1 else f'0-{len(nodes) - 1}'})"]
    for node in nodes:
        lines.append(f"node {node} cpus: " + " ".join(str(cpu) for cpu in _range(node_cpus(world, node))))
        lines.append(f"node {node} size: {node_memory_mib(world)} MB")
        lines.append(f"node {node} free: {round(node_memory_mib(world) * 0.93)} MB")
    lines.append("node distances:")
    lines.append("node " + "".join(f"{node:>4}" for node in nodes) + " ")
    for node in nodes:
        distances = "".join(f"{10 if node == other else 21:>4}" for other in nodes)
        lines += [f"{node:>3}: {distances} "]
    return "\n".join(lines) + "\n"


def _show(state: Path, world: Mapping[str, Any]) -> str:
    allowed = world_cpus(os.sched_getaffinity(0), world_count=world["host"]["cpus"], available=machine_cpus())
    nodes = [node for node in range(world["host"]["numa_nodes"]) if allowed & set(_range(node_cpus(world, node)))]
    policy, _, chosen = policy_of(state, os.getpid()).partition(":")
    everywhere = " ".join(str(node) for node in range(world["host"]["numa_nodes"]))
    listed = " ".join(str(node) for node in nodes)
    held = " ".join(str(node) for node in sorted(parse_list(chosen))) if policy == "bind" and chosen else everywhere
    return (
        f"policy: {policy}\npreferred node: {chosen if policy == 'prefer' else 'current'}\n"
        f"physcpubind: {' '.join(str(cpu) for cpu in sorted(allowed))} \n"
        f"cpubind: {listed} \nnodebind: {listed} \nmembind: {held} \npreferred: \n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
