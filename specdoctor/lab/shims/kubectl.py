"""kubectl of the practice host: one workload in one namespace, read, followed to its owner, and patched."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.pods import (
    end_pod,
    is_ready,
    pods,
    roll_out,
    write_cluster,
)
from specdoctor.lab.shims.json_patch import PatchFault, json_patch, merge_patch, strategic_patch
from specdoctor.lab.shims.kubectl_call import ALIASES_NAME, ALIASES_PLURAL, POLL_S, Call, KubeError
from specdoctor.lab.shims.kubectl_reading import READING


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is kubectl; returns its exit code."""
    try:
        call = Call(list(argv[1:]))
        verb = call.arguments[0] if call.arguments else ""
        if verb not in _VERBS:
            raise KubeError(f'error: unknown command "{verb}" for "kubectl"')
        return _VERBS[verb](call)
    except KubeError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _change_template(call: Call, change: Callable[[dict[str, Any]], dict[str, Any]], verb: str) -> int:
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


def _patch(call: Call) -> int:
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


def _scale(call: Call) -> int:
    number = int(call.values.get("replicas", "1"))
    return _change_template(call, lambda before: {**before, "spec": {**before["spec"], "replicas": number}}, "scaled")


def _set(call: Call) -> int:
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


def _rollout(call: Call) -> int:
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


def _delete(call: Call) -> int:
    kind, name = call.named()
    if kind != "Pod":
        raise KubeError("error: only pods may be deleted on this practice host")
    record = call.pod(name)
    print(f'pod "{name}" deleted', flush=True)
    end_pod(call.state, record)
    roll_out(call.state)
    return 0


_VERBS: dict[str, Callable[[Call], int]] = {
    **READING,
    "patch": _patch,
    "scale": _scale,
    "set": _set,
    "rollout": _rollout,
    "delete": _delete,
}
