"""Kubernetes: a pod that its owner would start again as it was."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from specdoctor.core.launch import apply_change
from specdoctor.core.server import Keeper
from specdoctor.keepers.containers import SHORT_ID, box_of
from specdoctor.keepers.hand import ByHand, Wanted, as_json, named_secrets, shell_text
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused

PATCHED = ("Deployment", "StatefulSet", "DaemonSet")


def recognise(seen: Seen) -> Keeper | None:
    box = box_of(seen)
    if box is None or not box.kubernetes:
        return None
    if box.inside:
        return refused(
            "kubernetes",
            "main process of its container",
            "it is the main process of the container we are in, which would end with it",
            "restart the container from its host with the changed arguments",
        )
    kept = next((k for k in seen.facts.kept if k.pid == seen.process.pid and k.kind == "kubernetes"), None)
    known = dict(kept.known) if kept is not None else {}
    detail = seen.process.container_id[:SHORT_ID] if seen.process.container_id else "pod"
    if known:
        chain = [f"{known['namespace']}/{known['pod']}", *(f"{kind} {name}" for kind, name in _owners(known))]
        detail = "pod " + ", owned by ".join(chain)
    return refused(
        "kubernetes",
        detail,
        "Kubernetes keeps its pod and would start it again as it was",
        "kubectl edit the workload that owns the pod: change the arguments there and let it roll out",
        known,
    )


def _owners(known: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    owners = known.get("owners")
    found = [each for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []
    return [(str(each.get("kind")), str(each.get("name"))) for each in found]


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """A patch of the workload's own words, so that what its template says in variables stays a variable."""
    known = keeper.known
    owners = _owners(known)
    words = {part: [str(each) for each in _list(known.get(part))] for part in ("command", "args")}
    whole = [*words["command"], *words["args"]]
    if not owners or owners[-1][0] not in PATCHED or not _same_flags(whole, wanted.argv):
        return by_edit(keeper, wanted)
    split = len(words["command"])
    changed = apply_change(tuple(whole), wanted.change)
    kept = changed[:split] == tuple(whole[:split])
    value = {"args": list(changed[split:])} if kept and words["args"] else {"command": list(changed), "args": []}
    base = f"/spec/template/spec/containers/{known.get('index', 0)}"
    patch: list[dict[str, object]] = [
        {"op": "add", "path": f"{base}/{part}", "value": each} for part, each in value.items()
    ]
    patch += [{"op": "add", "path": f"{base}/env/-", "value": {"name": n, "value": v}}
              for n, v in sorted(wanted.change.set_env.items())]  # fmt: skip
    kind, name = owners[-1]
    place = f"kubectl -n {shlex.quote(str(known.get('namespace')))}"
    target = shlex.quote(f"{kind.lower()}/{name}")
    text = shell_text(as_json(patch), named_secrets(changed))
    wait = f"{place} rollout status {target} --timeout=30m"
    return ByHand(
        start=f"{place} patch {target} --type=json -p {text} && {wait}",
        back=f"{place} rollout undo {target} && {wait}",
    )


def by_edit(keeper: Keeper, wanted: Wanted) -> ByHand:
    """Where the template's words are not those that run (a script, an operator's resource)."""
    return ByHand(
        start=f"{keeper.by_hand}; it is to run: {wanted.line}", back="undo that edit and let it roll out again"
    )


def _list(value: JsonValue | None) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _same_flags(words: Sequence[str], argv: Sequence[str]) -> bool:
    """Whether a template's words end as the running command line does, variables of the template aside."""
    flags = [word.partition("=")[0] for word in argv if word.startswith("--")]
    return bool(flags) and [word.partition("=")[0] for word in words if word.startswith("--")] == flags


row = Row(
    kind="kubernetes",
    title="Kubernetes",
    recognised_by="`kubepods` in its cgroup",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the workload that owns the pod would start it again as it was",
    by_hand="`kubectl patch` of the workload that owns the pod, with the changed arguments; back with `rollout undo`",
    recognise=recognise,
    hand=hand,
)
