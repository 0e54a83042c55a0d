"""Records of a run on the host: written whole or not at all, and where they go once the run's folder takes no more.

Before the first stop a record that cannot be written ends the order. Afterwards doing goes before writing: room that
was kept for that is given up, then memory-backed places of this user are taken, then the record is done without.
"""

import contextlib
import json
import os
import stat
import zlib
from typing import Any, List, Optional, Tuple

RESERVE = "reserve"
RESERVE_BYTES = 1 << 17
ROOM = "room"
ROOM_BYTES = 1 << 15
SPARE_PLACES = ("/dev/shm", "/tmp")


def is_private(path: str) -> bool:
    """Whether this is a folder of ours that nobody else can look into."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077


def keep_room(folder: str) -> None:
    """Take room for the records to come. Raises OSError where there is none."""
    write_whole(folder + "/" + RESERVE, b"\0" * RESERVE_BYTES)


def write_json(path: str, value: Any) -> None:
    """Raises OSError where it cannot be written in its own place."""
    write_whole(path, _bytes_of(value))
    _drop_spares(path)


def note_json(path: str, value: Any) -> bool:
    """Write as well as can be, for whoever puts a server back; False where no place takes it."""
    raw = _bytes_of(value)
    try:
        write_whole(path, raw)
    except OSError:
        return _noted_elsewhere(path, raw)
    _drop_spares(path)
    return True


def _bytes_of(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode("ascii")


def _noted_elsewhere(path: str, raw: bytes) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(os.path.dirname(path) + "/" + RESERVE)
        write_whole(path, raw)
        _drop_spares(path)
        return True
    for spare in _spares(path):
        with contextlib.suppress(OSError):
            with contextlib.suppress(OSError):
                os.unlink(spare)  # older than what is to be written
            make_private(os.path.dirname(spare))
            write_whole(spare, raw)
            return True
    return False


def spare_folders(folder: str) -> List[str]:
    """Where records of a run may lie that its own folder did not take."""
    name = "specdoctor-spare-%d/%s-%08x" % (os.geteuid(), os.path.basename(folder), zlib.crc32(os.fsencode(folder)))
    return ["%s/%s" % (place, name) for place in SPARE_PLACES]


def _spares(path: str) -> List[str]:
    folder, name = os.path.split(path)
    return [spare + "/" + name for spare in spare_folders(folder)]


def _record_places(path: str) -> List[str]:
    """Where a record may lie, the newest first."""
    return [*(each for each in _spares(path) if is_private(os.path.dirname(each))), path]


def _drop_spares(path: str) -> None:
    for spare in _spares(path):
        if is_private(os.path.dirname(os.path.dirname(spare))) and os.path.lexists(spare):
            with contextlib.suppress(OSError):
                os.unlink(spare)


def drop_record(path: str) -> None:
    """Take a record away, wherever it lies."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    _drop_spares(path)


def need_room(folder: str) -> None:
    """Raises OSError where a file of ordinary size cannot be written."""
    write_whole(folder + "/" + ROOM, b"\0" * ROOM_BYTES)
    os.unlink(folder + "/" + ROOM)


def make_private(folder: str) -> None:
    """A folder below one of ours in a place that all users share. Raises OSError."""
    for each in (os.path.dirname(folder), folder):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
        if not is_private(each):
            raise OSError("%s is no private folder" % each)


def remove_spares(folder: str) -> List[str]:
    """Take away what lies in the spare places of a run; the paths."""
    removed: List[str] = []
    for spare in spare_folders(folder):
        if is_private(os.path.dirname(spare)) and is_private(spare):
            with contextlib.suppress(OSError):
                for name in sorted(os.listdir(spare)):
                    os.unlink(spare + "/" + name)
                    removed.append(spare + "/" + name)
                os.rmdir(spare)
                os.rmdir(os.path.dirname(spare))
    return removed


def write_whole(path: str, raw: bytes) -> None:
    """Replace a private file at once, and wait until it is on disk. Raises OSError; then the old one stays."""
    draft = path + ".new"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_json(path: str) -> Optional[Any]:
    """A record, the newest where it had to go elsewhere; None where there is none that can be read."""
    return next((found for found in map(_record_at, _record_places(path)) if found is not None), None)


def _record_at(path: str) -> Optional[Any]:
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read().decode("ascii"))
    except (OSError, ValueError):
        return None


def names_in(folder: str) -> List[str]:
    """The files of a run, also those in spare places; sorted."""
    found = set()
    for place in [folder, *(each for each in spare_folders(folder) if is_private(each))]:
        with contextlib.suppress(OSError):
            found |= set(os.listdir(place))
    return sorted(found)


def touch_record(path: str) -> None:
    """Set the time of a file that says nothing else. Raises FileNotFoundError where its folder is gone."""
    try:
        with open(path, "a"):
            os.utime(path, None)
    except FileNotFoundError:
        raise
    except OSError:
        for spare in _spares(path):
            with contextlib.suppress(OSError):
                make_private(os.path.dirname(spare))
                with open(spare, "a"):
                    os.utime(spare, None)
                return


def mark_of(path: str) -> Optional[Tuple[int, ...]]:
    """What changes with every replacement of a file, or of one in a folder; None where there is nothing."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


def marks_of(path: str) -> List[Optional[Tuple[int, ...]]]:
    """The marks of a record, wherever it lies."""
    return [mark_of(place) for place in _record_places(path)]


def touched_at(path: str) -> float:
    """When `touch_record` was last called for a file, by the host's clock; 0 for never."""
    times = [0.0]
    for place in _record_places(path):
        with contextlib.suppress(OSError):
            times.append(os.stat(place).st_mtime)
    return max(times)
