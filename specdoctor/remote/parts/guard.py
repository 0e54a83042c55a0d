"""The guard: puts the original back when whoever steers the run has been silent for the grace time.

It is a process of its own from before the first stop until the run is released. It needs nothing but its memory and
the run's folder, acts once, and writes what it did into that folder. A person or a supervisor who put the server back,
or started something else on its port, is left alone.
"""

import contextlib
import os
import pwd
import signal
import time
from typing import Any, Dict

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.detached import Ready, detached
from specdoctor.remote.parts.guard_life import Guard
from specdoctor.remote.parts.guard_story import guard_lives, guard_story, new_story
from specdoctor.remote.parts.lease import LEASE
from specdoctor.remote.parts.records import read_json
from specdoctor.remote.parts.session_end import ends_with_session

ENDED = ("restored", "nothing-to-do", "left-alone", "failed")


def post_guard(folder: str, record: Dict[str, Any], order: Dict[str, Any]) -> None:
    """See to it that a guard stands and the lease is shown. Raises Refusal when none can be started.

    One that has acted does not stand again before its story was taken note of (`guard_seen` of the order).
    """
    story = guard_story(folder)
    if story and story["acted_at"] is not None and story["acted_at"] != order.get("guard_seen"):
        what = "the guard has acted after %d s of silence" % story["quiet_s"]
        raise Refusal("guard-acted", "%s: %s" % (what, story["result"] or story["phase"]), "look at what it did first")
    if story and guard_lives(story) and story["phase"] == "watching":
        return
    ended = ends_with_session(_own_name(), _own_cgroup())
    if ended:
        why = "%s, a guard and a server started from here too; nothing is stopped" % ended
        raise Refusal("no-guard", why, "log in as a user whom it spares (KillExcludeUsers=), or restart it by hand")
    before = (story["before"] if story else []) + ([dict(story, before=[])] if story and story["acted_at"] else [])
    fresh = new_story(record, order, before)

    def work(ready: Ready) -> None:
        Guard(folder, record, fresh).run(ready)

    if not detached(work):
        raise Refusal("no-guard", "no guard could be started on the host; without one nothing is stopped")


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _own_cgroup() -> str:
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def dismiss_guard(folder: str) -> None:
    """End the guard of a run that is released. The caller holds the lock of the port, so it is not acting."""
    for named in (guard_story(folder), read_json(folder + "/" + LEASE)):
        while named and guard_lives(named):
            with contextlib.suppress(ProcessLookupError):
                os.kill(named["guard"]["pid"], signal.SIGKILL)
            time.sleep(0.02)
