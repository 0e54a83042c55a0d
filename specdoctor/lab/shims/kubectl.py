"""kubectl of the practice host: one workload in one namespace, read, followed to its owner, and patched."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import Record, is_up
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import state_dir
from specdoctor.lab.pods import (
    container_of,
    end_pod,
    is_ready,
    pods,
    read_cluster,
    roll_out,
    write_cluster,
)
from specdoctor.lab.shims.json_patch import PatchFault, json_patch, merge_patch, strategic_patch
from specdoctor.lab.shims.jsonpath import filled
from specdoctor.lab.shims.kube_objects import ALIASES, describe, objects

POLL_S = 0.1
VALUES = {
    "-n": "namespace",
    "--namespace": "namespace",
    "-o": "output",
    "--output": "output",
    "-c": "container",
    "--container": "container",
    "-l": "selector",
    "--selector": "selector",
    "--tail": "tail",
    "--since": "since",
    "--type": "type",
    "-p": "patch",
    "--patch": "patch",
    "--timeout": "timeout",
    "--replicas": "replicas",
    "--context": "context",
    "--kubeconfig": "kubeconfig",
    "--field-selector": "field",
    "--grace-period": "grace",
    "--to-revision": "revision",
    "--for": "for",
    "--patch-file": "patch-file",
    "--request-timeout": "wait-s",
}
SWITCHES = (
    "-i",
    "--stdin",
    "-t",
    "--tty",
    "-it",
    "-ti",
    "-f",
    "--follow",
    "--previous",
    "-A",
    "--all-namespaces",
    "--no-headers",
    "--watch",
    "-w",
    "-q",
    "--quiet",
    "--wait",
    "--now",
    "--ignore-not-found",
    "--client",
    "--short",
    "--force",
    "--show-labels",
    "--timestamps",
    "--wait=true",
    "--wait=false",
)


class KubeError(Exception):
    """The server's or client's refusal; the text is kubectl's."""


