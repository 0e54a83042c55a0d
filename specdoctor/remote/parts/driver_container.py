"""docker and podman: the original is stopped and started, never edited or removed; a sibling made like it is tested.

The sibling carries labels of the run. It is removed only where label and id prove it.
"""

import contextlib
import json
import os
import re
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.container_copy import create_options, env_lines
from specdoctor.remote.parts.driver_kept import COMMAND_S, Kept, await_process
from specdoctor.remote.parts.driver_plain import Prospect, Proved, Start
from specdoctor.remote.parts.keeper_tools import LogCopy, by_right, done_or_refused, said
from specdoctor.remote.parts.launch_line import replaced
from specdoctor.remote.parts.procfs import all_stats, argv_of, tree_of
from specdoctor.remote.parts.redaction import mask_argv, mask_env
from specdoctor.remote.parts.way_back import record_server, unreadable_parts

CONTAINER_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,200}$")
IMAGE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,300}$")
IMAGE_ID = re.compile(r"^(?:sha256:)?[0-9a-f]{12,64}$")
LABEL_RUN, LABEL_OF, LABEL_ACTION = "specdoctor.run", "specdoctor.of", "specdoctor.action"
FOREIGN_LABELS = {
    "com.docker.swarm.service.name": "docker swarm keeps it and would start it elsewhere",
    "io.kubernetes.pod.name": "Kubernetes keeps its pod",
    "PODMAN_SYSTEMD_UNIT": "a systemd unit keeps the container",
}
CREATE_S = 120.0


