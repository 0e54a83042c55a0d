"""Client CPU per chunk and error of the token count: our load generator against sglang.bench_serving.

Both load the same null server in turns. CPU time is that of the client's process while it measures, start, warm-up and
its own statistics left out. The count is held against what the server sent.
"""

from __future__ import annotations

import cProfile
import io
import json
import math
import pstats
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peer import NotInstalled, peer_python
from benchmarks.rows import Row, judged, quick, skipped
from specdoctor.operations.programs import joined_parts

TOOLS = Path(__file__).parent / "tools"
CHUNKS = 128
CONCURRENCY = 8
STEP_MS = 2.0
RUN_LIMIT_S = 180.0
NOTE = (
    f"load: {CONCURRENCY} clients, one chunk each every {STEP_MS:g} ms; CPU of the client process in microseconds per "
    "chunk, median of runs in turns; the peer's start, warm-up and statistics are left out."
)


@dataclass(frozen=True)
class Case:
    """One kind of stream. `backend` is the peer's name for the endpoint."""

    backend: str
    per_chunk: int

    @property
    def form(self) -> str:
        return "generate" if self.backend == "sglang" else "chat"

    @property
    def what(self) -> str:
        tokens = "1 token" if self.per_chunk == 1 else f"{self.per_chunk} tokens"
        return f"CPU per chunk, /{self.form}, {tokens} a chunk"

    @property
    def tokens(self) -> int:
        return 1 + CHUNKS * self.per_chunk


@dataclass(frozen=True)
class Run:
    """CPU in microseconds per chunk, and tokens counted beyond those sent (summed over requests, without sign)."""

    cpu_us: float
    error: int


@contextmanager
def null_server(per_chunk: int) -> Iterator[tuple[int, int]]:
    """Its pid and port."""
    argv = [sys.executable, str(TOOLS / "null_server.py"), "--tokens-per-chunk", str(per_chunk)]
    server = subprocess.Popen(
        [*argv, "--step-ms", str(STEP_MS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.pid, int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(10.0)
        server.stdout.close()


def own_params(case: Case, requests: int, pid: int, port: int) -> dict[str, Any]:
    prompts = [
        {"id": f"p{i}", "category": "code", "text": f"Explain how a hash map works, part {i}."} for i in range(9)
    ]
    plan = {
        "action": "bench",
        "engine": "sglang",
        "model": "null",
        "prompt_set": {"prompts": prompts},
        "form": case.form,
        "concurrency": CONCURRENCY,
        "requests": requests,
        "warmup": 1,
        "max_new_tokens": case.tokens,
        "temperature": 0.0,
        "request_timeout_s": 60.0,
        "own_command": [],
        "log_path": None,
    }
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return {"plan": plan, "port": port, "pid": pid, "start_ticks": ticks}


def finished(argv: list[str]) -> dict[str, Any]:
    """The JSON of a client's last line. Raises RuntimeError with its last words."""
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    if ran.returncode:
        raise RuntimeError((ran.stderr.strip().splitlines() or ["it said nothing"])[-1])
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def own_run(case: Case, requests: int, program: Path) -> Run:
    with null_server(case.per_chunk) as (pid, port):
        params = json.dumps(own_params(case, requests, pid, port))
        record = finished([sys.executable, "-I", "-S", str(TOOLS / "own_client.py"), str(program), params])
    counts = [request["completion_tokens"] for request in record["requests"] if request["ok"]]
    error = sum(abs(count - case.tokens) for count in counts) + case.tokens * (requests - len(counts))
    return Run(1e6 * record["client_cpu_s"] / (requests * (CHUNKS + 1)), error)


def peer_run(case: Case, requests: int, python: Path, folder: Path) -> Run:
    with null_server(case.per_chunk) as (_, port):
        words = [str(folder), str(port), case.backend, str(requests), str(CONCURRENCY), str(case.tokens)]
        told = finished([str(python), str(TOOLS / "peer_client.py"), *words])
    error = abs(told["total_output_tokens"] - requests * case.tokens)
    return Run(1e6 * told["requests_cpu_s"] / (requests * (CHUNKS + 1)), error)


def profile_of(case: Case, program: Path) -> str:
    """Where our client's time goes, for a goal that was missed."""
    names: dict[str, Any] = {"__name__": "bench_load"}
    exec(compile(program.read_text(encoding="utf-8"), "bench_load", "exec"), names)
    with null_server(case.per_chunk) as (pid, port):
        params = own_params(case, 16, pid, port)
        endpoint = names["Endpoint"]("127.0.0.1", port, False, ())
        server = names["ProvedServer"](pid, params["start_ticks"], endpoint, [])
        bench = names["Bench"](params["plan"], server, {}, lambda stage, done, total: None)
        profile = cProfile.Profile()
        profile.runcall(bench.stage, "measure", 16)
    out = io.StringIO()
    pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(6)
    kept = [line.strip() for line in out.getvalue().splitlines() if line.strip()[:1].isdigit()][1:]
    return f"{case.what}: missed; own time by function: " + " | ".join(kept)


def rows() -> Iterator[Row]:
    repeats, requests = (1, 16) if quick() else (3, 48)
    cases = [Case("sglang", n) for n in ((1, 4, 16) if quick() else (1, 2, 4, 8, 16))]
    cases += [Case("sglang-oai-chat", n) for n in ((4,) if quick() else (1, 4, 16))]
    try:
        python: Path | None = peer_python()
    except NotInstalled as failure:
        python = None
        yield skipped("CPU per chunk beside sglang.bench_serving", str(failure))
    errors: list[tuple[int, int | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bench_load.py"
        program.write_text(joined_parts("parts.bench_load"), encoding="utf-8")
        for case in cases:
            own, peer = [], []
            for _ in range(repeats):
                own.append(own_run(case, requests, program))
                if python is not None:
                    peer.append(peer_run(case, requests, python, Path(folder)))
            errors.append((sum(run.error for run in own), sum(run.error for run in peer) if peer else None))
            yield _row(case, own, peer, program)
    ours, theirs = sum(error for error, _ in errors), [error for _, error in errors if error is not None]
    most = max(case.per_chunk for case in cases)
    yield Row(
        f"token-count error, 1 to {most} tokens a chunk",
        f"{ours} tokens",
        f"{sum(theirs)} tokens" if theirs else "",
        goal="0 tokens",
        verdict=judged(math.isclose(ours, 0)),
    )


def _row(case: Case, own: list[Run], peer: list[Run], program: Path) -> Row:
    ours = statistics.median(run.cpu_us for run in own)
    if not peer:
        return Row(case.what, f"{ours:.1f} us", notes=(NOTE,))
    theirs = statistics.median(run.cpu_us for run in peer)
    met = ours <= theirs
    notes = (NOTE,) if met else (NOTE, profile_of(case, program))
    return Row(case.what, f"{ours:.1f} us", f"{theirs:.1f} us", f"{ours / theirs:.2f}", "<= 1.00", judged(met), notes)
