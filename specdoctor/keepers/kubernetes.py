"""Kubernetes: a pod that its owner would start again as it was."""

from __future__ import annotations

from specdoctor.core.server import Keeper
from specdoctor.keepers.containers import SHORT_ID, box_of
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused


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
    return refused(
        "kubernetes",
        seen.process.container_id[:SHORT_ID] if seen.process.container_id else "pod",
        "Kubernetes keeps its pod and would start it again as it was",
        "kubectl edit the workload that owns the pod: change the arguments there and let it roll out",
    )


row = Row(
    kind="kubernetes",
    title="Kubernetes",
    recognised_by="`kubepods` in its cgroup",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the workload that owns the pod would start it again as it was",
    by_hand="`kubectl edit` the workload that owns the pod",
    recognise=recognise,
)
