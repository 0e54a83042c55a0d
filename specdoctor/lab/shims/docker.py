"""docker and podman of the practice host: what people and tools type at them, with the real one's words and codes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.containers import (
    containers,
    find_container,
    find_image,
    images,
    live_containers,
    shown_environment,
    status_of,
)
from specdoctor.lab.keeper import Record, change_record, read_record, remove_record, start_kept, stop_kept
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.shims.access import refused_without_root
from specdoctor.lab.shims.docker_create import DaemonRefused, make_container
from specdoctor.lab.shims.docker_options import COMMANDS, KNOWN_ELSEWHERE, Given, UsageRefused, read_options
from specdoctor.lab.shims.docker_views import describe, podman_row, row, stamp
from specdoctor.lab.shims.go_template import TemplateError, fill

VERSION = "28.2.2"
GRACE_S = 10.0
POLL_S = 0.05
NOT_FOUND, NOT_EXECUTABLE = 127, 126
GROUPS = ("container", "image")
RENAMED = {"container ls": "ps", "container list": "ps", "container ps": "ps", "image ls": "images", "ls": ""}
TABLE = ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES")


def main(argv: Sequence[str]) -> int:
    """`argv[0]` names the tool; returns its exit code."""
    tool, words = argv[0], list(argv[1:])
    state = state_dir()
    if words[:1] in (["--version"], ["-v"]):
        print(f"{tool} version {'5.4.0' if tool == 'podman' else VERSION + ', build e6534b4'}")
        return 0
    name, rest = _command(words)
    if name not in COMMANDS:
        return _unknown(tool, words)
    try:
        given = read_options(tool, name, rest)
        denied = refused_without_root(read_world(state), tool)
        if denied:
            sys.stderr.write(denied)
            return 1
        return _VERBS[name](_Call(state, tool, given))
    except UsageRefused as refused:
        sys.stderr.write(refused.text)
        return refused.code
    except TemplateError as error:
        sys.stderr.write(f"template parsing error: {error}\n")
        return 64 if name == "inspect" else 1
    except DaemonRefused as refused:
        prefix = f"{tool}: " if name == "run" else ""
        sys.stderr.write(f"{prefix}Error response from daemon: {refused}\n")
        if name == "run":
            sys.stderr.write(f"\nRun '{tool} run --help' for more information\n")
        return 125 if name == "run" else 1
    except BrokenPipeError:
        return 1


class _Call:
    """One understood command line on one host."""

    def __init__(self, state: Path, tool: str, given: Given) -> None:
        self.state = state
        self.tool = tool
        self.given = given

    def find(self, word: str) -> Record:
        """The container of this name. Raises DaemonRefused."""
        found = find_container(self.state, self.tool, word)
        if found is None:
            raise DaemonRefused(f"No such container: {word}")
        return found

    def each(self, act: Callable[[Record], None]) -> int:
        """Do it to every named container and print its name; those that fail are reported, the others done."""
        code = 0
        for word in self.given.arguments:
            try:
                act(self.find(word))
                print(word, flush=True)
            except DaemonRefused as refused:
                sys.stderr.write(f"Error response from daemon: {refused}\n")
                code = 1
        return code


def _command(words: list[str]) -> tuple[str, list[str]]:
    if words[:1] and words[0] in GROUPS:
        pair = " ".join(words[:2])
        plain = RENAMED.get(pair, pair if pair in COMMANDS else " ".join(words[1:2]))
        return plain, words[2:]
    return (words[0], words[1:]) if words else ("", [])


def _unknown(tool: str, words: list[str]) -> int:
    shown = words[0] if words else ""
    if shown in KNOWN_ELSEWHERE:
        sys.stderr.write(f"{tool}: '{shown}' is not offered on this practice host\n")
    else:
        sys.stderr.write(f"{tool}: unknown command: {tool} {shown}\n\nRun '{tool} --help' for more information\n")
    return 1


def _ps(call: _Call) -> int:
    given = call.given
    everything = given.has("all") or given.has("latest") or "last" in given.values
    known = containers(call.state, call.tool) if everything else list(live_containers(call.state, call.tool))
    rows = [record for record in known if _passes(record, given.all("filter"))]
    full = given.has("no-trunc")
    form = given.values.get("format")
    if given.has("quiet"):
        shown = [record["name"] if full else record["name"][:12] for record in rows]
    elif form == "json" and call.tool == "podman":
        shown = [json.dumps([podman_row(record) for record in rows], indent=2)]
    elif form in ("json", "{{json .}}"):
        shown = [json.dumps(row(record, full=full), separators=(",", ":"), ensure_ascii=False) for record in rows]
    elif form is not None:
        table = form.startswith("table ")
        shown = [fill(form.removeprefix("table "), row(record, full=full)) for record in rows]
        if table:
            heads = {key: key.upper() for key in row(rows[0])} if rows else {}
            shown.insert(0, fill(form.removeprefix("table "), {**heads, "ID": "CONTAINER ID"}) if heads else "")
    else:
        shown = _table(rows, full=full)
    if shown:
        print("\n".join(shown))
    return 0


def _table(rows: list[Record], *, full: bool) -> list[str]:
    cells: list[tuple[str, ...]] = [TABLE]
    for record in rows:
        one = row(record, full=full)
        keys = ("ID", "Image", "Command", "RunningFor", "Status", "Ports", "Names")
        cells.append(tuple(str(one[key]) for key in keys))
    widths = [max(len(line[column]) for line in cells) for column in range(len(TABLE))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _passes(record: Record, filters: tuple[str, ...]) -> bool:
    labels = record["config"].get("Labels") or {}
    for each in filters:
        key, _, value = each.partition("=")
        name, equals, wanted = value.partition("=")
        matches = {
            "name": value.strip("^$/") in record["container_name"],
            "id": record["name"].startswith(value),
            "status": status_of(record) == value,
            "ancestor": value in (record["image"], record["image_id"]),
            "label": name in labels and (not equals or labels[name] == wanted),
        }
        if not matches.get(key, True):
            return False
    return True


def _inspect(call: _Call) -> int:
    found, missing = [], []
    for word in call.given.arguments:
        record = find_container(call.state, call.tool, word)
        image = (
            find_image(call.state, word) if record is None and call.given.values.get("type") != "container" else None
        )
        if record is not None:
            found.append(describe(record, tool=call.tool))
        elif image is not None:
            found.append(_described_image(*image))
        else:
            missing.append(word)
    _print_documents(found, call.given.values.get("format"))
    for word in missing:
        sys.stderr.write(f"Error: No such object: {word}\n")
    return 1 if missing else 0


def _print_documents(found: list[dict[str, Any]], form: str | None) -> None:
    if form in (None, "json"):
        print(json.dumps(found, indent=4))
        return
    for document in found:
        print(fill(str(form), document))


def _described_image(name: str, image: Mapping[str, Any]) -> dict[str, Any]:
    digest = f"{name.rsplit(':', 1)[0]}@sha256:{image['id'][::-1][:64]}"
    return {
        "Id": image["id"],
        "RepoTags": [name],
        "RepoDigests": [digest],
        "Created": "2026-01-12T09:14:07.000000000Z",
        "Config": {
            "Env": shown_environment(image["env"]),
            "Cmd": image.get("cmd") or None,
            "Entrypoint": image["entrypoint"] or None,
            "WorkingDir": image.get("workdir", ""),
            "Labels": image.get("labels") or None,
        },
        "Architecture": "amd64",
        "Os": "linux",
        "Size": 33_112_874_551,
    }


def _inspect_image(call: _Call) -> int:
    found = [(word, find_image(call.state, word)) for word in call.given.arguments]
    _print_documents([_described_image(*each) for _, each in found if each], call.given.values.get("format"))
    missing = [word for word, each in found if each is None]
    for word in missing:
        sys.stderr.write(f"Error response from daemon: No such image: {word if ':' in word else word + ':latest'}\n")
    return 1 if missing else 0


def _images(call: _Call) -> int:
    rows = []
    for name, image in images(call.state).items():
        repository, _, tag = name.rpartition(":")
        rows.append((repository or name, tag or "latest", image["id"][7:19], "6 weeks ago", "33.1GB"))
    if call.given.has("quiet"):
        print("\n".join(cells[2] for cells in rows))
        return 0
    lines = [("REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE"), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    for line in lines:
        print("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _make(call: _Call) -> Record:
    image = find_image(call.state, call.given.arguments[0])
    if image is None:
        name = call.given.arguments[0]
        sys.stderr.write(f"Unable to find image '{name if ':' in name else name + ':latest'}' locally\n")
    base = json.loads((call.state / "plumbing.json").read_text(encoding="utf-8"))
    workdir = image[1].get("workdir", "/") if image is not None else "/"
    return make_container(call.state, call.tool, call.given, base_env={**os.environ, **base}, workdir=workdir)


def _create(call: _Call) -> int:
    print(_make(call)["name"])
    return 0


def _run(call: _Call) -> int:
    record = _make(call)
    _begin(call, record)
    if call.given.has("detach"):
        print(record["name"])
        return 0
    return _attached(call, record["name"])


def _attached(call: _Call, name: str) -> int:
    """Show the output until the container ends; its exit code."""
    shown = 0
    path = call.state / "kept" / f"{name}-json.log"
    while True:
        try:
            record = read_record(call.state, name)
        except FileNotFoundError:
            record = None
        lines = read_lines(path)
        for line in lines[shown:]:
            (sys.stderr if line.stream == "stderr" else sys.stdout).write(line.text + "\n")
        shown = len(lines)
        if record is None or status_of(record) == "exited":
            return int(record["exit_code"] or 0) if record else 0
        sys.stdout.flush()
        time.sleep(POLL_S)


def _begin(call: _Call, record: Record) -> None:
    """Start it. Raises DaemonRefused when its command cannot be executed."""
    if status_of(record) in ("running", "restarting"):
        return
    after = start_kept(call.state, record["name"])
    if after.get("error"):
        program = after["argv"][0] if after["argv"] else ""
        raise DaemonRefused(
            "failed to create task for container: failed to create shim task: OCI runtime create failed: runc create "
            "failed: unable to start container process: error during container init: exec: "
            f'"{program}": executable file not found in $PATH: unknown'
        )


def _start(call: _Call) -> int:
    code = call.each(lambda record: _begin(call, record))
    if call.given.has("attach") and code == 0:
        return _attached(call, call.find(call.given.arguments[0])["name"])
    return code


def _halt(call: _Call, record: Record) -> None:
    typed = call.given.values.get("timeout", call.given.values.get("time"))
    own = record["config"].get("StopTimeout", GRACE_S)
    grace_s = float(typed) if typed is not None else float(own)
    word = call.given.values.get("signal", record["config"].get("StopSignal", "SIGTERM"))
    stop_kept(call.state, record["name"], grace_s=1e9 if grace_s < 0 else grace_s, number=_signal(word))


def _signal(word: str) -> int:
    if word.isdecimal():
        return int(word)
    name = word.upper() if word.upper().startswith("SIG") else f"SIG{word.upper()}"
    if name not in signal.Signals.__members__:
        raise DaemonRefused(f"Invalid signal: {word}")
    return int(signal.Signals[name])


def _stop(call: _Call) -> int:
    return call.each(lambda record: _halt(call, record))


def _restart(call: _Call) -> int:
    def again(record: Record) -> None:
        _halt(call, record)
        _begin(call, call.find(record["name"]))

    return call.each(again)


def _kill(call: _Call) -> int:
    def kill(record: Record) -> None:
        number = _signal(call.given.values.get("signal", "KILL"))
        if status_of(record) != "running":
            raise DaemonRefused(
                f"cannot kill container: {record['name'][:12]}: container {record['name']} is not running"
            )
        if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            change_record(call.state, record["name"], wanted="down")
        os.kill(record["pid"], number)
        if number == signal.SIGKILL:
            stop_kept(call.state, record["name"], grace_s=GRACE_S, number=signal.SIGKILL)

    return call.each(kill)


def _rm(call: _Call) -> int:
    def remove(record: Record) -> None:
        if status_of(record) in ("running", "restarting"):
            if not call.given.has("force"):
                raise DaemonRefused(
                    f'cannot remove container "/{record["container_name"]}": container is running: '
                    "stop the container before removing or force remove"
                )
            stop_kept(call.state, record["name"], grace_s=0.0, number=signal.SIGKILL)
        remove_record(call.state, record["name"])
        (call.state / "kept" / f"{record['name']}-json.log").unlink(missing_ok=True)

    return call.each(remove)


def _wait(call: _Call) -> int:
    for word in call.given.arguments:
        name = call.find(word)["name"]
        code = 0
        while True:
            try:
                record = read_record(call.state, name)
            except FileNotFoundError:
                break
            code = int(record["exit_code"] or 0)
            if status_of(record) not in ("running", "restarting"):
                break
            time.sleep(POLL_S)
        print(code)
    return 0


def _logs(call: _Call) -> int:
    given = call.given
    record = call.find(given.arguments[0])
    path = call.state / "kept" / f"{record['name']}-json.log"
    text = given.values.get("tail", "all")
    if text != "all" and not text.lstrip("-").isdecimal():
        raise DaemonRefused(f"tail should be a number: {text}")
    tail = None if text == "all" or int(text) < 0 else int(text)
    lines = read_lines(path, tail=tail, since=_since(given.values.get("since")))
    _print_lines(lines, stamps=given.has("timestamps"))
    shown = len(read_lines(path))
    while given.has("follow") and status_of(read_record(call.state, record["name"])) != "exited":
        fresh = read_lines(path)
        _print_lines(fresh[shown:], stamps=given.has("timestamps"))
        shown = len(fresh)
        time.sleep(POLL_S)
    return 0


def _since(text: str | None) -> float:
    """`10m`, `1h30m`, a stamp or seconds since the epoch."""
    if text is None:
        return 0.0
    if text[-1:] in "smh" and text[:1].isdecimal():
        seconds, number = 0.0, ""
        for letter in text:
            if letter in "smh":
                seconds += float(number) * {"s": 1, "m": 60, "h": 3600}[letter]
                number = ""
            else:
                number += letter
        return time.time() - seconds
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError as error:
        raise DaemonRefused(
            f'invalid value for "since": failed to parse value as time or duration: "{text}"'
        ) from error


def _print_lines(lines: Sequence[Any], *, stamps: bool) -> None:
    for line in lines:
        text = f"{stamp(line.at)} {line.text}" if stamps else line.text
        (sys.stderr if line.stream == "stderr" else sys.stdout).write(text + "\n")
    sys.stdout.flush()
    sys.stderr.flush()


def _exec(call: _Call) -> int:
    word, *command = call.given.arguments
    record = call.find(word)
    if status_of(record) != "running":
        raise DaemonRefused(f"container {record['name']} is not running")
    environment = dict(record["env"])
    for pair in call.given.all("env"):
        name, equals, value = pair.partition("=")
        environment[name] = value if equals else os.environ.get(name, "")
    note_surroundings(call.state, os.getpid(), record["surroundings"])
    if not call.given.has("interactive"):
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
    try:
        os.chdir(call.given.values.get("workdir", record["cwd"]))
        os.execvpe(command[0], command, environment)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        why = "executable file not found in $PATH" if missing else "permission denied"
        sys.stderr.write(
            "OCI runtime exec failed: exec failed: unable to start container process: exec: "
            f'"{command[0]}": {why}: unknown\n'
        )
        return NOT_FOUND if missing else NOT_EXECUTABLE


def _update(call: _Call) -> int:
    def change(record: Record) -> None:
        policy = call.given.values.get("restart")
        if policy is None:
            return
        word, _, most = policy.partition(":")
        changed = {**record["host_config"], "RestartPolicy": {"Name": word, "MaximumRetryCount": int(most or 0)}}
        change_record(call.state, record["name"], policy=policy, host_config=changed)

    return call.each(change)


def _version(call: _Call) -> int:
    facts = {"Version": VERSION, "ApiVersion": "1.50", "Os": "linux", "Arch": "amd64"}
    document = {"Client": facts, "Server": facts}
    form = call.given.values.get("format")
    if form is not None:
        print(json.dumps(document) if form == "json" else fill(form, document))
        return 0
    for side in ("Client: Docker Engine - Community", "Server: Docker Engine - Community"):
        print(f"{side}\n Version:           {VERSION}\n API version:       1.50\n OS/Arch:           linux/amd64\n")
    return 0


def _info(call: _Call) -> int:
    known = containers(call.state, call.tool)
    running = sum(status_of(record) == "running" for record in known)
    document = {"Containers": len(known), "ContainersRunning": running, "ServerVersion": VERSION, "Driver": "overlay2"}
    form = call.given.values.get("format")
    if form is not None:
        print(json.dumps(document) if form == "json" else fill(form, document))
        return 0
    print(f"Server:\n Containers: {len(known)}\n  Running: {running}\n Server Version: {VERSION}")
    return 0


_VERBS: dict[str, Callable[[_Call], int]] = {
    "ps": _ps,
    "inspect": _inspect,
    "image inspect": _inspect_image,
    "images": _images,
    "create": _create,
    "run": _run,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "kill": _kill,
    "rm": _rm,
    "wait": _wait,
    "logs": _logs,
    "exec": _exec,
    "update": _update,
    "version": _version,
    "info": _info,
}