class _Call:
    """One command line."""

    def __init__(self, words: list[str]) -> None:
        self.values: dict[str, str] = {}
        self.switches: set[str] = set()
        self.arguments: list[str] = []
        self.command: list[str] = []
        verb = ""
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                self.command = words
                break
            if name in VALUES and equals:
                self.values[VALUES[name]] = value
            elif word in VALUES and not (word == "-p" and verb == "logs"):
                if not words:
                    raise KubeError(f"error: flag needs an argument: {word}\nSee 'kubectl {verb} --help' for usage.")
                self.values[VALUES[word]] = words.pop(0)
            elif word in SWITCHES or word == "-p":
                self.switches.add(word)
            elif word[:2] in ("-o", "-n", "-c", "-l") and not word.startswith("--"):
                self.values[VALUES[word[:2]]] = word[2:].removeprefix("=")
            elif word.startswith("--"):
                raise KubeError(f"error: unknown flag: {name}\nSee 'kubectl {verb or ''} --help' for usage.")
            elif word.startswith("-") and len(word) > 1:
                raise KubeError(
                    f"error: unknown shorthand flag: '{word[1]}' in {word}\n"
                    f"See 'kubectl {verb or ''} --help' for usage."
                )
            else:
                verb = verb or word
                self.arguments.append(word)
        self.state = state_dir()

    @property
    def namespace(self) -> str:
        return self.values.get("namespace", "default")

    def cluster(self) -> dict[str, Any]:
        try:
            return read_cluster(self.state)
        except FileNotFoundError:
            raise KubeError(
                "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
            ) from None

    def named(self) -> tuple[str, str]:
        """Kind and name of the object that the arguments behind the verb name."""
        words = self.arguments[1:]
        if words and "/" in words[0]:
            kind, _, name = words[0].partition("/")
        else:
            kind, name = (words[0] if words else ""), (words[1] if len(words) > 1 else "")
        if kind.lower() not in ALIASES:
            raise KubeError(f'error: the server doesn\'t have a resource type "{kind}"')
        return ALIASES[kind.lower()], name

    def pod(self, word: str) -> Record:
        """The running pod of this name, or of a workload. Raises KubeError."""
        kind, slash, name = word.partition("/")
        name = name if slash else word
        own = ALIASES.get(kind.lower(), "Pod") if slash else "Pod"
        if self.namespace == self.cluster()["namespace"]:
            for record in pods(self.state):
                if record["pod"] == name or (own != "Pod" and name == self.cluster()["name"]):
                    return record
        plural = {"Pod": "pods", "Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps"}.get(own, "pods")
        raise KubeError(f'Error from server (NotFound): {plural} "{name}" not found')


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is kubectl; returns its exit code."""
    try:
        call = _Call(list(argv[1:]))
        verb = call.arguments[0] if call.arguments else ""
        if verb not in _VERBS:
            raise KubeError(f'error: unknown command "{verb}" for "kubectl"')
        return _VERBS[verb](call)
    except KubeError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _get(call: _Call) -> int:
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


ALIASES_PLURAL = {
    "Pod": "pods",
    "Deployment": "deployments.apps",
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "Node": "nodes",
}
ALIASES_NAME = {
    "Pod": "pod",
    "Deployment": "deployment.apps",
    "ReplicaSet": "replicaset.apps",
    "StatefulSet": "statefulset.apps",
    "Node": "node",
}


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


def _describe(call: _Call) -> int:
    kind, name = call.named()
    known = [each for each in objects(call.state, call.cluster())[kind] if name in ("", each["metadata"]["name"])]
    if not known or call.namespace != call.cluster()["namespace"]:
        raise KubeError(f'Error from server (NotFound): {ALIASES_PLURAL[kind]} "{name}" not found')
    print("\n\n".join(describe(each) for each in known))
    return 0


def _logs(call: _Call) -> int:
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


def _container(call: _Call, record: Record) -> None:
    wanted = call.values.get("container")
    known = record["template"]["spec"]["containers"][0]["name"]
    if wanted not in (None, known):
        raise KubeError(f"error: container {wanted} is not valid for pod {record['pod']}")


def _exec(call: _Call) -> int:
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


def _change_template(call: _Call, change: Callable[[dict[str, Any]], dict[str, Any]], verb: str) -> int:
    kind, name = call.named()
    cluster = call.cluster()
    if name != cluster["name"] or kind != cluster["workload"] or call.namespace != cluster["namespace"]:
        raise KubeError(f'Error from server (NotFound): {ALIASES_PLURAL[kind]} "{name}" not found')
    before = {"metadata": {"name": name}, "spec": {"replicas": cluster["replicas"], "template": cluster["template"]}}
    try:
        after = change(before)
    except PatchFault as fault:
        raise KubeError(f"Error from server: {fault}" if str(fault)[:5] == "the s" else f"error: {fault}") from fault
    shown = f"{ALIASES_NAME[kind]}/{name}"
    if after == before:
        print(f"{shown} {verb} (no change)")
        return 0
    template = after["spec"]["template"]
    changed = {**cluster, "template": template, "replicas": int(after["spec"]["replicas"])}
    if template != cluster["template"]:
        changed |= {"revision": cluster["revision"] + 1, "history": [*cluster["history"], template]}
    write_cluster(call.state, changed)
    print(f"{shown} {verb}", flush=True)
    roll_out(call.state)
    return 0


def _patch(call: _Call) -> int:
    text = call.values.get("patch")
    if "patch-file" in call.values:
        text = Path(call.values["patch-file"]).read_text(encoding="utf-8")
    if text is None:
        raise KubeError("error: must specify --patch or --patch-file containing the contents of the patch")
    try:
        patch = json.loads(text)
    except ValueError as error:
        raise KubeError(f"error: unable to parse {json.dumps(text)}: {error}") from error
    kinds = {"json": json_patch, "merge": merge_patch, "strategic": strategic_patch}
    how = call.values.get("type", "strategic")
    if how not in kinds:
        raise KubeError(f"error: --type must be one of [json merge strategic], not {json.dumps(how)}")
    return _change_template(call, lambda before: kinds[how](before, patch), "patched")


def _scale(call: _Call) -> int:
    number = int(call.values.get("replicas", "1"))
    return _change_template(call, lambda before: {**before, "spec": {**before["spec"], "replicas": number}}, "scaled")


def _set(call: _Call) -> int:
    """`set env KIND/NAME X=Y Z-`."""
    if call.arguments[1:2] != ["env"]:
        raise KubeError("error: only `set env` is offered on this practice host")
    pairs = [word for word in call.arguments[2:] if "=" in word or word.endswith("-")]
    call.arguments = ["set", *[word for word in call.arguments[2:] if word not in pairs]]

    def change(before: dict[str, Any]) -> dict[str, Any]:
        after: dict[str, Any] = json.loads(json.dumps(before))
        container = after["spec"]["template"]["spec"]["containers"][0]
        env = {each["name"]: each.get("value", "") for each in container.get("env", [])}
        for word in pairs:
            name, equals, value = word.partition("=")
            env.pop(name.rstrip("-"), None) if not equals else env.update({name: value})
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
        return after

    return _change_template(call, change, "env updated")


def _rollout(call: _Call) -> int:
    action = call.arguments[1] if len(call.arguments) > 1 else ""
    call.arguments = ["rollout", *call.arguments[2:]]
    cluster = call.cluster()
    kind, name = call.named()
    if action == "undo":
        wanted = int(call.values.get("revision", "0")) or cluster["revision"] - 1
        if wanted < 1:
            raise KubeError(f'error: no rollout history found for {kind.lower()} "{name}"')
        old = cluster["history"][wanted - 1]
        return _change_template(call, lambda b: {**b, "spec": {**b["spec"], "template": old}}, "rolled back")
    if action == "restart":
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        mark = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": now}}}}}
        return _change_template(call, lambda before: merge_patch(before, mark), "restarted")
    if action != "status":
        raise KubeError(f'error: unknown command "rollout {action}"')
    deadline = time.monotonic() + _seconds(call.values.get("timeout", "600s"))
    told = False
    while not any(is_ready(call.state, record) for record in pods(call.state)):
        if not told:
            print(f'Waiting for {kind.lower()} "{name}" rollout to finish: 0 of 1 updated replicas are available...')
            told = True
        if time.monotonic() > deadline:
            raise KubeError("error: timed out waiting for the condition")
        time.sleep(POLL_S)
    print(f'{kind.lower()} "{name}" successfully rolled out')
    return 0


def _seconds(text: str) -> float:
    return float(text.rstrip("smh") or 0) * {"m": 60, "h": 3600}.get(text[-1:], 1)


def _delete(call: _Call) -> int:
    kind, name = call.named()
    if kind != "Pod":
        raise KubeError("error: only pods may be deleted on this practice host")
    record = call.pod(name)
    print(f'pod "{name}" deleted', flush=True)
    end_pod(call.state, record)
    roll_out(call.state)
    return 0


def _version(call: _Call) -> int:
    print("Client Version: v1.31.4\nKustomize Version: v5.4.2")
    if "--client" not in call.switches:
        print("Server Version: v1.31.4")
    return 0


def _config(call: _Call) -> int:
    if call.arguments[1:2] == ["current-context"]:
        print("gpu-cluster")
        return 0
    raise KubeError("error: only `config current-context` is offered on this practice host")


def _can(call: _Call) -> int:
    print("yes" if container_of(call.cluster()) else "no")
    return 0


_VERBS: dict[str, Callable[[_Call], int]] = {
    "get": _get,
    "describe": _describe,
    "logs": _logs,
    "exec": _exec,
    "patch": _patch,
    "scale": _scale,
    "set": _set,
    "rollout": _rollout,
    "delete": _delete,
    "version": _version,
    "config": _config,
    "auth": _can,
}
