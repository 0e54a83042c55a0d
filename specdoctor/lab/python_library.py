"""The standard library of the practice host's Python: the real one, linked, with one file of its own.

A process list that holds only the host's processes must show each of them from its first moment: a program that forks
and looks its child up under HOST_PROC at once has to find it. So the library's `encodings`, which every Python imports
first whatever its options, lets the interpreter show itself and what it forks; and it counts the world's CPUs.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[2]

_EARLY = '''"""Shows this process, and what it forks, under HOST_PROC; counts the CPUs of the practice machine."""

import posix
import sys

STATE = {state!r}
ROOT = {root!r}
CPUS = {cpus}

_fork, _get, _set = posix.fork, posix.sched_getaffinity, posix.sched_setaffinity


def _put(path, data):
    draft = path + "." + str(posix.getpid())
    descriptor = posix.open(draft, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o644)
    posix.write(descriptor, data)
    posix.close(descriptor)
    try:
        posix.link(draft, path)
    finally:
        posix.unlink(draft)


def _start_ticks(pid):
    descriptor = posix.open("/proc/%d/stat" % pid, posix.O_RDONLY)
    text = posix.read(descriptor, 4096)
    posix.close(descriptor)
    return int(text[text.rindex(b")") + 2 :].split()[19])


def show(pid):
    """Unless it is shown already: whoever gives it a view of its own may be at work at this moment."""
    try:
        record = '{{"pid": %d, "ticks": %d, "title": "", "aged_s": 0.0}}' % (pid, _start_ticks(pid))
        posix.symlink("/proc/%d" % pid, "%s/proc/%d" % (STATE, pid))
        _put("%s/run/%d.json" % (STATE, pid), record.encode())
    except OSError:
        pass


def fork():
    pid = _fork()
    show(pid or posix.getpid())
    return pid


def _shares():
    sys.path.append(ROOT)
    try:
        from specdoctor.lab import cpu_shares
    finally:
        sys.path.remove(ROOT)
    return cpu_shares


def sched_getaffinity(pid):
    shares = _shares()
    return shares.world_cpus(_get(pid), world_count=CPUS, available=shares.machine_cpus())


def sched_setaffinity(pid, mask):
    shares = _shares()
    _set(pid, shares.real_cpus(mask, world_count=CPUS, available=shares.machine_cpus()))


def cpu_count():
    return CPUS


posix.fork, posix.cpu_count = fork, cpu_count
posix.sched_getaffinity, posix.sched_setaffinity = sched_getaffinity, sched_setaffinity
show(posix.getpid())
'''


def build_library(state: Path, *, cpus: int) -> Path:
    """Link the running interpreter's library under `state`; returns the `home` to name in pyvenv.cfg."""
    real = Path(sysconfig.get_path("stdlib"))
    own = state / "base" / "lib" / real.name
    shutil.rmtree(state / "base", ignore_errors=True)
    own.mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name not in ("encodings", "__pycache__", "site-packages"):
            (own / entry.name).symlink_to(entry)
    (own / "encodings").mkdir()
    text = (real / "encodings" / "__init__.py").read_text(encoding="utf-8")
    more = f"__path__.append({str(real / 'encodings')!r})\n"
    (own / "encodings" / "__init__.py").write_text(more + text + "\nimport practice_early\n", encoding="utf-8")
    early = _EARLY.format(state=str(state), root=str(PACKAGE_ROOT), cpus=cpus)
    (own / "practice_early.py").write_text(early, encoding="utf-8")
    home = state / "base" / "bin"
    home.mkdir()
    (home / "python3").symlink_to(Path(sys.executable).resolve())
    return home
