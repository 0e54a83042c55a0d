"""One command line of kubectl on one practice host."""

from __future__ import annotations

from typing import Any

from specdoctor.lab.keeper import Record
from specdoctor.lab.lab_state import state_dir
from specdoctor.lab.pods import pods, read_cluster
from specdoctor.lab.shims.kube_objects import ALIASES

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


class KubeError(Exception):
    """The server's or client's refusal; the text is kubectl's."""


class Call:
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