class Docker(Kept):
    """One container of the docker daemon."""

    kind = "docker"
    own_port = False

    def __init__(self, keeper: Dict[str, Any]) -> None:
        Kept.__init__(self, keeper)
        self.name = str(keeper["name"])
        if not CONTAINER_NAME.match(self.name):
            raise Refusal("bad-name", "%r cannot be the name of a container" % self.name)
        self._before: Optional[Tuple[str, ...]] = None

    def inspected(self, name: str) -> Dict[str, Any]:
        """What the engine says of a container. Raises Refusal."""
        before = self._before or ()
        reply, raised = by_right([*before, self.kind, "inspect", "--type", "container", name])
        if reply["exit_code"] != 0:
            raise Refusal("keeper-refused", "%s inspect %s failed: %s" % (self.kind, name, said(reply)))
        self._before = before or raised
        found: Dict[str, Any] = json.loads(str(reply["stdout"]))[0]
        return found

    def tool(self, *words: str, **limits: float) -> str:
        """A command of the engine; its output. Raises Refusal with its own words."""
        if self._before is None:
            self.inspected(self.name)
        argv = [*(self._before or ()), self.kind, *words]
        return done_or_refused(argv, limits.get("timeout_s", COMMAND_S))

    def record(self, run: str, server: Proved) -> Dict[str, Any]:
        inspect = self.inspected(self.name)
        keeper = dict(self.keeper, name=inspect["Id"])
        record = dict(record_server(run, server), keeper=keeper, inspect=inspect, volatile=[])
        secrets: Set[str] = set()
        mask_env(dict(pair.partition("=")[::2] for pair in (inspect.get("Config") or {}).get("Env") or []), (), secrets)
        mask_argv([str(word) for word in inspect.get("Args") or []], secrets)
        return dict(record, secrets=sorted(secrets))

    def obstacles(self, record: Dict[str, Any]) -> List[str]:
        inspect, pid = record["inspect"], int(record["server"]["pid"])
        host, labels = inspect.get("HostConfig") or {}, (inspect.get("Config") or {}).get("Labels") or {}
        found = unreadable_parts(record)
        main = int((inspect.get("State") or {}).get("Pid") or 0)
        if pid not in tree_of(main, all_stats()):
            found.append("its process %d is not one of the container's (main process %d)" % (pid, main))
        if host.get("AutoRemove"):
            found.append("the container was started with --rm: it would be gone once stopped")
        found += [text for label, text in sorted(FOREIGN_LABELS.items()) if label in labels]
        if record["argv"] and self.command_before(record) is None:
            command = " ".join(mask_argv(self.command(inspect), set()))
            found.append("the container's command is not the running one: %s" % command[:200])
        lost = create_options(inspect).lost
        if lost:
            found.append("a container like it cannot be made: nothing says %s" % ", ".join(lost))
        return found

    def admit(self, change: Dict[str, Any]) -> None:
        """The image of another installation must lie here: nothing is pulled."""
        if change.get("image"):
            self.image(str(change["image"]))

    def image(self, name: str) -> Dict[str, Any]:
        """What the engine says of an image. Raises Refusal."""
        if not IMAGE_NAME.match(name):
            raise Refusal("bad-image", "%r cannot be the name of an image" % name)
        text = self.tool("image", "inspect", name)
        found: Dict[str, Any] = json.loads(text)[0]
        return found

    def remarks(self, record: Dict[str, Any]) -> List[str]:
        inspect = record["inspect"]
        policy = str(((inspect.get("HostConfig") or {}).get("RestartPolicy") or {}).get("Name") or "no")
        labels = (inspect.get("Config") or {}).get("Labels") or {}
        found = []
        if policy in ("always", "unless-stopped"):
            found.append("restart policy %s: the stopped original stays down until it is started, or %s" % (
                policy, "its daemon starts again" if policy == "always" else "somebody starts it"))  # fmt: skip
        if "com.docker.compose.project" in labels:
            what = (labels["com.docker.compose.project"], labels.get("com.docker.compose.service", "?"))
            found.append("compose made it (project %s, service %s): no `compose up` while the test runs" % what)
        return found

    def known(self, record: Dict[str, Any]) -> Dict[str, Any]:
        inspect, before = record["inspect"], self.command_before(record)
        pairs = dict(pair.partition("=")[::2] for pair in (inspect.get("Config") or {}).get("Env") or [])
        return {
            "name": str(inspect.get("Name")).lstrip("/"),
            "image": str(inspect.get("Image")),
            "options": create_options(inspect).options,
            "env": mask_env(pairs, list(pairs), set()),
            "head": before[0] if before else None,
            "taken": before[1] if before else 0,
        }

    def command(self, inspect: Dict[str, Any]) -> List[str]:
        """Program and arguments, entrypoint included."""
        return [str(inspect.get("Path") or "")] + [str(word) for word in inspect.get("Args") or []]

    def command_before(self, record: Dict[str, Any]) -> Optional[Tuple[List[str], int]]:
        """What stands before the server's arguments in the container's command, and for how many running words."""
        whole, argv = self.command(record["inspect"]), record["argv"]
        for taken in (1, 2):
            tail = argv[taken:]
            head = whole[: len(whole) - len(tail)]
            if not head or len(argv) < taken or whole[len(head) :] != tail:
                continue
            if os.path.basename(head[-1]) == os.path.basename(argv[taken - 1]):
                return head, taken
        return None

    def siblings(self, record: Dict[str, Any]) -> List[Dict[str, Any]]:
        """Containers that this run has made of the original."""
        labels = ["label=%s=%s" % (LABEL_RUN, record["run"]), "label=%s=%s" % (LABEL_OF, record["inspect"]["Id"])]
        words = [word for label in labels for word in ("--filter", label)]
        names = self.tool("ps", "--all", "--quiet", "--no-trunc", *words).split()
        return [self.proved_sibling(self.inspected(name), record) for name in names]

    def proved_sibling(self, inspect: Dict[str, Any], record: Dict[str, Any]) -> Dict[str, Any]:
        """Raises Refusal unless label and id say that this run has made it."""
        labels = (inspect.get("Config") or {}).get("Labels") or {}
        ours = labels.get(LABEL_RUN) == record["run"] and labels.get(LABEL_OF) == record["inspect"]["Id"]
        if not ours or inspect["Id"] == record["inspect"]["Id"]:
            raise Refusal("not-ours", "container %s was not made by this run" % inspect["Id"][:12])
        return inspect

    def found(self, record: Dict[str, Any]) -> Optional[Tuple[Proved, bool]]:
        for inspect, test in [(each, True) for each in self.siblings(record)] + [(self.inspected(self.name), False)]:
            pid, stats = int((inspect.get("State") or {}).get("Pid") or 0), all_stats()
            if pid and pid in stats:
                own = [each for each in tree_of(pid, stats) if argv_of(each) == record["argv"]] if not test else []
                pid = own[0] if own else pid
                return {"pid": pid, "start_ticks": stats[pid].start_ticks, "port": int(record["server"]["port"])}, test
        return None

    def holds(self, record: Dict[str, Any]) -> bool:
        return bool((self.inspected(self.name).get("State") or {}).get("Running")) or bool(self.siblings(record))

    def stop(self, record: Dict[str, Any], server: Optional[Proved], timeout_s: float) -> Set[int]:
        pids: Set[int] = set()
        for sibling in self.siblings(record):
            pids |= self.halt(sibling, timeout_s)
            with contextlib.suppress(Refusal):  # stopped is enough; what stays is told by the comparison
                self.tool("rm", sibling["Id"])
        original = self.inspected(self.name)
        if original["Id"] != record["inspect"]["Id"]:
            raise Refusal("not-the-server", "container %s is another one now" % self.name[:12])
        return pids | self.halt(original, timeout_s)

    def halt(self, inspect: Dict[str, Any], timeout_s: float) -> Set[int]:
        state = inspect.get("State") or {}
        if not (state.get("Running") or state.get("Restarting")):
            return set()
        pids = set(tree_of(int(state.get("Pid") or 0), all_stats())) if state.get("Pid") else set()
        self.tool("stop", "-t", "%d" % max(1, round(timeout_s)), inspect["Id"], timeout_s=timeout_s + COMMAND_S)
        return pids

    def prepare(self, record: Dict[str, Any], start: Start) -> Prospect:
        identity = self.make_sibling(record, start) if start.changed else record["inspect"]["Id"]

        def go() -> Dict[str, int]:
            self.tool("start", identity, timeout_s=CREATE_S)
            begun = await_process(
                lambda: int(self.inspected(identity)["State"].get("Pid") or 0),
                lambda: self.inspected(identity)["State"].get("Status") in ("exited", "dead"),
            )
            if not begun:
                words = self.tool("logs", "--tail", "5", identity).strip().splitlines()
                raise Refusal("not-started", "the container did not start: %s" % " | ".join(words)[:400])
            return begun

        return Prospect(None, [start.log], {}, go)

    def make_sibling(self, record: Dict[str, Any], start: Start) -> str:
        """Create the container for a test; its id. Its environment goes through a private file, not an argument."""
        inspect = record["inspect"]
        head, taken = self.command_before(record) or ([], 0)
        words = replaced(head, start.change) + start.argv[taken:]
        image, pairs = str(inspect["Image"]), list((inspect.get("Config") or {}).get("Env") or [])
        if start.change.get("image"):
            built_in = (self.image(image).get("Config") or {}).get("Env") or []
            pairs = [pair for pair in pairs if pair not in built_in]
            image = str(self.image(str(start.change["image"]))["Id"])
        env, lost = env_lines(pairs, start.change)
        if lost:
            raise Refusal("not-copied", "the container's environment cannot be said: %s" % ", ".join(lost))
        path = "%s/env-%s" % (start.folder, start.action)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            stream.write("".join(line + "\n" for line in env))
        labels = {LABEL_RUN: start.run, LABEL_OF: inspect["Id"], LABEL_ACTION: start.action}
        options = create_options(inspect).options + ["--label=%s=%s" % pair for pair in sorted(labels.items())]
        options += ["--name=specdoctor-%s-%s" % (start.run, start.action), "--env-file=" + path]
        if not IMAGE_ID.match(image):
            raise Refusal("not-copied", "the image %r of the container is no id" % image)
        try:
            made = self.tool(
                "create", *options, "--entrypoint=" + words[0], image, *words[1:], timeout_s=CREATE_S
            )  # fmt: skip
        finally:
            os.unlink(path)
        return made.split()[-1]

    def copy_of_log(self, record: Dict[str, Any], logs: List[str], test: bool, since: float) -> Optional[LogCopy]:
        names = [each["Id"] for each in self.siblings(record)] if test else [record["inspect"]["Id"]]
        argv = [*(self._before or ()), self.kind, "logs", "--since", "%.3f" % since, *names[:1]]
        return LogCopy(argv, logs[0]) if names else None

    def clear(self, record: Dict[str, Any], launched: Proved) -> None:
        self.stop(record, None, COMMAND_S)

    def compare(
        self, record: Dict[str, Any], pid: int, notes: Dict[str, str]
    ) -> Tuple[Dict[str, bool], Dict[str, str]]:
        equal, differences = Kept.compare(self, record, pid, notes)
        now, before = self.inspected(self.name), record["inspect"]
        for part in ("Id", "Image", "Path", "Args", "Config", "HostConfig"):
            equal["container." + part] = now.get(part) == before.get(part)
            if now.get(part) != before.get(part):
                differences["container." + part] = "is not what it was"
        left = [str(each["Id"])[:12] for each in self.siblings(record)]
        if left:
            differences["containers"] = "stopped, and could not be removed: %s" % ", ".join(left)
        return equal, differences


class Podman(Docker):
    """One container of podman, whose commands are docker's."""

    kind = "podman"
