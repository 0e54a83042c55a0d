"""The workload of a practice host's cluster: one Deployment or StatefulSet, its ReplicaSets, and the pod that runs now.

What is wanted lies in `kept/cluster.json`; a pod is a kept command that comes back as long as nobody deletes it. A
changed template makes a new pod after the old one has ended, as the strategy `Recreate` does. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.containers import image_id, plumbing
from specdoctor.lab.keeper import (
    Record,
    all_records,
    is_up,
    new_record,
    remove_record,
    start_kept,
    stop_kept,
    write_record,
)
from specdoctor.lab.lab_state import scale_of, write_atomically

GRACE_S = 30.0
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_NAMESPACE = uuid.UUID("8b2f3a54-0a6d-4a8e-8a2c-5d2f4c7f9e10")


def letters(text: str, count: int) -> str:
    """Letters as Kubernetes puts behind names, the same for the same text."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:count])


def uid(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))


def read_cluster(state: Path) -> dict[str, Any]:
    """Namespace, workload, template, revisions. Raises FileNotFoundError on a host without a cluster."""
    cluster: dict[str, Any] = json.loads((state / "kept" / "cluster").read_text(encoding="utf-8"))
    return cluster


def write_cluster(state: Path, cluster: Mapping[str, Any]) -> None:
    write_atomically(state / "kept" / "cluster", json.dumps(cluster))


def pods(state: Path) -> list[Record]:
    return [record for record in all_records(state) if "pod" in record]


def template_hash(cluster: Mapping[str, Any]) -> str:
    return letters(json.dumps(cluster["template"], sort_keys=True), 9)


def set_name(cluster: Mapping[str, Any]) -> str:
    """The ReplicaSet of the present template."""
    return f"{cluster['name']}-{template_hash(cluster)}"


def pod_name(cluster: Mapping[str, Any]) -> str:
    if cluster["workload"] == "Deployment":
        return f"{set_name(cluster)}-{letters(str(cluster['pods_made']), 5)}"
    return f"{cluster['name']}-0" if cluster["workload"] == "StatefulSet" else str(cluster["name"])


def owner_of_pod(cluster: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and name of what owns the pod."""
    if cluster["workload"] == "none":
        return None
    if cluster["workload"] == "Deployment":
        return "ReplicaSet", set_name(cluster)
    return "StatefulSet", str(cluster["name"])


def container_of(cluster: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cluster["template"]["spec"]["containers"][0]
    return found


def world_pod(
    state: Path,
    world: Mapping[str, Any],
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    base_env: Mapping[str, str],
    cwd: str,
) -> Record:
    """Apply the world's workload; the record of its pod, not yet written."""
    keeper = world["keeper"]
    container = {
        "name": keeper["container"],
        "image": keeper["image"],
        "command": list(argv[:1]),
        "args": list(argv[1:]),
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "workingDir": cwd,
        "ports": [{"containerPort": 30000, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": {"nvidia.com/gpu": str(keeper["gpus"])}},
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [{"mountPath": "/dev/shm", "name": "shm"}],
    }
    labels = {"app": keeper["name"]}
    volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}]
    spec = {
        "containers": [container],
        "hostNetwork": True,
        "restartPolicy": "Always",
        "volumes": volumes,
        "terminationGracePeriodSeconds": int(GRACE_S),
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    cluster = {
        "namespace": keeper["namespace"],
        "workload": keeper["workload"],
        "name": keeper["name"],
        "node": world["host"]["name"],
        "labels": labels,
        "template": template,
        "history": [template],
        "revision": 1,
        "replicas": 1,
        "pods_made": 0,
        "created_at": time.time() - world["server"]["started_s_ago"],
        "start_s": keeper["start_s"],
    }
    write_cluster(state, cluster)
    return pod_record(state, cluster, base_env=base_env)


def pod_record(state: Path, cluster: Mapping[str, Any], *, base_env: Mapping[str, str]) -> Record:
    """The pod that the present template asks for."""
    name, container = pod_name(cluster), container_of(cluster)
    own = uid(f"{name}/{cluster['pods_made']}")
    identity = hashlib.sha256(own.encode()).hexdigest()
    place = f"kubepods-burstable-pod{own.replace('-', '_')}.slice/cri-containerd-{identity}.scope"
    given = {each["name"]: str(each.get("value", "")) for each in container.get("env", [])}
    service = cluster["name"].upper().replace("-", "_")
    cluster_env = {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_PORT": "tcp://10.96.0.1:443",
        f"{service}_SERVICE_HOST": "10.103.44.7",
        f"{service}_SERVICE_PORT": "30000",
        "HOSTNAME": name,
        "HOME": base_env.get("HOME", "/root"),
        "PATH": base_env["PATH"],
    }
    return new_record(
        f"pod-{name}",
        argv=[*container.get("command", []), *container.get("args", [])],
        env={**cluster_env, **given, **plumbing(base_env)},
        cwd=container.get("workingDir", "/"),
        policy="always",
        delay_s=cluster["start_s"] * scale_of(state),
        output=f"pipes:{state / 'kept' / f'pod-{name}.log'}",
        surroundings={
            "cgroup": f"0::/kubepods.slice/kubepods-burstable.slice/{place}\n",
            "spaces": ["mnt", "pid", "uts", "ipc", "cgroup"],
            "seed": int(identity[:8], 16),
            "container": identity,
        },
        title=f"/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id {identity} "
        "-address /run/containerd/containerd.sock",
        pod=name,
        uid=own,
        container_id=identity,
        image_id=image_id(container["image"]),
        template=cluster["template"],
        set=owner_of_pod(cluster),
    )


def roll_out(state: Path) -> None:
    """Make what runs what is wanted: end pods of other templates, start one of the present template if none runs."""
    cluster = read_cluster(state)
    base = json.loads((state / "plumbing.json").read_text(encoding="utf-8"))
    current = [record for record in pods(state) if record["template"] == cluster["template"] and cluster["replicas"]]
    for record in pods(state):
        if record not in current[:1]:
            end_pod(state, record)
    if not current and cluster["replicas"] and cluster["workload"] != "none":
        cluster = {**cluster, "pods_made": cluster["pods_made"] + 1}
        write_cluster(state, cluster)
        record = pod_record(state, cluster, base_env=base)
        write_record(state, record)
        start_kept(state, record["name"])


def end_pod(state: Path, record: Mapping[str, Any]) -> None:
    stop_kept(state, record["name"], grace_s=GRACE_S)
    remove_record(state, record["name"])


def is_ready(state: Path, record: Mapping[str, Any]) -> bool:
    """Whether its server has said that it serves (there is a readiness probe)."""
    try:
        ready = int((state / "run" / "ready").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    return is_up(record) and ready == record["pid"]
