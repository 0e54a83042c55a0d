"""docker and podman of the practice host: what people and tools type at them, with the real one's words and codes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

from specdoctor.lab.containers import find_image, status_of
from specdoctor.lab.keeper import Record, change_record, read_record, remove_record, start_kept, stop_kept
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.kept_surroundings import note_surroundings
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.shims.access import refused_without_root
from specdoctor.lab.shims.docker_call import POLL_S, VERSION, Call
from specdoctor.lab.shims.docker_create import DaemonRefused, make_container
from specdoctor.lab.shims.docker_options import COMMANDS, KNOWN_ELSEWHERE, UsageRefused, read_options
from specdoctor.lab.shims.docker_reading import READING
from specdoctor.lab.shims.go_template import TemplateError

GRACE_S = 10.0
NOT_FOUND, NOT_EXECUTABLE = 127, 126
GROUPS = ("container", "image")
RENAMED = {"container ls": "ps", "container list": "ps", "container ps": "ps", "image ls": "images", "ls": ""}


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
        return _VERBS[name](Call(state, tool, given))
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


def _make(call: Call) -> Record:
    image = find_image(call.state, call.given.arguments[0])
    if image is None:
        name = call.given.arguments[0]
        sys.stderr.write(f"Unable to find image '{name if ':' in name else name + ':latest'}' locally\n")
    base = json.loads((call.state / "plumbing.json").read_text(encoding="utf-8"))
    workdir = image[1].get("workdir", "/") if image is not None else "/"
    return make_container(call.state, call.tool, call.given, base_env={**os.environ, **base}, workdir=workdir)


def _create(call: Call) -> int:
    print(_make(call)["name"])
    return 0


def _run(call: Call) -> int:
    record = _make(call)
    _begin(call, record)
    if call.given.has("detach"):
        print(record["name"])
        return 0
    return _attached(call, record["name"])


def _attached(call: Call, name: str) -> int:
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


def _begin(call: Call, record: Record) -> None:
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


def _start(call: Call) -> int:
    code = call.each(lambda record: _begin(call, record))
    if call.given.has("attach") and code == 0:
        return _attached(call, call.find(call.given.arguments[0])["name"])
    return code


def _halt(call: Call, record: Record) -> None:
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


def _stop(call: Call) -> int:
    return call.each(lambda record: _halt(call, record))


def _restart(call: Call) -> int:
    def again(record: Record) -> None:
        _halt(call, record)
        _begin(call, call.find(record["name"]))

    return call.each(again)


def _kill(call: Call) -> int:
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


def _rm(call: Call) -> int:
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


def _wait(call: Call) -> int:
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


def _exec(call: Call) -> int:
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


def _update(call: Call) -> int:
    def change(record: Record) -> None:
        policy = call.given.values.get("restart")
        if policy is None:
            return
        word, _, most = policy.partition(":")
        changed = {**record["host_config"], "RestartPolicy": {"Name": word, "MaximumRetryCount": int(most or 0)}}
        change_record(call.state, record["name"], policy=policy, host_config=changed)

    return call.each(change)


_VERBS: dict[str, Callable[[Call], int]] = {
    **READING,
    "create": _create,
    "run": _run,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "kill": _kill,
    "rm": _rm,
    "wait": _wait,
    "exec": _exec,
    "update": _update,
}
