"""Orders under a guard with a short grace time, and looking at what it did."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.remote.orders import (
    argv_of,
    call,
    order,
    run_folder,
)
from tests.remote.workplace import FakeServer, Workplace, is_alive, wait_for

GRACE_S = 0.6


def begin(place: Workplace, server: FakeServer, action: str = "a1", **changes: Any) -> dict[str, Any]:
    return call(place, cmd="begin", order=order(server.ref, action, **changes), grace_s=GRACE_S)


@contextmanager
def steered(place: Workplace, server: FakeServer, action: str = "a1", **changes: Any) -> Iterator[None]:
    """A launch is begun, and somebody is in touch until the end of the block; then nobody is."""
    ended_by = threading.Event()

    def stay() -> None:
        while not ended_by.wait(GRACE_S / 8):
            with suppress(OSError):
                os.utime(run_folder(place) / "contact")

    here = threading.Thread(target=stay)
    here.start()
    try:
        begin(place, server, action, **changes)
        yield
    finally:
        ended_by.set()
        here.join()


def story(place: Workplace) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_folder(place) / "guard.json").read_text())
    return found


def after_the_guard(place: Workplace, limit_s: float = 30.0) -> dict[str, Any]:
    """The guard's story once it has come to an end and is gone."""
    wait_for(lambda: story(place)["result"] and not is_alive(story(place)["guard"]["pid"]), limit_s)
    return story(place)


def ready_count(server: FakeServer) -> int:
    return server.log.read_text().count("ready to roll")


def the_original(place: Workplace, server: FakeServer) -> int:
    """The process that now is the server, of which there is exactly one, with the original's words."""
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and in_place(each, place)]
    servers = [pid for pid in pids if "sglang.launch_server" in argv_of(pid)]
    assert [argv_of(pid) for pid in servers] == [server.argv]
    return servers[0]


def in_place(entry: Path, place: Workplace) -> bool:
    try:
        return (entry / "cwd").readlink() == place.root
    except OSError:
        return False


def shared_leases(place: Workplace, port: int) -> list[Path]:
    return list(place.leases.glob(f"specdoctor-port-{port}-*"))
