"""The practice host: a real SSH server on loopback whose shell looks like a GPU machine.

    with PracticeHost(world, state_dir=folder) as host:
        ...  # ssh -F host.ssh_config lab nvidia-smi

Everything it writes lies under its folder; every process it starts carries its mark and ends with it. Needs Linux:
the machine's process list is the real /proc, narrowed to the host's own processes. It is no sandbox: commands run with
the rights of the account that started it, which is why only its own key opens it, on loopback.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Self

import asyncssh

from specdoctor.lab.errors import LabError
from specdoctor.lab.lab_state import ID_VARIABLE, STATE_VARIABLE, TIME_SCALE_VARIABLE
from specdoctor.lab.machine_files import build_machine, refresh_clocks
from specdoctor.lab.port_claims import PortClaims
from specdoctor.lab.proc_view import drop_dead_views, refresh_views
from specdoctor.lab.process_census import end_processes
from specdoctor.lab.python_tree import PlacedInstall, build_install, build_python, date_packages, site_packages
from specdoctor.lab.shim_files import build_bare_path, build_shims
from specdoctor.lab.ssh_access import SshAccess, create_access, write_client_files
from specdoctor.lab.ssh_door import SshDoor
from specdoctor.lab.ssh_service import SshService
from specdoctor.lab.ssh_session import SessionPlace
from specdoctor.lab.units import LAB_USER
from specdoctor.lab.world import World

ALIAS = "lab"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WATCH_INTERVAL_S = 0.1
SLOW_REFRESH_ROUNDS = 10


class PracticeHost(SshDoor):
    """One practice host. `time_scale` stretches (above 1) or shortens (below 1) every modelled duration alike.

    `port` 0 takes a free one; `user` defaults to the world's. A folder that holds something else is refused.
    """

    name = "practice host"

    def __init__(
        self,
        world: World,
        *,
        state_dir: Path,
        port: int = 0,
        user: str | None = None,
        time_scale: float | None = None,
        keep: bool = False,
        client_key: asyncssh.SSHKey | None = None,
    ) -> None:
        self.world = world
        self.state_dir = Path(state_dir).resolve()
        self.user = user or world.host.user
        self.keep = keep
        self.time_scale = time_scale if time_scale is not None else float(os.environ.get(TIME_SCALE_VARIABLE) or "1")
        self.host_id = secrets.token_hex(8)
        self.ports = PortClaims()
        self._wanted_port = port
        self._given_key = client_key
        self._access: SshAccess | None = None
        self._lock: IO[str] | None = None
        self._found = False
        self._watching: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self) -> Self:
        """Build the machine's files and open the SSH port. Raises LabError; then nothing is left behind."""
        if not sys.platform.startswith("linux"):
            raise LabError("the practice host needs Linux", next_step="run it in a Linux container or machine")
        self._take_folder()
        try:
            self._build()
            self._access = create_access(self.state_dir, client_key=self._given_key)
            place = SessionPlace(home=self.home, environment=self.environment)
            self._service = SshService(self._access, user=self.user, port=self._wanted_port, place=place)
            port = self._service.start()
        except BaseException:
            self._release_folder(keep=False)
            raise
        write_client_files(self._access, alias=ALIAS, user=self.user, port=port)
        self._stopping.clear()
        self._watching = threading.Thread(target=self._watch, name="practice-watch", daemon=True)
        self._watching.start()
        return self

    def stop(self, *, keep: bool | None = None) -> None:
        """Close the port, end every process of this host, and remove its folder unless `keep`."""
        if self._lock is None:
            return
        if self._service is not None:
            self._service.stop()
        self._stopping.set()
        if self._watching is not None:
            self._watching.join()
        left = end_processes(self.state_dir, self.host_id)
        self.ports.release()
        self._service = self._watching = None
        self._release_folder(keep=self.keep if keep is None else keep)
        if left:
            raise LabError(f"these processes of the practice host did not end: {sorted(left)}")

    def wait(self) -> None:
        """Block until `stop` is called from another thread, or an interrupt arrives."""
        self._stopping.wait()

    @property
    def home(self) -> Path:
        return self.state_dir / "home"

    @property
    def models_dir(self) -> Path:
        return self.state_dir / "models"

    @property
    def ssh_config(self) -> Path:
        """Fragment for `ssh -F`, with the alias `lab`."""
        return self.state_dir / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        return self.state_dir / "known_hosts"

    @property
    def client_key_path(self) -> Path:
        return self.state_dir / "client_key"

    @property
    def access(self) -> SshAccess:
        """Keys, for a jump host that accepts the same ones. Raises LabError before `start`."""
        if self._access is None:
            raise LabError("the practice host is not running")
        return self._access

    @property
    def environment(self) -> dict[str, str]:
        """What a session's commands see; nothing of the environment of this process is passed on."""
        environment = {
            "PATH": self._path,
            "HOME": str(self.home),
            "USER": self.user,
            "LOGNAME": self.user,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PS1": f"{self.user}@{self.world.host.name}:$PWD$ ",
            "VIRTUAL_ENV": str(self.state_dir),
            "PYTHONPATH": str(site_packages(self.state_dir)),
            "HOST_PROC": str(self.state_dir / "proc"),
            "HOST_SYS": str(self.state_dir / "sys"),
            "HOST_ETC": str(self.state_dir / "etc"),
            "HOST_RUN": str(self.state_dir / "files" / "run"),
            "HOST_VAR": str(self.state_dir / "files" / "var"),
            "XDG_RUNTIME_DIR": str(self.state_dir / "files" / "run" / "user" / str(LAB_USER)),
            STATE_VARIABLE: str(self.state_dir),
            ID_VARIABLE: self.host_id,
        }
        if not self.world.host.python:
            environment["HOST_USR"] = str(self.state_dir / "files" / "usr")
        if self.time_scale != 1.0:
            environment[TIME_SCALE_VARIABLE] = str(self.time_scale)
        return environment

    @property
    def inner_environment(self) -> dict[str, str]:
        """What a container's processes build upon: the image has a Python whether the host has one or not."""
        return {**self.environment, "PATH": f"{self.state_dir / 'bin'}:{SYSTEM_PATH}"}

    @property
    def _path(self) -> str:
        if self.world.host.python:
            return f"{self.state_dir / 'bin'}:{SYSTEM_PATH}"
        return str(self.state_dir / "bare-bin")

    def expand(self, text: str) -> str:
        """A path or argument of the world, with this host's real folders."""
        log = self.world.expand(self.world.launch.log, models=str(self.models_dir), home=str(self.home))
        return self.world.expand(text, models=str(self.models_dir), home=str(self.home), log=log)

    def place(self, path: str) -> Path:
        """Where a file of the world lies: under home or models, else under `files` with its whole path."""
        expanded = Path(self.expand(path))
        if expanded.is_relative_to(self.state_dir):
            return expanded
        return self.state_dir / "files" / expanded.relative_to(expanded.anchor)

    def _take_folder(self) -> None:
        marker = self.state_dir / "host.json"
        ours = _before(marker) is not None
        self._found = self.state_dir.is_dir() and not ours
        self.state_dir.mkdir(parents=True, exist_ok=True)
        if any(self.state_dir.iterdir()) and not ours:
            raise LabError(
                f"{self.state_dir} holds something else; the practice host would remove it when it stops",
                next_step="name an empty or a new folder",
            )
        lock = (self.state_dir / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise LabError(
                f"another practice host is running in {self.state_dir}", next_step="stop it, or name another folder"
            ) from None
        self._lock = lock
        self._end_leftovers(marker)

    def _end_leftovers(self, marker: Path) -> None:
        """End what a host that was killed here has left running."""
        before = _before(marker)
        if before is not None:
            if before["boot"] != _boot():
                shutil.rmtree(self.state_dir / "run", ignore_errors=True)
            end_processes(self.state_dir, before["id"])
        for name in ("run", "gpu", "views", "proc", "kept"):
            shutil.rmtree(self.state_dir / name, ignore_errors=True)

    def _release_folder(self, *, keep: bool) -> None:
        if not keep and self._found:
            # It was somebody's before: what this host has put in goes, the folder stays.
            for entry in self.state_dir.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        elif not keep:
            shutil.rmtree(self.state_dir)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _build(self) -> None:
        for name in ("home", "models", "run", "gpu", "views", "proc", "sys", "kept", "etc"):
            (self.state_dir / name).mkdir(exist_ok=True)
        (self.state_dir / "files" / "run").mkdir(parents=True, exist_ok=True)
        facts = self.facts
        (self.state_dir / "world.json").write_text(json.dumps(facts), encoding="utf-8")
        marker = {"id": self.host_id, "time_scale": self.time_scale, "boot": _boot()}
        (self.state_dir / "host.json").write_text(json.dumps(marker), encoding="utf-8")
        (self.state_dir / "plumbing.json").write_text(json.dumps(self.inner_environment), encoding="utf-8")
        engine = self.world.engine
        build_python(self.state_dir, version=engine.version, packages=engine.packages, cpus=self.world.host.cpus)
        for each in engine.installs:
            place = PlacedInstall(venv=self.place(each.venv), source=self.place(each.source), commit=each.commit)
            build_install(self.state_dir, place, version=engine.version, packages=engine.packages)
        homes = [self.state_dir, *(self.place(each.venv) for each in engine.installs)]
        date_packages(homes, at=time.time() - engine.installed_s_ago)
        build_shims(self.state_dir)
        if not self.world.host.python:
            build_bare_path(self.state_dir, SYSTEM_PATH.split(":"))
        build_machine(self.state_dir, facts)

    @property
    def facts(self) -> dict[str, Any]:
        """The world as its machine may know it: what a diagnosis should say is left out."""
        return self.world.model_dump(mode="json", exclude={"truth", "ask", "title"})

    def _watch(self) -> None:
        facts = self.facts
        rounds = 0
        while not self._stopping.wait(WATCH_INTERVAL_S):
            rounds += 1
            with contextlib.suppress(OSError):  # a process may end, and its files with it, while they are read
                if rounds % SLOW_REFRESH_ROUNDS == 0:
                    refresh_clocks(self.state_dir, facts)
                    refresh_views(self.state_dir, facts)
                else:
                    drop_dead_views(self.state_dir)


def _before(marker: Path) -> dict[str, str] | None:
    """What a practice host has left in its folder to be known by; None where the file is missing or not its own."""
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    named = isinstance(found, dict) and all(isinstance(found.get(key), str) for key in ("id", "boot"))
    return found if named else None


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
