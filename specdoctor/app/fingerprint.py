"""The state of the system that a measurement was taken in, as named facts that two measurements can be compared by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from specdoctor.core.facts import Facts, PackageFacts, ProcessFacts
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.measurement import BenchPlan, Measurement
from specdoctor.core.ports import Scene
from specdoctor.core.redact import redact
from specdoctor.core.server import ServerRef, ServerView, SpecSetting
from specdoctor.drafter.listed import TENSORS, tensors_listed

_GPU_FIELDS = {
    "name": "gpu.name",
    "uuid": "gpu.uuid",
    "driver_version": "gpu.driver",
    "power.limit": "gpu.power_limit_w",
    "clocks.max.sm": "gpu.clock_max_mhz",
    "clocks.applications.graphics": "gpu.clock_application_mhz",
    "persistence_mode": "gpu.persistence",
    "ecc.mode.current": "gpu.ecc",
    "mig.mode.current": "gpu.mig",
    "pcie.link.gen.current": "gpu.pcie_gen",
    "pcie.link.width.current": "gpu.pcie_width",
}
MOST_DETAILS = 100
LONGEST_DETAIL = 80
"""Entries of a configuration, tensors of a drafter, and characters of an entry that are told by name."""
_UNSET = ("", "[N/A]", "N/A", "[Not Supported]")
_CHANGES_BY_ITSELF = frozenset(
    {"internal_states", "startup_time", "random_seed", "port", "host", "nccl_port", "dist_init_addr", "log_level"}
)
"""Arguments that differ between starts or say nothing about speed, and what the scheduler reports of itself."""


def fingerprint(
    scene: Scene, *, server: ServerRef | None, spec: SpecSetting, launch_key: str, workload: Mapping[str, str]
) -> dict[str, str]:
    """Facts of host, GPUs, software, settings and workload for one measurement; what is unknown is left out.

    `server` is the process that was measured, `launch_key` the change against the launch line that was found. Values
    are those of the run's snapshot; secrets in them are masked.
    """
    view, facts = scene.view, scene.facts
    process = next((p for p in facts.processes if view.ref is not None and p.pid == view.ref.pid), None)
    found: dict[str, str] = {}
    for part in (
        _host(facts),
        _gpus(facts),
        _process(process),
        _software(view, facts, process),
        _settings(view, spec, launch_key),
        _tensors(view, facts),
        _started(view, process, server),
        {f"workload.{name}": value for name, value in workload.items()}.items(),
    ):
        found.update((key, redact(value)) for key, value in part if value not in _UNSET)
    return found


def software_of(view: ServerView, facts: Facts) -> dict[str, str]:
    """Engine and packages of a server by fact name: versions, commits of checkouts, files changed."""
    process = next((p for p in facts.processes if view.ref is not None and p.pid == view.ref.pid), None)
    return {key: redact(value) for key, value in _software(view, facts, process) if value not in _UNSET}


def bench_workload(plan: BenchPlan) -> dict[str, str]:
    """What is asked of the server by a bench; two measurements compare only where these are equal."""
    return {
        "client": "own requests, closed loop",
        "prompts": f"{plan.prompt_set.name} {plan.prompt_set.digest[:16]}",
        "form": plan.form,
        "concurrency": str(plan.concurrency),
        "requests": str(plan.requests),
        "max_new_tokens": str(plan.max_new_tokens),
        "temperature": f"{plan.temperature:g}",
    }


def traffic_workload(measurement: Measurement) -> dict[str, str]:
    """Requests in a log: nobody knows who sent them and what they ask."""
    return {"client": "any, by the log", "concurrency": str(measurement.concurrency)}


def _host(facts: Facts) -> Iterator[tuple[str, str]]:
    host = facts.host
    yield "host.name", host.hostname
    yield "host.boot_id", host.boot_id or ""
    yield "host.booted_at", _moment(host.booted_at)
    yield "host.kernel", host.kernel
    yield "host.cpu_governor", host.cpu_governor or ""
    yield "host.numa_nodes", "; ".join(f"{node}: {cpus}" for node, cpus in sorted(host.numa_nodes.items()))


def _gpus(facts: Facts) -> Iterator[tuple[str, str]]:
    command = facts.commands.get("gpus")
    rows = gpu_rows(command) if command is not None else []
    for field, key in _GPU_FIELDS.items():
        values = [row[field] for row in rows if row.get(field, "") not in _UNSET]
        yield key, _joined(values)


def _joined(values: list[str]) -> str:
    """One value where all are equal (how many GPUs there are is told by their ids)."""
    return values[0] if len(set(values)) == 1 else ", ".join(values)


def _process(process: ProcessFacts | None) -> Iterator[tuple[str, str]]:
    if process is None:
        return
    yield "container.id", (process.container_id or "")[:12]
    yield "container.started_at", _moment(process.container_started_at)
    yield "server.cpus_allowed", process.cpus_allowed or ""
    yield "server.mems_allowed", process.mems_allowed or ""
    yield "server.numa_policy", process.numa_policy or ""
    yield "server.nice", "" if process.nice is None else str(process.nice)
    yield from ((f"env.{name}", value) for name, value in sorted(process.env.items()))


def _software(view: ServerView, facts: Facts, process: ProcessFacts | None) -> Iterator[tuple[str, str]]:
    yield "engine.version", view.version or view.version_range or ""
    for package in _packages(facts, process):
        commit = f" at {package.git_commit}{' (dirty)' if package.git_dirty else ''}" if package.git_commit else ""
        patched = f", {len(package.record_mismatches)} files changed" if package.record_mismatches else ""
        yield f"package.{package.name}", package.version + commit + patched


def _packages(facts: Facts, process: ProcessFacts | None) -> Iterable[PackageFacts]:
    """Those of the interpreter that runs the server; where it cannot be told, of the only one that was read."""
    words = [] if process is None else [process.exe or "", *process.argv[:1]]
    named = next((facts.packages[word] for word in words if word in facts.packages), None)
    if named is not None:
        return named
    return next(iter(facts.packages.values())) if len(facts.packages) == 1 else ()


def _settings(view: ServerView, spec: SpecSetting, launch_key: str) -> Iterator[tuple[str, str]]:
    values = view.effective or dict(view.asked)
    for name, value in sorted(values.items()):
        if name not in _CHANGES_BY_ITSELF and not name.startswith("speculative_"):
            yield f"args.{name}", value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    yield "args.speculation", spec.label
    yield "args.launch", "as found" if launch_key == "original" else launch_key
    for key, config in (("model.config", view.target_config), ("draft.config", view.draft_config)):
        yield key, _digest(config) if config else ""
        yield from islice(((f"{key}.{name}", value) for name, value in _named(config or {})), MOST_DETAILS)


def _named(config: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """The short entries of a configuration by name, so that a difference can be told by more than the digest."""
    for key, value in sorted(config.items()):
        name = f"{within}{key}"
        if isinstance(value, Mapping):
            yield from _named(value, f"{name}.")
        elif not key.startswith("_") and len(text := json.dumps(value)) <= LONGEST_DETAIL:
            yield name, value if isinstance(value, str) else text


def _tensors(view: ServerView, facts: Facts) -> Iterator[tuple[str, str]]:
    """The drafter's tensors, type and shape each, where the probe listed them."""
    listed = facts.files.get(f"{view.draft_path}/{TENSORS}")
    tensors = tensors_listed(listed.text or "") if listed is not None else {}
    for name, tensor in islice(sorted(tensors.items()), MOST_DETAILS):
        yield f"draft.tensors.{name}", f"{tensor.dtype} {list(tensor.shape)}"


def _started(view: ServerView, process: ProcessFacts | None, server: ServerRef | None) -> Iterator[tuple[str, str]]:
    ref = server or view.ref
    if ref is None:
        return
    same = view.ref is not None and (ref.pid, ref.start_ticks) == (view.ref.pid, view.ref.start_ticks)
    at = process.started_at if process is not None and same else None
    yield "server.started", f"pid {ref.pid}, {ref.start_ticks} ticks after boot" + (f", {_moment(at)}" if at else "")


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _moment(at: float | None) -> str:
    """To the second, as a boot time is derived anew each time it is read."""
    return "" if at is None else f"{datetime.fromtimestamp(round(at), UTC):%Y-%m-%d %H:%M:%S} UTC"
