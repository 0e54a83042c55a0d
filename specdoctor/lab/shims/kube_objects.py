"""The objects of the practice cluster as its API serves them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import Record
from specdoctor.lab.pods import is_ready, owner_of_pod, pods, set_name, template_hash, uid

ALIASES = {
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("deployment", "deployments", "deploy", "deployment.apps", "deployments.apps"), "Deployment"),
    **dict.fromkeys(("replicaset", "replicasets", "rs", "replicaset.apps", "replicasets.apps"), "ReplicaSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts", "statefulset.apps", "statefulsets.apps"), "StatefulSet"),
    **dict.fromkeys(("node", "nodes", "no"), "Node"),
}


def objects(state: Path, cluster: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """All objects by kind."""
    running = [_pod(state, cluster, record) for record in pods(state)]
    workload = cluster["workload"]
    found: dict[str, list[dict[str, Any]]] = {"Pod": running, "Deployment": [], "ReplicaSet": [], "StatefulSet": []}
    if workload != "none":
        found[workload] = [_workload(state, cluster, workload, cluster["name"], owner=None)]
    if workload == "Deployment":
        owner = ("Deployment", cluster["name"])
        found["ReplicaSet"] = [_workload(state, cluster, "ReplicaSet", set_name(cluster), owner=owner)]
    found["Node"] = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": cluster["node"]}, "status": {}}]
    return found


def _stamp(at_s: float | None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s or 0))


def _metadata(cluster: Mapping[str, Any], name: str, owner: tuple[str, str] | None) -> dict[str, Any]:
    labels = {**cluster["labels"], **({"pod-template-hash": template_hash(cluster)} if owner else {})}
    metadata: dict[str, Any] = {
        "creationTimestamp": _stamp(cluster["created_at"]),
        "labels": labels,
        "name": name,
        "namespace": cluster["namespace"],
        "resourceVersion": str(70_000_000 + cluster["revision"]),
        "uid": uid(name),
    }
    if owner is not None:
        kind, own = owner
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "blockOwnerDeletion": True,
                "controller": True,
                "kind": kind,
                "name": own,
                "uid": uid(own),
            }
        ]
    return metadata


def _workload(
    state: Path, cluster: Mapping[str, Any], kind: str, name: str, *, owner: tuple[str, str] | None
) -> dict[str, Any]:
    ready = sum(is_ready(state, record) for record in pods(state))
    spec = {
        "replicas": cluster["replicas"],
        "selector": {"matchLabels": cluster["labels"]},
        "template": cluster["template"],
    }
    if kind == "Deployment":
        spec["strategy"] = {"type": "Recreate"}
    status = {"replicas": cluster["replicas"], "observedGeneration": cluster["revision"]}
    if ready:
        status |= {"readyReplicas": ready, "availableReplicas": ready}
    metadata = {**_metadata(cluster, name, owner), "generation": cluster["revision"]}
    metadata["annotations"] = {"deployment.kubernetes.io/revision": str(cluster["revision"])}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def _pod(state: Path, cluster: Mapping[str, Any], record: Record) -> dict[str, Any]:
    container = record["template"]["spec"]["containers"][0]
    up, ready = record["pid"] is not None, is_ready(state, record)
    now = (
        {"running": {"startedAt": _stamp(record["started_at"])}} if up else {"waiting": {"reason": "CrashLoopBackOff"}}
    )
    owner = tuple(record["set"]) if record["set"] else None
    metadata = _metadata(cluster, record["pod"], (owner and (owner[0], owner[1])) or owner_of_pod(cluster))
    metadata |= {"uid": record["uid"], "creationTimestamp": _stamp(record["created_at"])}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**record["template"]["spec"], "nodeName": cluster["node"], "serviceAccountName": "default"},
        "status": {
            "phase": "Running",
            "hostIP": "10.0.4.17",
            "podIP": "10.0.4.17",
            "qosClass": "Burstable",
            "startTime": _stamp(record["created_at"]),
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": f"docker.io/{container['image'].split(':')[0]}@{record['image_id']}",
                    "containerID": f"containerd://{record['container_id']}",
                    "ready": ready,
                    "started": up,
                    "restartCount": record["restarts"],
                    "state": now,
                    "lastState": {},
                }
            ],
        },
    }


def describe(each: Mapping[str, Any]) -> str:
    """The chief lines of `kubectl describe`."""
    metadata = each["metadata"]
    owners = metadata.get("ownerReferences", [])
    lines = [f"Name:             {metadata['name']}", f"Namespace:        {metadata['namespace']}"]
    if owners:
        lines.append(f"Controlled By:    {owners[0]['kind']}/{owners[0]['name']}")
    spec = each["spec"]["template"]["spec"] if "template" in each["spec"] else each["spec"]
    for container in spec["containers"]:
        lines += ["Containers:", f"  {container['name']}:", f"    Image:         {container['image']}"]
        lines += ["    Command:", *(f"      {word}" for word in container["command"])]
        lines += ["    Args:", *(f"      {word}" for word in container["args"])]
    return "\n".join(lines)
