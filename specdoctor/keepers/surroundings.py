"""What a server runs in: where its Python comes from, what was wrapped around its start, how many it is one of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.server import LaunchTraits, Surroundings
from specdoctor.keepers.containers import inspect_reply, short_id
from specdoctor.keepers.row import Seen, ancestors_of

_WRAPPERS = frozenset(
    "numactl taskset chrt ionice nice conda mamba micromamba srun mpirun torchrun apptainer singularity enroot uv "
    "poetry pixi nsys ncu strace gdb".split()
)
_LOCAL_POLICIES = (None, "default", "local")


def surroundings_of(facts: Facts, process: ProcessFacts, traits: LaunchTraits) -> Surroundings:
    """Read from the process, its ancestors and what the tools said. Wrappers that have become the server themselves
    (numactl and taskset do) are known by what they set."""
    ancestors = tuple(ancestors_of(facts, process))
    return Surroundings(
        software=_software(Seen(facts=facts, process=process, ancestors=ancestors, traits=traits, port=0)),
        wrappers=tuple(_wrappers(facts, process, ancestors)),
        nodes=traits.nodes,
        rank=traits.rank,
        host_booted_at=facts.host.booted_at,
        container_started_at=process.container_started_at,
    )


def _software(seen: Seen) -> str:
    process = seen.process
    reply = inspect_reply(seen, short_id(process))
    words = reply.stdout.split() if reply is not None else []
    parts = [f"image {words[2]}"] if len(words) > 2 else ["an image"] if process.container_id else []
    env = process.env
    if env.get("CONDA_PREFIX"):
        parts.append(f"conda environment {env['CONDA_PREFIX']}")
    venv = env.get("VIRTUAL_ENV") or _venv_of(process, tuple(seen.facts.packages))
    if venv:
        parts.append(f"virtual environment {venv}")
    if not parts and process.exe:
        parts.append(process.exe)
    return ", ".join(parts)


def _venv_of(process: ProcessFacts, interpreters: tuple[str, ...]) -> str | None:
    """The folder of the interpreter that was named with its path, where the program itself lies elsewhere."""
    word = PurePosixPath(process.argv[0]) if process.argv else PurePosixPath()
    linked = str(word) in interpreters and process.exe is not None and str(word) != process.exe
    outside = not str(word).startswith(("/usr/", "/bin/"))
    return str(word.parent.parent) if linked and word.parent.name == "bin" and outside else None


def _wrappers(facts: Facts, process: ProcessFacts, ancestors: tuple[ProcessFacts, ...]) -> Iterator[str]:
    for parent in ancestors:
        name = PurePosixPath(parent.argv[0]).name if parent.argv else ""
        if name in _WRAPPERS:
            yield f"{name} (pid {parent.pid})"
    cpus = _count(process.cpus_allowed)
    if cpus and facts.host.cpu_count and cpus < facts.host.cpu_count:
        yield f"bound to {cpus} of {facts.host.cpu_count} CPUs ({process.cpus_allowed})"
    if process.numa_policy not in _LOCAL_POLICIES:
        yield f"memory policy {process.numa_policy}"
    if process.env.get("LOADEDMODULES"):
        yield f"modules {process.env['LOADEDMODULES']}"


def _count(spans: str | None) -> int:
    """How many CPUs "0-2,7" names."""
    found = re.findall(r"(\d+)(?:-(\d+))?", spans or "")
    return sum(int(last or first) - int(first) + 1 for first, last in found)
