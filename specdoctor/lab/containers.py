"""The containers of a practice host: made, started, stopped and removed as the engine's daemon does. No real ones.

A container is a kept command (`keeper.py`) with what it was made of; its processes run on the practice host itself and
only look contained: control group, namespaces and parent under HOST_PROC. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import Record, all_records, is_kept, is_up, new_record, write_record

FIRST_DELAY_S = 0.1
IMAGE_VARIABLE = "LAB_IMAGE"
"""Plumbing by which a practice server knows the image that it runs from."""
PLUMBING = ("LAB_", "HOST_", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables by which the practice host itself works: present in every process, shown by no tool."""


def container_id(world: Mapping[str, Any]) -> str:
    """The 64 hexadecimal digits of the world's own container."""
    keeper = world["keeper"]
    return hashlib.sha256(f"{world['name']}/{keeper['name']}/{keeper['image']}".encode()).hexdigest()


def image_id(image: str) -> str:
    return "sha256:" + hashlib.sha256(image.encode()).hexdigest()


def plumbing(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without which nothing runs here."""
    return {name: value for name, value in environment.items() if name.startswith(PLUMBING)}


def shown_environment(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items() if not name.startswith(PLUMBING)]


def images(state: Path) -> dict[str, dict[str, Any]]:
    """Images on this host by name: `id`, `env`, `entrypoint`."""
    found: dict[str, dict[str, Any]] = json.loads((state / "images.json").read_text(encoding="utf-8"))
    return found


def find_image(state: Path, word: str) -> tuple[str, dict[str, Any]] | None:
    """An image by name (`:latest` understood) or by its id or the beginning of one."""
    for name, image in images(state).items():
        known = (name, name.removesuffix(":latest"), image["id"])
        digits = image["id"].removeprefix("sha256:")
        if word in known or (len(word) >= 12 and digits.startswith(word.removeprefix("sha256:"))):
            return name, image
    return None


def containers(state: Path, tool: str) -> list[Record]:
    """All containers of one engine, the newest first."""
    return [record for record in reversed(all_records(state)) if record.get("engine") == tool]


def find_container(state: Path, tool: str, word: str) -> Record | None:
    """A container by its name, its id, or the beginning of its id."""
    known = containers(state, tool)
    for record in known:
        if word.lstrip("/") == record["container_name"] or word == record["name"]:
            return record
    return next((record for record in known if word and record["name"].startswith(word)), None)


def create_container(
    state: Path,
    *,
    tool: str,
    identity: str,
    name: str,
    image: str,
    image_facts: Mapping[str, Any],
    command: Sequence[str],
    entrypoint: Sequence[str] | None,
    env: Mapping[str, str],
    cwd: str,
    policy: str,
    auto_remove: bool,
    config: Mapping[str, Any],
    host_config: Mapping[str, Any],
    mounts: Sequence[Mapping[str, Any]],
    base_env: Mapping[str, str],
) -> Record:
    """Write down a container that does not run yet.

    `env` is what was given beyond the image's own; `base_env` the host's plumbing and PATH.
    """
    before = list(image_facts["entrypoint"]) if entrypoint is None else list(entrypoint)
    words = [*before, *(command or image_facts.get("cmd", []))]
    own = {"PATH": base_env["PATH"], **image_facts["env"], **env}
    runtime = {"HOSTNAME": identity[:12], "HOME": base_env.get("HOME", "/root")}
    record = new_record(
        identity,
        argv=words,
        env={**runtime, **own, **plumbing(base_env), IMAGE_VARIABLE: image_facts["id"]},
        cwd=cwd,
        policy=policy,
        delay_s=FIRST_DELAY_S,
        output=f"pipes:{state / 'kept' / (identity + '-json.log')}",
        surroundings=_surroundings(tool, identity),
        auto_remove=auto_remove,
        title=_title(tool, identity),
        engine=tool,
        container_name=name,
        image=image,
        image_id=image_facts["id"],
        entrypoint=before,
        command=words[len(before) :],
        shown_env=shown_environment(own),
        config=dict(config),
        host_config=dict(host_config),
        mounts=list(mounts),
    )
    write_record(state, record)
    return record


def new_identity() -> str:
    return secrets.token_hex(32)


def status_of(record: Mapping[str, Any]) -> str:
    """docker's word for how it stands."""
    if is_up(record):
        return "running"
    if is_kept(record):
        return "restarting"
    return "created" if record["started_at"] is None else "exited"


def live_containers(state: Path, tool: str) -> Iterator[Record]:
    return (record for record in containers(state, tool) if status_of(record) in ("running", "restarting"))


def _surroundings(tool: str, identity: str) -> dict[str, Any]:
    place = f"system.slice/docker-{identity}.scope"
    if tool == "podman":
        place = f"user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{identity}.scope/container"
    spaces = ["mnt", "pid", "uts", "cgroup"] + (["user"] if tool == "podman" else [])
    return {"cgroup": f"0::/{place}\n", "spaces": spaces, "seed": int(identity[:8], 16), "container": identity}


def _title(tool: str, identity: str) -> str:
    if tool == "podman":
        return f"/usr/bin/conmon --api-version 1 -c {identity} -u {identity} -r /usr/bin/crun -n -t --exit-dir /run"
    return f"/usr/bin/containerd-shim-runc-v2 -namespace moby -id {identity} -address /run/containerd/containerd.sock"
