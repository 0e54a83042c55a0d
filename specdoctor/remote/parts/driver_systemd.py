"""A unit of systemd: stopped and started through systemctl, tested with a drop-in that a reboot removes by itself.

The user's own files are never written. The drop-in lies under /run/systemd (a user's unit: in the runtime directory).
"""

import contextlib
import os
import subprocess
from typing import Any, Dict, List, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.commands import run_command
from specdoctor.remote.parts.driver_kept import COMMAND_S, Kept, await_process
from specdoctor.remote.parts.driver_plain import Prospect, Proved, Start
from specdoctor.remote.parts.keeper_tools import RUN, SUDO, LogCopy, done_or_refused, is_root, may_sudo, said
from specdoctor.remote.parts.launch_line import replaced
from specdoctor.remote.parts.procfs import alive, all_stats, argv_of, tree_of
from specdoctor.remote.parts.unit_text import UNIT_NAME, before_server, commands_shown, drop_in, shown_properties
from specdoctor.remote.parts.way_back import record_server, unreadable_parts

PROPERTIES = (
    "Id,Type,Restart,FragmentPath,DropInPaths,ActiveState,MainPID,Transient,NeedDaemonReload,RefuseManualStart,"
    "RefuseManualStop,TriggeredBy,User,ExecStart,ExecStartPre,ExecStartPost,ExecStop,ExecStopPost"
)
TYPES = ("simple", "exec", "notify", "idle")
DROP_IN = "90-specdoctor.conf"
VOLATILE = ("INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MAINPID", "MANAGERPID", "MANAGERPIDFDID")


