"""One driver per run: a lock that the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specdoctor.core.errors import StoreError


@contextmanager
def run_lock(path: Path, *, run: str) -> Iterator[None]:
    """Hold the lock file `path` for `run`. Raises StoreError, naming the holder, while another process has it.

    A lock left by a process that was killed is simply taken: the kernel has released it, only its file remains.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _take(path)
    except BlockingIOError:
        raise _held(path, run) from None
    except OSError as error:
        raise StoreError(
            f"cannot lock run {run}: {error.strerror}",
            tried=f"lock {path}",
            next_step="check that this directory is on a local disk and can be written",
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def held(path: Path) -> bool:
    """Whether a process that lives holds the lock file `path`; nothing is taken from one that is about to begin."""
    try:
        os.kill(int(json.loads(path.read_text())["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Its number may be another process's by now: then nobody holds the lock.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _take(path: Path) -> int:
    """The locked file's descriptor; raises BlockingIOError while somebody else holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file between our open and our lock: then it guards nothing.
            if _same(handle, path):
                note = json.dumps({"pid": os.getpid(), "since": time.time()})
                os.ftruncate(handle, 0)
                os.write(handle, note.encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _held(path: Path, run: str) -> StoreError:
    try:
        note = json.loads(path.read_text())
        holder, since = f"process {note['pid']}", time.strftime("%H:%M:%S", time.localtime(note["since"]))
        text, stop = f"{holder} (since {since})", f"stop it (kill {note['pid']})"
    except (OSError, ValueError, KeyError, TypeError):
        text, stop = "another process", "stop it"
    return StoreError(
        f"run {run} is already driven by {text}",
        tried=f"lock {path}",
        next_step=f"wait for it, or {stop} and resume the run; its lock goes with it",
    )
