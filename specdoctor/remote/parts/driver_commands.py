"""Commands that the user has configured for a server: they stop and start it, whoever keeps it."""

import os
import shlex
import subprocess
import time
from typing import Any, Dict, List, Optional, Set

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.commands import run_command
from specdoctor.remote.parts.driver_kept import Kept
from specdoctor.remote.parts.driver_plain import Prospect, Proved, Start
from specdoctor.remote.parts.keeper_tools import said
from specdoctor.remote.parts.launch_line import opens_flag, own_words
from specdoctor.remote.parts.procfs import alive, all_stats, argv_of, port_is_held, tree_of
from specdoctor.remote.parts.starting import private_log
from specdoctor.remote.parts.way_back import record_server, unreadable_parts

ARGS = "{args}"
BEGIN_S = 300.0
LOOK_AGAIN_S = 0.3
SHELLS = frozenset("sh bash dash zsh ksh env nohup setsid sudo tee srun ssh timeout".split())


def flags_of(argv: List[str]) -> List[str]:
    """The server's arguments: from its first flag on."""
    words = own_words(argv)
    first = next((index for index, word in enumerate(words) if opens_flag(word)), len(words))
    return words[first:]


def with_args(command: Any, args: List[str]) -> List[str]:
    """A configured command as words: a list with `{args}` as one of its words, or a line for the shell."""
    if isinstance(command, str):
        return ["sh", "-c", command.replace(ARGS, " ".join(shlex.quote(word) for word in args))]
    return [each for word in command for each in (args if word == ARGS else [word])]


class Commands(Kept):
    """Start, stop and (where given) status, as the targets file says."""

    kind = "commands"
    own_port = False

    def __init__(self, keeper: Dict[str, Any]) -> None:
        Kept.__init__(self, keeper)
        self.commands: Dict[str, Any] = keeper["commands"]

    def record(self, run: str, server: Proved) -> Dict[str, Any]:
        return dict(record_server(run, server), keeper=self.keeper, volatile=[])

    def obstacles(self, record: Dict[str, Any]) -> List[str]:
        found = unreadable_parts(record)
        if not found and not flags_of(record["argv"]):
            found.append("its command line has no arguments that could be handed to the configured start command")
        return found

    def holds(self, record: Dict[str, Any]) -> bool:
        status = self.commands.get("status")
        if status:
            return bool(run_command(with_args(status, []), BEGIN_S)["exit_code"] == 0)
        return port_is_held(int(record["server"]["port"]))

    def stop(self, record: Dict[str, Any], server: Optional[Proved], timeout_s: float) -> Set[int]:
        pids = set(tree_of(server["pid"], all_stats())) if server else set()
        reply = run_command(with_args(self.commands["stop"], []), timeout_s + BEGIN_S)
        if reply["exit_code"] != 0:
            raise Refusal("not-stopped", "the configured stop command failed: %s" % said(reply))
        deadline = time.monotonic() + timeout_s
        while server and alive(server["pid"], server["start_ticks"]):
            if time.monotonic() > deadline:
                what = "the configured stop command has left process %d running" % server["pid"]
                raise Refusal("not-stopped", what, "correct it in the targets file")
            time.sleep(LOOK_AGAIN_S)
        return pids

    def prepare(self, record: Dict[str, Any], start: Start) -> Prospect:
        args = flags_of(start.argv)
        env = {name: value for name, value in os.environ.items() if name not in start.change.get("remove_env", [])}
        env.update(start.change.get("set_env", {}))
        before = {(stat.pid, stat.start_ticks) for stat in all_stats().values()}

        def go() -> Dict[str, int]:
            with open(private_log(start.log), "ab") as log:
                process = subprocess.Popen(
                    with_args(self.commands["start"], args),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True,
                )  # fmt: skip
            deadline = time.monotonic() + BEGIN_S
            while time.monotonic() < deadline:
                for stat in all_stats().values():
                    if (stat.pid, stat.start_ticks) not in before and self.is_server(stat.pid, args):
                        return {"pid": stat.pid, "start_ticks": stat.start_ticks}
                code = process.poll()
                if code:
                    raise Refusal("not-started", "the configured start command failed (exit %d)" % code)
                time.sleep(LOOK_AGAIN_S)
            raise Refusal("not-started", "no server with the wanted arguments came up after the start command")

        return Prospect(None, [start.log] + [path for path in record["log_files"] if os.path.isfile(path)], {}, go)

    def is_server(self, pid: int, args: List[str]) -> bool:
        argv = argv_of(pid) or []
        return flags_of(argv) == args and os.path.basename(argv[0]) not in SHELLS

    def server_in(self, launched: Dict[str, int], words: List[str]) -> Dict[str, int]:
        """The process with the wanted arguments, whatever program the command starts. Raises Refusal."""
        stats = all_stats()
        for pid in tree_of(launched["pid"], stats):
            if pid in stats and self.is_server(pid, flags_of(words)):
                return {"pid": pid, "start_ticks": stats[pid].start_ticks}
        raise Refusal("not-as-ordered", "the configured start command has started it with other arguments")

    def clear(self, record: Dict[str, Any], launched: Proved) -> None:
        self.stop(record, launched, BEGIN_S)
