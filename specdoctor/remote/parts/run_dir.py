"""The private folder of a run on the host: way back, state of each action, logs of test launches, and locks.

Files are written whole or not at all, and are on disk before the step that they make reversible.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import alive
from specdoctor.remote.parts.records import (
    is_private,
    names_in,
    read_json,
    remove_spares,
    touch_record,
    touched_at,
    write_json,
)

NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,80}$")
WAY_BACK = "way_back.json"
MADE = "made.json"
CONTACT = "contact"
END_TOLD = "ended.json"
MAKE_ATTEMPTS = 5
REMOVE_ATTEMPTS = 20
LOCK_WAIT_S = 5.0


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


def find_run(run: str) -> Optional[str]:
    """The folder of a run that has one; a folder that others could write to is no folder of ours."""
    for base in bases():
        folder = base + "/" + checked_name(run)
        if is_private(folder):
            return folder
    return None


def other_runs(run: str) -> List[Tuple[str, str]]:
    """Name and folder of every other run of this user that has left something here."""
    found = []
    for base in bases():
        names = os.listdir(base) if os.path.isdir(base) else []
        found += [(name, base + "/" + name) for name in sorted(names) if name != run and is_private(base + "/" + name)]
    return found


def make_base(base: str) -> bool:
    """Create a base and what leads to it; whether it can be used.

    The missing folders are made under another name and appear at once, with a note of what was made: neither a second
    run that begins at this moment nor a kill leaves a folder that nobody knows to be ours.
    """
    if not os.path.isdir(base):
        top, below = base, ""
        while not os.path.isdir(os.path.dirname(top)):
            top, below = os.path.dirname(top), "/" + os.path.basename(top) + below
        made = [base]
        while made[-1] != top:
            made.append(os.path.dirname(made[-1]))
        try:
            draft = tempfile.mkdtemp(prefix=".specdoctor-", dir=os.path.dirname(top))
            os.makedirs(draft + below, 0o700, exist_ok=True)
            write_json(draft + below + "/" + MADE, made)
            with contextlib.suppress(OSError):
                os.rename(draft, top)
            shutil.rmtree(draft, ignore_errors=True)
        except OSError:
            return False
    if not os.path.isdir(base):
        return True  # somebody was quicker with a part of it: try again
    return os.access(base, os.W_OK | os.X_OK) and os.lstat(base).st_uid == os.geteuid()


def make_run(run: str) -> str:
    """The folder of a run, created where needed (0700). Raises Refusal when no place can be written."""
    for base in bases():
        for _ in range(MAKE_ATTEMPTS):  # the end of another run may remove the base in between
            found = find_run(run)
            if found:
                return found
            with contextlib.suppress(OSError), _alone_at_home():
                if not make_base(base):
                    break
                os.mkdir(base + "/" + checked_name(run), 0o700)
    found = find_run(run)
    if found:
        return found
    raise Refusal("no-place", "no folder for the way back can be made in any of: " + ", ".join(bases()))


@contextlib.contextmanager
def alone_in(folder: str) -> Iterator[None]:
    """Hold a folder against others that look, then act. Raises OSError when it is gone."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _alone_at_home() -> Iterator[None]:
    """As far as can be had, hold all places of this user: whoever keeps them for long is not waited for."""
    home = os.path.expanduser("~")
    descriptor = os.open(home if os.path.isdir(home) else "/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + LOCK_WAIT_S
        while not _locked(descriptor) and time.monotonic() < end:
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)  # where there are no such locks, go on without
    return True


def action_path(folder: str, action: str) -> str:
    return "%s/action-%s.json" % (folder, checked_name(action))


def read_actions(folder: str) -> List[Dict[str, Any]]:
    """The states of all actions of a run, oldest first."""
    names = [name for name in names_in(folder) if name.startswith("action-") and name.endswith(".json")]
    states = [read_json(folder + "/" + name) for name in names]
    return sorted((state for state in states if state), key=lambda state: float(state["begun_at"]))


def under_way(state: Dict[str, Any]) -> bool:
    """Whether an action has no end yet and its worker lives."""
    worker = state["worker"]
    return state["outcome"] is None and bool(worker) and alive(int(worker["pid"]), int(worker["start_ticks"]))


def take_lock(folder: str, port: int) -> Tuple[Optional[int], str]:
    """The lock of a server by its port, shared by all runs of this user: (descriptor, "") or (None, who has it).

    Where no file can be made for it, the folder that would hold it stands in, and whoever makes the file looks at both.
    """
    path = _lock_path(folder, port)
    while True:
        descriptor, stands_in = _lock_file(path)
        if not _gained(descriptor, fcntl.LOCK_EX) or not (stands_in or _nobody_stands_in(path)):
            holder = "" if stands_in else os.read(descriptor, 4096).decode("utf-8", "replace")
            os.close(descriptor)
            return None, holder
        if stands_in or (os.path.exists(path) and os.stat(path).st_ino == os.fstat(descriptor).st_ino):
            return descriptor, ""
        os.close(descriptor)


def _lock_path(folder: str, port: int) -> str:
    return "%s/port-%d.lock" % (os.path.dirname(folder), port)


def _lock_file(path: str) -> Tuple[int, bool]:
    """The lock's file, opened; and whether a folder stands in for it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600), False
    except OSError:
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY), False
    return os.open(_nearest(path), os.O_RDONLY | os.O_DIRECTORY), True


def _nearest(path: str) -> str:
    """The folder of a path, or of those above it the first that is there."""
    place = os.path.dirname(path)
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    return place


def _gained(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _nobody_stands_in(path: str) -> bool:
    descriptor = os.open(_nearest(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        return _gained(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def sign_lock(descriptor: int, text: str) -> None:
    """Say who has it, where that can be written: it holds without."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("utf-8", "replace"), 0)


def drop_lock(folder: str, port: int, descriptor: int) -> None:
    """Remove the lock's file while it is held, then let go."""
    with contextlib.suppress(OSError):
        os.unlink(_lock_path(folder, port))
    os.close(descriptor)


def remove_run(folder: str) -> List[str]:
    """Remove the folder of a run, and the folders above it that were made for it, once empty."""
    removed: List[str] = []
    for attempt in range(REMOVE_ATTEMPTS):  # a command whose connection was lost may still write here
        for name in sorted(os.listdir(folder)):
            path = folder + "/" + name
            with contextlib.suppress(FileNotFoundError):
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)  # a copy of links: what they lead to stays
                else:
                    os.unlink(path)
                removed.append(path)
        try:
            os.rmdir(folder)
            break
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt + 1 == REMOVE_ATTEMPTS:
                raise
    removed += remove_spares(folder)
    return [*dict.fromkeys(removed), folder, *_remove_base(os.path.dirname(folder))]


def _remove_base(base: str) -> List[str]:
    """Remove an empty base and what was made to reach it."""
    removed: List[str] = []
    with _alone_at_home():
        made = read_json(base + "/" + MADE)
        if made is None or os.listdir(base) != [MADE]:
            return []
        os.unlink(base + "/" + MADE)
        with contextlib.suppress(OSError):  # the first that is not empty, and all above it, stay
            for place in made:
                os.rmdir(place)
                removed.append(place)
    return removed


def touch_contact(folder: str) -> None:
    """Note that whoever steers this run is still there."""
    touch_record(folder + "/" + CONTACT)


def contact_at(folder: str) -> float:
    """When whoever steers this run was last there; 0 for never."""
    return touched_at(folder + "/" + CONTACT)