class Systemd(Kept):
    """One unit, the system's or (scope `user`) the login's own."""

    kind = "systemd"

    def __init__(self, keeper: Dict[str, Any]) -> None:
        Kept.__init__(self, keeper)
        self.unit = str(keeper["name"])
        if not UNIT_NAME.match(self.unit):
            raise Refusal("bad-name", "%r cannot be the name of a service" % self.unit)
        self.user = keeper.get("scope") == "user"

    @property
    def surroundings(self) -> Dict[str, str]:
        """systemctl --user needs the runtime directory, which a command over ssh may not have been given."""
        own = {"XDG_RUNTIME_DIR": self.runtime} if self.user else {}
        return dict(os.environ, **own)

    @property
    def runtime(self) -> str:
        return os.environ.get("XDG_RUNTIME_DIR") or "%s/user/%d" % (RUN, os.getuid())

    @property
    def folder(self) -> str:
        base = self.runtime + "/systemd/user" if self.user else RUN + "/systemd/system"
        return "%s/%s.d" % (base, self.unit)

    @property
    def path(self) -> str:
        return "%s/%s" % (self.folder, DROP_IN)

    @property
    def raised(self) -> Tuple[str, ...]:
        """What has to stand before a command that changes something."""
        return () if self.user or is_root() or self.writable() else SUDO

    def writable(self) -> bool:
        """Whether this login may write the drop-in itself."""
        place = self.folder
        while not os.path.isdir(place) and place != "/":
            place = os.path.dirname(place)
        return os.access(place, os.W_OK | os.X_OK)

    def ctl(self, *words: str, **limits: float) -> str:
        """systemctl with the rights that it needs; its output. Raises Refusal with its own words."""
        argv = [*self.raised, "systemctl", *(["--user"] if self.user else []), *words]
        return done_or_refused(argv, limits.get("timeout_s", COMMAND_S), self.surroundings)

    def shown(self) -> Dict[str, str]:
        words = ["systemctl", *(["--user"] if self.user else []), "show", self.unit, "--property=" + PROPERTIES]
        reply = run_command(words, COMMAND_S, self.surroundings)
        if reply["exit_code"] != 0:
            raise Refusal("keeper-refused", "systemctl show %s failed: %s" % (self.unit, said(reply)))
        return shown_properties(str(reply["stdout"]))

    def record(self, run: str, server: Proved) -> Dict[str, Any]:
        return dict(record_server(run, server), keeper=self.keeper, unit=self.shown(), volatile=list(VOLATILE))

    def main_pid(self, shown: Dict[str, str]) -> int:
        return int(shown.get("MainPID") or 0)

    def obstacles(self, record: Dict[str, Any]) -> List[str]:
        unit, argv, pid = record["unit"], record["argv"], int(record["server"]["pid"])
        found = unreadable_parts(record)
        if self.main_pid(unit) != pid:
            found.append("its process %d is not the main process of the unit (%s)" % (pid, unit.get("MainPID")))
        if unit.get("Type") not in TYPES:
            found.append("the unit is of Type=%s" % unit.get("Type"))
        found += [text for name, value, text in UNFIT if unit.get(name) == value]
        if unit.get("TriggeredBy"):
            found.append("%s would start it again" % unit["TriggeredBy"])
        commands = commands_shown(unit.get("ExecStart", ""))
        if len(commands) != 1:
            found.append("the unit has %d ExecStart commands" % len(commands))
        elif argv and before_server(commands[0][0], commands[0][1], argv) is None:
            found.append("its ExecStart is not the running command: %s" % commands[0][1][:200])
        if DROP_IN in unit.get("DropInPaths", ""):
            found.append("a drop-in of specdoctor is in force already (%s)" % unit["DropInPaths"])
        if not (self.user or is_root() or self.writable() or may_sudo()):
            found.append("this login is not root, and `sudo -n` is refused: the unit cannot be changed for a test")
        return found

    def remarks(self, record: Dict[str, Any]) -> List[str]:
        """What a restart does beside ending and starting the server."""
        names = ("ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost")
        return ["%s runs at each restart: %s" % (name, argv) for name in names for _, argv in
                commands_shown(record["unit"].get(name, ""))]  # fmt: skip

    def known(self, record: Dict[str, Any]) -> Dict[str, Any]:
        commands = commands_shown(record["unit"].get("ExecStart", ""))
        before = before_server(commands[0][0], commands[0][1], record["argv"]) if commands and record["argv"] else None
        return {"head": before[0] if before else None, "taken": before[1] if before else 0}

    def found(self, record: Dict[str, Any]) -> Optional[Tuple[Proved, bool]]:
        pid = self.main_pid(self.shown())
        stats = all_stats()
        if not pid or pid not in stats:
            return None
        test = os.path.lexists(self.path)
        words = argv_of(pid)
        if not test and words != record["argv"]:
            return None
        return {"pid": pid, "start_ticks": stats[pid].start_ticks, "port": int(record["server"]["port"])}, test

    def holds(self, record: Dict[str, Any]) -> bool:
        return self.shown().get("ActiveState") in ("active", "activating", "deactivating", "reloading")

    def stop(self, record: Dict[str, Any], server: Optional[Proved], timeout_s: float) -> Set[int]:
        pid = self.main_pid(self.shown())
        if server and pid != server["pid"] and alive(server["pid"], server["start_ticks"]):
            raise Refusal("not-the-server", "process %d is not the main process of %s" % (server["pid"], self.unit))
        pids = set(tree_of(pid, all_stats())) if pid else set()
        self.ctl("stop", self.unit, timeout_s=timeout_s + 300.0)
        return pids

    def prepare(self, record: Dict[str, Any], start: Start) -> Prospect:
        if start.changed:
            path, shown = commands_shown(record["unit"]["ExecStart"])[0]
            before, taken = before_server(path, shown, record["argv"]) or ([], 0)
            command = replaced(before, start.change) + start.argv[taken:]
            change = start.change
            text = drop_in(start.run, command, start.log, change["set_env"], change["remove_env"])
            with open(start.log, "ab"):
                os.chmod(start.log, 0o600)
            self.write(text)
        else:
            self.remove()
        self.ctl("daemon-reload")

        def go() -> Dict[str, int]:
            self.ctl("reset-failed", self.unit)
            self.ctl("start", "--no-block", self.unit)
            return self.come_up()

        return Prospect(None, [start.log], {}, go)

    def come_up(self) -> Dict[str, int]:
        """The main process of the unit that has just been started. Raises Refusal."""
        begun = await_process(lambda: self.main_pid(self.shown()), lambda: self.shown().get("ActiveState") == "failed")
        if begun:
            return begun
        status = str(run_command(["systemctl", "status", "--no-pager", self.unit], COMMAND_S)["stdout"])
        raise Refusal("not-started", "%s did not start: %s" % (self.unit, " | ".join(status.splitlines()[-4:])[:400]))

    def write(self, text: str) -> None:
        """The drop-in, readable by its owner only (it repeats the server's command line)."""
        if not self.raised:
            os.makedirs(self.folder, 0o755, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            return
        done_or_refused([*SUDO, "mkdir", "-p", self.folder], COMMAND_S)
        process = subprocess.run(
            [*SUDO, "install", "-m", "600", "/dev/stdin", self.path],
            input=text.encode("utf-8"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=COMMAND_S,
            check=False,
        )
        if process.returncode:
            words = process.stderr.decode("utf-8", "replace").strip()[-200:]
            raise Refusal("keeper-refused", "the drop-in %s could not be written: %s" % (self.path, words))

    def remove(self) -> None:
        """Take the drop-in away, and its folder when nothing else lies in it."""
        if not os.path.lexists(self.path):
            return
        if self.raised:
            done_or_refused([*SUDO, "rm", "-f", self.path], COMMAND_S)
            run_command([*SUDO, "rmdir", self.folder], COMMAND_S)
            return
        os.unlink(self.path)
        with contextlib.suppress(OSError):  # others have put something there
            os.rmdir(self.folder)

    def copy_of_log(self, record: Dict[str, Any], logs: List[str], test: bool, since: float) -> Optional[LogCopy]:
        if test:
            return None
        option = "--user-unit=" if self.user else "--unit="
        argv = ["journalctl", "--no-pager", "--output=cat", "--since=@%d" % since, option + self.unit]
        return LogCopy([*(SUDO if self.raised else ()), *argv], logs[0], self.surroundings)

    def clear(self, record: Dict[str, Any], launched: Proved) -> None:
        self.ctl("stop", self.unit, timeout_s=COMMAND_S + 300.0)

    def compare(
        self, record: Dict[str, Any], pid: int, notes: Dict[str, str]
    ) -> Tuple[Dict[str, bool], Dict[str, str]]:
        equal, differences = Kept.compare(self, record, pid, notes)
        now = self.shown()
        for name in ("FragmentPath", "DropInPaths", "Restart", "Type"):
            equal[name] = now.get(name) == record["unit"].get(name)
            if not equal[name]:
                differences[name] = "was %s; is %s" % (record["unit"].get(name), now.get(name))
        return equal, differences


UNFIT = (
    ("Transient", "yes", "the unit is transient: it is gone when it stops"),
    (
        "NeedDaemonReload",
        "yes",
        "the unit's files differ from what systemd has read: it would come back different",
    ),
    ("RefuseManualStart", "yes", "the unit refuses to be started by hand"),
    ("RefuseManualStop", "yes", "the unit refuses to be stopped by hand"),
)
