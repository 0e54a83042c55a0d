"""What kubectl of the practice host tells, and what it runs inside a pod: nothing that is wanted is changed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import Record, is_up
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.pods import container_of
from specdoctor.lab.shims.jsonpath import filled
from specdoctor.lab.shims.kube_objects import describe, objects
from specdoctor.lab.shims.kubectl_call import ALIASES_NAME, ALIASES_PLURAL, POLL_S, Call, KubeError


def _get(call: Call) -> int:
    cluster = call.cluster()
    kind, name = call.named()
    known = objects(call.state, cluster)[kind]
    if call.namespace != cluster["namespace"] and not {"-A", "--all-namespaces"} & call.switches and kind != "Node":
        known = []
    if name:
        known = [each for each in known if each["metadata"]["name"] == name]
        if not known:
            raise KubeError(f'Error from server (NotFound): {ALIASES_PLURAL[kind]} "{name}" not found')
    if "selector" in call.values:
        known = [each for each in known if _selected(each, call.values["selector"])]
    form = call.values.get("output", "")
    if form == "json":
        listing = {"apiVersion": "v1", "items": known, "kind": "List", "metadata": {"resourceVersion": ""}}
        print(json.dumps(known[0] if name else listing, indent=4))
    elif form == "name":
        print("\n".join(f"{ALIASES_NAME[kind]}/{each['metadata']['name']}" for each in known))
    elif form.startswith("jsonpath="):
        document = known[0] if name and known else {"items": known}
        sys.stdout.write(filled(form.removeprefix("jsonpath=").strip("'\""), document))
    elif form in ("", "wide"):
        _print_table(kind, known, wide=form == "wide", namespace=cluster["namespace"])
    else:
        raise KubeError(
            f'error: unable to match a printer suitable for the output format "{form}" on this practice host'
        )
    return 0


def _selected(each: Mapping[str, Any], selector: str) -> bool:
    labels = each["metadata"].get("labels", {})
    pairs = [part.partition("=") for part in selector.split(",")]
    return all(labels.get(name) == value.lstrip("=") for name, _, value in pairs)


def _print_table(kind: str, known: list[dict[str, Any]], *, wide: bool, namespace: str) -> None:
    if not known:
        sys.stderr.write(f"No resources found in {namespace} namespace.\n")
        return
    if kind == "Pod":
        rows: list[tuple[str, ...]] = [("NAME", "READY", "STATUS", "RESTARTS", "AGE")]
        for each in known:
            ready, restarts = (
                each["status"]["containerStatuses"][0]["ready"],
                each["status"]["containerStatuses"][0]["restartCount"],
            )
            rows.append((each["metadata"]["name"], f"{int(ready)}/1", each["status"]["phase"], str(restarts), "1h"))
        if wide:
            nodes = ["NODE", *(each["spec"]["nodeName"] for each in known)]
            rows = [(*row, node) for row, node in zip(rows, nodes, strict=True)]
    elif kind == "Node":
        rows = [("NAME", "STATUS", "ROLES", "AGE", "VERSION")]
        rows += [(each["metadata"]["name"], "Ready", "<none>", "90d", "v1.31.4") for each in known]
    else:
        rows = [("NAME", "READY", "AGE")]
        rows += [
            (e["metadata"]["name"], f"{e['status'].get('readyReplicas', 0)}/{e['spec']['replicas']}", "1h")
            for e in known
        ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _describe(call: Call) -> int:
    kind, name = call.named()
    known = [each for each in objects(call.state, call.cluster())[kind] if name in ("", each["metadata"]["name"])]
    if not known or call.namespace != call.cluster()["namespace"]:
        raise KubeError(f'Error from server (NotFound): {ALIASES_PLURAL[kind]} "{name}" not found')
    print("\n\n".join(describe(each) for each in known))
    return 0


def _logs(call: Call) -> int:
    record = call.pod(call.arguments[1] if len(call.arguments) > 1 else "")
    _container(call, record)
    path = Path(record["output"].partition(":")[2])
    text = call.values.get("tail", "-1")
    lines = read_lines(path, tail=int(text) if int(text) >= 0 else None)
    print("\n".join(line.text for line in lines), flush=True)
    shown = len(read_lines(path))
    while {"-f", "--follow"} & call.switches and is_up(record):
        fresh = read_lines(path)
        for line in fresh[shown:]:
            print(line.text, flush=True)
        shown = len(fresh)
        time.sleep(POLL_S)
    return 0


def _container(call: Call, record: Record) -> None:
    wanted = call.values.get("container")
    known = record["template"]["spec"]["containers"][0]["name"]
    if wanted not in (None, known):
        raise KubeError(f"error: container {wanted} is not valid for pod {record['pod']}")


def _exec(call: Call) -> int:
    record = call.pod(call.arguments[1] if len(call.arguments) > 1 else "")
    _container(call, record)
    command = call.command or call.arguments[2:]
    if not command:
        raise KubeError("error: you must specify at least one command for the container")
    if not is_up(record):
        raise KubeError(f'error: unable to upgrade connection: container not found ("{record["pod"]}")')
    note_surroundings(call.state, os.getpid(), record["surroundings"])
    if not {"-i", "--stdin", "-it", "-ti"} & call.switches:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.chdir(record["cwd"])
        os.execvpe(command[0], command, record["env"])
    except OSError:
        sys.stderr.write(
            "error: Internal error occurred: Internal error occurred: error executing command in container: failed to "
            "exec in container: failed to start exec: OCI runtime exec failed: exec failed: unable to start container "
            f'process: exec: "{command[0]}": executable file not found in $PATH: unknown\n'
        )
        return 1


def _version(call: Call) -> int:
    print("Client Version: v1.31.4\nKustomize Version: v5.4.2")
    if "--client" not in call.switches:
        print("Server Version: v1.31.4")
    return 0


def _config(call: Call) -> int:
    if call.arguments[1:2] == ["current-context"]:
        print("gpu-cluster")
        return 0
    raise KubeError("error: only `config current-context` is offered on this practice host")


def _can(call: Call) -> int:
    print("yes" if container_of(call.cluster()) else "no")
    return 0


READING: dict[str, Callable[[Call], int]] = {
    "get": _get,
    "describe": _describe,
    "logs": _logs,
    "exec": _exec,
    "version": _version,
    "config": _config,
    "auth": _can,
}
