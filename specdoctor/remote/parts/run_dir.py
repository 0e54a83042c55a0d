"""The private folder of a run on the host: way back, state of each action, logs of test launches, and locks.

Files are written whole or not at all, and are on disk before the step that they make reversible.
"""

import fcntl
import json
import os
import re
import stat
from typing import Any, Dict, List, Optional, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import alive

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")
WAY_BACK = "way_back.json"
MADE = "made.json"
CONTACT = "contact"


def bases() -> List[str]:
    """Places for state, best first."""
    found: List[str] = []
    state_home = os.environ.get("XDG_STATE_HOME", "")
    if state_home.startswith("/"):
        found.append(state_home + "/specdoctor")
    home = os.path.expanduser("~")
    if home.startswith("/"):
        found.append(home + "/.local/state/specdoctor")
    return [*found, "/var/tmp/specdoctor-%d" % os.getuid(), "/dev/shm/specdoctor-%d" % os.getuid()]


def checked_name(name: str) -> str:
    """A run or action id that is safe as a file name. Raises Refusal."""
    if not NAME.match(name):
        raise Refusal("bad-name", "%r cannot be the name of a run or an action" % name)
    return name


def _is_private(path: str) -> bool:
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077


def find_run(run: str) -> Optional[str]:
    """The folder of a run that has one; a folder that others could write to is no folder of ours."""
    for base in bases():
        folder = base + "/" + checked_name(run)
        if _is_private(folder):
            return folder
    return None


def other_runs(run: str) -> List[Tuple[str, str]]:
    """Name and folder of every other run of this user that has left something here."""
    found = []
    for base in bases():
        names = os.listdir(base) if os.path.isdir(base) else []
        found += [(name, base + "/" + name) for name in sorted(names) if name != run and _is_private(base + "/" + name)]
    return found


def _make_base(base: str) -> Optional[List[str]]:
    """Create a base and what leads to it; the folders that were made, None if it cannot be used."""
    missing: List[str] = []
    place = base
    while place != "/" and not os.path.isdir(place):
        missing.append(place)
        place = os.path.dirname(place)
    try:
        for folder in reversed(missing):
            os.mkdir(folder, 0o700)
    except OSError:
        return None
    return missing if os.access(base, os.W_OK | os.X_OK) and os.lstat(base).st_uid == os.geteuid() else None


def make_run(run: str) -> str:
    """The folder of a run, created where needed (0700). Raises Refusal when no place can be written."""
    found = find_run(run)
    if found:
        return found
    for base in bases():
        made = _make_base(base)
        if made is None:
            continue
        folder = base + "/" + checked_name(run)
        try:
            os.mkdir(folder, 0o700)
            write_json(folder + "/" + MADE, made)
        except OSError:
            continue
        return folder
    raise Refusal("no-place", "no folder for the way back can be made in any of: " + ", ".join(bases()))


def write_json(path: str, value: Any) -> None:
    write_whole(path, json.dumps(value, indent=1).encode("ascii"))


def write_whole(path: str, raw: bytes) -> None:
    """Replace a private file at once, and wait until it is on disk."""
    draft = path + ".new"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(raw)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(draft, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_json(path: str) -> Optional[Any]:
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read().decode("ascii"))
    except (OSError, ValueError):
        return None


def action_path(folder: str, action: str) -> str:
    return "%s/action-%s.json" % (folder, checked_name(action))


def read_actions(folder: str) -> List[Dict[str, Any]]:
    """The states of all actions of a run, oldest first."""
    names = [name for name in os.listdir(folder) if name.startswith("action-") and name.endswith(".json")]
    states = [read_json(folder + "/" + name) for name in names]
    return sorted((state for state in states if state), key=lambda state: float(state["begun_at"]))


def under_way(state: Dict[str, Any]) -> bool:
    """Whether an action has no end yet and its worker lives."""
    worker = state["worker"]
    return state["outcome"] is None and bool(worker) and alive(int(worker["pid"]), int(worker["start_ticks"]))


def take_lock(folder: str, port: int) -> Tuple[Optional[int], str]:
    """The lock of a server by its port, shared by all runs of this user: (descriptor, "") or (None, who has it)."""
    path = "%s/port-%d.lock" % (os.path.dirname(folder), port)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 4096).decode("utf-8", "replace")
            os.close(descriptor)
            return None, holder
        if os.path.exists(path) and os.stat(path).st_ino == os.fstat(descriptor).st_ino:
            return descriptor, ""
        os.close(descriptor)


def sign_lock(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)


def drop_lock(folder: str, port: int, descriptor: int) -> None:
    """Remove the lock's file while it is held, then let go."""
    path = "%s/port-%d.lock" % (os.path.dirname(folder), port)
    if os.path.exists(path):
        os.unlink(path)
    os.close(descriptor)


def remove_run(folder: str) -> List[str]:
    """Remove the folder of a run, and the folders above it that were made for it, once empty."""
    made = read_json(folder + "/" + MADE) or []
    removed = [folder + "/" + name for name in sorted(os.listdir(folder))]
    for path in removed:
        os.unlink(path)
    os.rmdir(folder)
    removed.append(folder)
    for place in made:
        if not os.path.isdir(place) or os.listdir(place):
            break
        os.rmdir(place)
        removed.append(place)
    return removed


def touch_contact(folder: str) -> None:
    """Note that whoever steers this run is still there."""
    with open(folder + "/" + CONTACT, "a"):
        os.utime(folder + "/" + CONTACT, None)
