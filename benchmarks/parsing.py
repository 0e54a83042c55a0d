"""Reading three fields of a long log: our columns against `grep -oE` in two locales; a first verdict on all of it."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import Row, judged, quick, skipped
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_series import DecodeSeries, blocks, decode_series

PATTERN = r"accept len: [0-9.]+|accept rate: [0-9.]+|gen throughput \(token/s\): [0-9.]+"
READ_BYTES = 16 << 20
WHOLE_BYTES = 20_000_000
REPEATS = 3
FIRST_S = 3.0
MOST_MB = 300


@dataclass(frozen=True)
class Timed:
    """Least CPU and wall time of some runs, in seconds, and how many values were found."""

    cpu_s: float
    wall_s: float
    values: int


def drawn_block(lines: int = 40_000) -> str:
    """Decode lines as a server writes them, with prefill and access lines between; accept rate agrees with length."""
    source = random.Random(1)
    found = []
    for index in range(lines):
        stamp = f"[2026-11-29 {18 + index // 36000 % 6:02d}:{index // 600 % 60:02d}:{index // 10 % 60:02d}] "
        length = source.uniform(1.0, 4.0)
        found.append(
            f"{stamp}Decode batch, #running-req: {source.randint(1, 32)}, #token: {source.randint(100, 9999)}, "
            f"token usage: 0.{source.randint(0, 99):02d}, accept len: {length:.2f}, "
            f"accept rate: {(length - 1) / 3:.2f}, "
            f"cuda graph: True, gen throughput (token/s): {source.uniform(300, 1200):.2f}, #queue-req: 0\n"
        )
        if index % 8 == 0:
            port, new = source.randint(30000, 60000), source.randint(2, 200)
            found.append(f'{stamp}INFO:     127.0.0.1:{port} - "POST /generate HTTP/1.1" 200 OK\n')
            found.append(
                f"{stamp}Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: 113, token usage: 0.00, "
                "#running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 9\n"
            )
    return "".join(found)


def pieces(path: Path) -> Iterator[bytes]:
    """The file in pieces that end with a line."""
    rest = b""
    with path.open("rb") as stream:
        while read := stream.read(READ_BYTES):
            end = read.rfind(b"\n") + 1
            yield from blocks(rest + read[:end])
            rest = read[end:]
    if rest:
        yield rest


def ours(path: Path) -> Timed:
    best: list[tuple[float, float]] = []
    found = DecodeSeries()
    for _ in range(REPEATS):
        cpu, wall = time.process_time(), time.monotonic()
        found = decode_series(pieces(path))
        best.append((time.process_time() - cpu, time.monotonic() - wall))
    return Timed(min(c for c, _ in best), min(w for _, w in best), 3 * len(found.accept_length))


def grep(path: Path, locale: str) -> Timed:
    """`grep -oE` of the same three fields of the same file."""
    best: list[tuple[float, float]] = []
    count = 0
    for _ in range(REPEATS):
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        # Into a pipe that is read: with /dev/null as its output grep stops at the first match.
        argv = ["grep", "-oE", PATTERN, str(path)]
        with subprocess.Popen(argv, env={**os.environ, "LC_ALL": locale}, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            count = 0
            while read := running.stdout.read(1 << 20):
                count += read.count(b"\n")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best.append((cpu, time.monotonic() - wall))
    return Timed(min(c for c, _ in best), min(w for _, w in best), count)


def verdict(path: Path) -> Timed:
    """The least of some whole runs of `specdoctor triage`, the start of Python included; `values`: MB at most."""
    best: list[tuple[float, float, int]] = []
    for _ in range(REPEATS):
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "specdoctor", "triage", str(path)], stdout=subprocess.DEVNULL
        ) as running:
            _, _, used = os.wait4(running.pid, 0)
            running.returncode = 0
        best.append((time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss))
    wall, cpu, kilobytes = min(best)
    return Timed(cpu, wall, kilobytes // 1000)


def profile_of(block: str) -> str:
    """Where our time goes, for a goal that was missed."""
    profile = cProfile.Profile()
    profile.runcall(decode_series, list(blocks(block.encode())))
    out = io.StringIO()
    pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(5)
    kept = [line.strip() for line in out.getvalue().splitlines() if line.strip()[:1].isdigit()][1:]
    return "parsing: missed; own time by function: " + " | ".join(kept)


def profile_of_triage(path: Path) -> str:
    """Where the time of a first verdict goes that came too late."""
    with tempfile.NamedTemporaryFile() as kept:
        words = [sys.executable, "-m", "cProfile", "-o", kept.name, "-m", "specdoctor", "triage", str(path)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
        stats = pstats.Stats(kept.name)
    timed = sorted(((entry[3], place) for place, entry in stats.stats.items()), reverse=True)  # type: ignore[attr-defined]
    parts = ("readers", "engines", "app", "checks", "cli/long_logs.py", "cli/given_files.py")
    ours = [
        f"{Path(file).name}:{name} {spent_s:.2f} s"
        for spent_s, (file, _, name) in timed
        if any(f"specdoctor/{part}" in file for part in parts)
    ]
    return "triage: missed; time by function, what it calls included: " + " | ".join(ours[:12])


def rows() -> Iterator[Row]:
    size_mb = 40 if quick() else 200
    what = f"three fields of a {size_mb} MB log"
    if shutil.which("grep") is None:
        yield skipped(what, "there is no grep here")
        return
    block = drawn_block()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        with path.open("w") as stream:
            for _ in range(1 + (size_mb * 1_000_000 - 1) // len(block)):
                stream.write(block)
        size = path.stat().st_size / 1e6
        own, theirs, unicode = ours(path), grep(path, "C"), grep(path, "C.UTF-8")
        first = verdict(path)
        slow = () if first.wall_s <= FIRST_S else (profile_of_triage(path),)
        whole = path.read_bytes()[:WHOLE_BYTES].decode()
    ratio = theirs.cpu_s / own.cpu_s
    note = (
        f"parsing: MB per second of CPU, the least of {REPEATS} runs each; {own.values} values, grep {theirs.values}."
    )
    same = own.values == theirs.values
    notes = (note,) if same and ratio >= 0.5 else (note, "parsing: missed; see the two lines below it for the shares")
    yield Row(
        what,
        f"{size / own.cpu_s:.0f} MB/s",
        f"{size / theirs.cpu_s:.0f} MB/s (grep -oE)",
        f"{ratio:.2f}",
        ">= 0.50",
        judged(same and ratio >= 0.5),
        notes,
    )
    yield Row(
        "  the same by the clock",
        f"{size / own.wall_s:.0f} MB/s",
        f"{size / theirs.wall_s:.0f} MB/s",
        f"{theirs.wall_s / own.wall_s:.2f}",
    )
    yield Row(
        "  the same against grep -oE in C.UTF-8",
        f"{size / own.cpu_s:.0f} MB/s",
        f"{size / unicode.cpu_s:.0f} MB/s",
        f"{unicode.cpu_s / own.cpu_s:.2f}",
    )
    yield Row(
        f"triage of that log: first verdict (at most {FIRST_S:g} s)",
        f"{first.wall_s:.1f} s",
        f"{first.cpu_s:.1f} s of CPU",
        goal=f"<= {FIRST_S:g} s",
        verdict=judged(first.wall_s <= FIRST_S),
        notes=slow,
    )
    yield Row(
        "triage of that log: most memory",
        f"{first.values} MB",
        goal=f"< {MOST_MB} MB",
        verdict=judged(first.values < MOST_MB),
    )
    began = time.process_time()
    read_log(whole, where="server.log")
    yield Row("  everything that a log tells", f"{len(whole) / 1e6 / (time.process_time() - began):.0f} MB/s")
