"""What Kubernetes and Slurm say of a server that they keep: enough for a line that a person can paste."""

import json
import re
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.commands import run_command

POD_UID = re.compile(r"pod([0-9a-f]{8}[-_](?:[0-9a-f]{4}[-_]){3}[0-9a-f]{12})")
JOB = re.compile(r"/job_(\d+)")
KUBE_NAME = re.compile(r"^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$")
KUBE_S, KUBE_LIMIT = 8.0, 1 << 25
JOB_FIELDS = ("JobName", "Partition", "Account", "NumNodes", "TresPerNode", "TimeLimit", "WorkDir", "StdOut", "Command")


def asked_json(argv: List[str]) -> Optional[Any]:
    """The document that a command printed; None where there is no such tool, or it may not be asked."""
    reply = run_command(argv, KUBE_S, limit=KUBE_LIMIT)
    try:
        return json.loads(str(reply["stdout"])) if reply["exit_code"] == 0 else None
    except ValueError:
        return None


def owner_of(item: Dict[str, Any]) -> Optional[Dict[str, str]]:
    """The object that keeps another one."""
    owners = (item.get("metadata") or {}).get("ownerReferences") or []
    found = [each for each in owners if each.get("controller")]
    return {"kind": str(found[0].get("kind")), "name": str(found[0].get("name"))} if found else None


def pod_known(cgroup: str, container: Optional[str]) -> Dict[str, Any]:
    """Namespace, pod, its command, and who owns it in the end; {} where kubectl does not tell."""
    match = POD_UID.search(cgroup)
    if match is None:
        return {}
    uid = match.group(1).replace("_", "-")
    listing = asked_json(["kubectl", "get", "pods", "--all-namespaces", "--output=json", "--request-timeout=5s"]) or {}
    for pod in listing.get("items") or []:
        if (pod.get("metadata") or {}).get("uid") == uid:
            return described_pod(pod, container)
    return {}


def described_pod(pod: Dict[str, Any], container: Optional[str]) -> Dict[str, Any]:
    meta, spec = pod["metadata"], pod.get("spec") or {}
    namespace = str(meta.get("namespace"))
    known: Dict[str, Any] = {"namespace": namespace, "pod": str(meta.get("name")), "owners": owners_of(pod, namespace)}
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    ids = {str(each.get("name")): str(each.get("containerID") or "").rpartition("/")[2] for each in statuses}
    for index, each in enumerate(spec.get("containers") or []):
        if container and ids.get(str(each.get("name"))) == container:
            known.update(container=str(each.get("name")), index=index, image=str(each.get("image")))
            known.update(command=each.get("command"), args=each.get("args"))
    return known


def owners_of(pod: Dict[str, Any], namespace: str) -> List[Dict[str, str]]:
    """From the pod's owner up to the workload that nobody owns."""
    found: List[Dict[str, str]] = []
    owner = owner_of(pod)
    while owner and len(found) < 5 and KUBE_NAME.match(owner["name"]) and re.match(r"^[A-Za-z]+$", owner["kind"]):
        found.append(owner)
        kind = owner["kind"].lower()
        item = asked_json(["kubectl", "--namespace=" + namespace, "get", kind, owner["name"], "--output=json"])
        owner = owner_of(item) if item else None
    return found


def job_known(cgroup: str, env: Dict[str, str]) -> Dict[str, Any]:
    """A job's resources and places; {} outside of one, its number alone where scontrol does not tell."""
    match = JOB.search(cgroup) if "slurm" in cgroup else None
    job = match.group(1) if match else env.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        return {}
    reply = run_command(["scontrol", "--oneliner", "show", "job", job], KUBE_S)
    fields = dict(re.findall(r"(?:^|\s)([A-Za-z:/]+)=(\S*)", str(reply["stdout"])))
    return dict({name: fields[name] for name in JOB_FIELDS if name in fields}, JobId=job)
