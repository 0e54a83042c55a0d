"""Who holds a server: one lease for each port, seen by every user of the host where a shared folder allows it.

A lease counts while its guard lives. It is no secret: a name, a run, times and the guard's process.
"""

import json
import os
import pwd
import stat
import time
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.procfs import PROC, alive
from specdoctor.remote.parts.records import read_json
from specdoctor.remote.parts.run_dir import other_runs

SHARED = ("/run/lock", "/dev/shm", "/tmp")
LEASE = "lease.json"
LEASE_LIMIT = 4096
WHO_LIMIT = 100
LATEST = 1e10


def _shared_path(place: str, port: int, uid: int) -> str:
    return "%s/specdoctor-port-%d-user-%d.lease" % (place, port, uid)


def _plain(text: Any, limit: int = WHO_LIMIT) -> str:
    """Words of another user, without anything that a terminal would act on."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in str(text))[:limit]


def write_shared_lease(lease: Dict[str, Any]) -> Optional[str]:
    """Show the lease to all users of the host; the path, None where no shared folder takes it."""
    raw = json.dumps(lease, sort_keys=True).encode("ascii")
    for place in SHARED:
        path = _shared_path(place, int(lease["port"]), os.geteuid())
        draft = "%s.%d" % (path, os.getpid())
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, 0o644)
                stream.write(raw)
            os.rename(draft, path)
        except OSError:
            if os.path.lexists(draft) and os.lstat(draft).st_uid == os.geteuid():
                os.unlink(draft)
            continue
        return path
    return None


def remove_shared_lease(run: str, port: int) -> List[str]:
    """Take away what `write_shared_lease` wrote for this run; the paths."""
    removed = []
    for place in SHARED:
        path = _shared_path(place, port, os.geteuid())
        found = _read_shared(path, os.geteuid())
        if found and found["run"] == run:
            os.unlink(path)
            removed.append(path)
    return removed


def _read_shared(path: str, uid: int) -> Optional[Dict[str, Any]]:
    """A lease that the user `uid` wrote itself; None for anything else that lies there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != uid:
            return None
        found = json.loads(os.read(descriptor, LEASE_LIMIT).decode("ascii"))
        if not 0 <= float(found["since"]) < LATEST or not 0 <= float(found["grace_s"]) < LATEST:
            return None
        return {
            "run": _plain(found["run"]),
            "port": int(found["port"]),
            "who": _plain(found["who"]),
            "user": user_name(uid),
            "since": float(found["since"]),
            "grace_s": float(found["grace_s"]),
            "guard": {"pid": int(found["guard"]["pid"]), "start_ticks": int(found["guard"]["start_ticks"])},
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(descriptor)


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "uid %d" % uid


def _held(lease: Dict[str, Any], uid: int) -> bool:
    """Whether the guard lives and is a process of the user whose lease this is."""
    guard = lease["guard"]
    try:
        owner = os.stat("%s/%d" % (PROC, guard["pid"])).st_uid
    except OSError:
        try:
            owner = os.stat("/proc/%d" % guard["pid"]).st_uid
        except OSError:
            return False
    return owner == uid and alive(guard["pid"], guard["start_ticks"])


def held_leases() -> List[Dict[str, Any]]:
    """Every lease in force that this login can see, of all users; each one once."""
    found: Dict[str, Dict[str, Any]] = {}
    for place in SHARED:
        names = os.listdir(place) if os.path.isdir(place) and os.access(place, os.R_OK) else []
        for name in sorted(names):
            if not (name.startswith("specdoctor-port-") and name.endswith(".lease")):
                continue
            path = place + "/" + name
            try:
                uid = os.lstat(path).st_uid
            except OSError:
                continue
            lease = _read_shared(path, uid)
            if lease and path == _shared_path(place, lease["port"], uid) and _held(lease, uid):
                found["%s %d %d" % (lease["run"], lease["port"], uid)] = lease
    for _, folder in other_runs(""):
        lease = read_json(folder + "/" + LEASE)
        if lease and _held(lease, os.geteuid()):
            lease["user"] = user_name(os.geteuid())
            found.setdefault("%s %d %d" % (lease["run"], lease["port"], os.geteuid()), lease)
    return list(found.values())


def lease_words(lease: Dict[str, Any]) -> str:
    since = time.strftime("%d %b %H:%M", time.localtime(lease["since"]))
    return "run %s of %s (%s on this host) since %s" % (lease["run"], lease["who"], lease["user"], since)


def refuse_if_held(run: str, port: int) -> None:
    """Raises Refusal while another run holds the server of this port."""
    for lease in held_leases():
        if lease["port"] == port and lease["run"] != run:
            raise Refusal(
                "held",
                "the server on port %d is held by specdoctor's %s" % (port, lease_words(lease)),
                "wait until that run has put its server back; specdoctor status TARGET tells how far it is",
            )
