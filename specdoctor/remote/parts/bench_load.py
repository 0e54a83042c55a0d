"""Load from the host itself: warm up until it is warm, then measure each request; then the user's own benchmark.

One thread looks after all requests. Every time is the monotonic clock's, so a clock that is set meanwhile moves no
figure; how far the wall clock was moved is told beside them.
"""

import heapq
import os
import random
import selectors
import signal
import statistics
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from specdoctor.remote.parts.commands import query_gpus
from specdoctor.remote.parts.local_http import get
from specdoctor.remote.parts.one_request import Request
from specdoctor.remote.parts.procfs import alive
from specdoctor.remote.parts.proved_server import ProvedServer
from specdoctor.remote.parts.redaction import mask_text
from specdoctor.remote.parts.server_logs import log_growth, log_size

BEAT_S = 0.25
LOG_LIMIT = 8 << 20
OWN_OUTPUT_LIMIT = 1 << 18
BACK_OFF_S = 0.5
LOOK_AFTER_S = 1.5
MOST_OPEN = 1000
FRUITLESS = 8
DRIFT = 0.05
REFUSED_EXTRA = ("http 400", "http 422")
SCRAPED = ("spec", "draft", "generation_tokens_total", "num_requests_total", "request_success_total", "running")
SCRAPE_LIMIT = 1 << 17
Tell = Callable[[str, int, int, float, float], None]


class Stage:
    """The requests of one stage: when each is due, which are on their way, and what became of the others."""

    def __init__(self, total: int, due: List[float], closed: bool) -> None:
        self.total = total
        self.due = due
        self.closed = closed
        self.begun = time.monotonic()
        self.tokens = 0
        self.sent = 0
        self.late_s = 0.0
        self.fruitless = 0
        self.open: Dict[Request, None] = {}
        self.records: List[Dict[str, Any]] = []

    @property
    def left(self) -> bool:
        return bool(self.open) or (bool(self.due) and self.sent < self.total)


def arrivals(rate_per_s: float, total: int, begin: float, seed: int) -> List[float]:
    """When requests come in that nobody holds back: a Poisson process of `rate_per_s`, the same for the same seed."""
    source, at, found = random.Random(seed), begin, []
    for _ in range(total):
        found.append(at)
        at += source.expovariate(rate_per_s)
    return found


def spec_metrics(server: ProvedServer) -> Optional[str]:
    """The counters about speculation, requests and tokens; None where the server shows no metrics."""
    reply = get(server.endpoint, "/metrics")
    if reply["status"] != 200:
        return None
    lines = [line for line in str(reply["body"]).splitlines() if line[:1] not in ("", "#")]
    return "\n".join(line for line in lines if any(word in line for word in SCRAPED))[:SCRAPE_LIMIT]


def step_of(record: Dict[str, Any]) -> Optional[float]:
    """Seconds per verify step, or per token where none is counted; None where it was too short to tell."""
    count = record.get("verify_ct") or (record.get("completion_tokens") or 0) - (record["tokens_first_chunk"] or 1)
    if not record["ok"] or record["chunks"] < 2 or count <= 0:
        return None
    return float((record["t_last"] - record["t_first"]) / count)


class Bench:
    """One plan being carried out against one proved server.

    `beat` is told all the time: stage, done, total, seconds of the stage, and tokens of the requests that ended well.
    """

    def __init__(self, plan: Dict[str, Any], server: ProvedServer, extra: Dict[str, Any], beat: Tell) -> None:
        self.beat = beat
        self.plan = plan
        self.server = server
        self.extra = extra
        self.reason: Optional[str] = None
        self.late_s = 0.0

    def stop(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason

    def stage(self, stage: str, total: int, first: int = 0) -> List[Dict[str, Any]]:
        """Send `total` requests by the plan; their records in the order they were sent. Indexes count from `first`."""
        now, rate = time.monotonic(), self.plan.get("rate_per_s") if stage == "measure" else None
        clients = [now] * min(int(self.plan["concurrency"]), total)
        due = arrivals(float(rate), total, now, int(self.plan.get("seed") or 0)) if rate else clients
        run = Stage(total, due, closed=not rate)
        told_at = now - BEAT_S
        with selectors.DefaultSelector() as waiting:
            while run.left and self.reason is None:
                self._send_due(run, stage, first, waiting)
                now = time.monotonic()
                if now - told_at >= BEAT_S:
                    self._tell(stage, run)
                    told_at = now
                for key, _ in waiting.select(self._pause_s(run, now)):
                    self._step(run, key.data, waiting)
                self._give_up_overdue(run, waiting)
            for request in list(run.open):
                request.give_up(stopped=True)
                self._finish(run, request, waiting)
        self._tell(stage, run)
        self.late_s = run.late_s
        return sorted(run.records, key=lambda record: float(record["t_send"]))

    def _tell(self, stage: str, run: Stage) -> None:
        self.beat(stage, len(run.records), run.total, time.monotonic() - run.begun, float(run.tokens))

    def _pause_s(self, run: Stage, now: float) -> float:
        next_due = run.due[0] if run.due and run.sent < run.total and len(run.open) < MOST_OPEN else now + BEAT_S
        oldest = next(iter(run.open)).deadline if run.open else now + BEAT_S
        return max(0.0, min(next_due, oldest, now + BEAT_S) - now)

    def _send_due(self, run: Stage, stage: str, first: int, waiting: selectors.BaseSelector) -> None:
        while run.due and run.sent < run.total and len(run.open) < MOST_OPEN and self.reason is None:
            now = time.monotonic()
            if run.due[0] > now:
                return
            run.late_s = max(run.late_s, now - heapq.heappop(run.due))
            prompt, name = self._prompt(stage, first + run.sent)
            run.sent += 1
            request = Request(self.server.endpoint, self.plan, prompt, name, self.extra)
            run.open[request] = None
            if not request.exchange.done:
                waiting.register(request.exchange.sock, request.exchange.events, request)
            self._after_step(run, request, request.exchange.events, waiting)

    def _prompt(self, stage: str, index: int) -> Tuple[Dict[str, Any], str]:
        prompts = self.plan["prompt_set"]["prompts"]
        prompt = prompts[index % len(prompts)]
        if stage == "warm-up":
            # From the end of the set, and with another beginning: a warm-up must not fill the prefix cache.
            prompt = dict(prompts[-1 - index % len(prompts)])
            prompt["text"] = "%d. %s" % (index, prompt["text"])
        return prompt, "%s-%s-%d" % (self.plan["action"], "w" if stage == "warm-up" else "r", index)

    def _step(self, run: Stage, request: Request, waiting: selectors.BaseSelector) -> None:
        before, sock = request.exchange.events, request.exchange.sock
        request.step(time.monotonic())
        if request.exchange.sock is not sock and not request.exchange.done:  # wrapped for TLS
            waiting.unregister(sock)
            waiting.register(request.exchange.sock, request.exchange.events, request)
        self._after_step(run, request, before, waiting)

    def _after_step(self, run: Stage, request: Request, before: int, waiting: selectors.BaseSelector) -> None:
        if request.exchange.done:
            self._finish(run, request, waiting)
        elif request.exchange.events != before:
            waiting.modify(request.exchange.sock, request.exchange.events, request)

    def _give_up_overdue(self, run: Stage, waiting: selectors.BaseSelector) -> None:
        now = time.monotonic()
        while run.open:
            request = next(iter(run.open))  # all have the same time, so the first one sent is due first
            if request.deadline > now:
                return
            request.give_up(stopped=False)
            self._finish(run, request, waiting)

    def _finish(self, run: Stage, request: Request, waiting: selectors.BaseSelector) -> None:
        for key in [key for key in waiting.get_map().values() if key.data is request]:
            waiting.unregister(key.fileobj)
        del run.open[request]
        record = request.record()
        run.records.append(record)
        run.tokens += int(record.get("completion_tokens") or 0) if record["ok"] else 0
        if run.closed:  # the client sends its next one, a while later where it was refused
            at_once = record["ok"] or str(record["error"]).startswith("timeout")
            heapq.heappush(run.due, time.monotonic() + (0.0 if at_once else BACK_OFF_S))
        self._judge(run, record)

    def _judge(self, run: Stage, record: Dict[str, Any]) -> None:
        """Stop where going on can only fail: the process is gone, or nothing succeeds any more."""
        run.fruitless = 0 if record["ok"] else run.fruitless + 1
        if record["ok"] or self.reason is not None:
            return
        if not alive(self.server.pid, self.server.start_ticks):
            self.stop("the server process %d ended during the bench" % self.server.pid)
        elif run.fruitless >= max(FRUITLESS, 2 * int(self.plan["concurrency"])):
            self.stop("%d requests in a row failed, the last one with %s" % (run.fruitless, record["error"]))

    def settle_extra(self) -> None:
        """Drop the optional fields of the request when this version refuses them."""
        if not self.extra:
            return
        whole, self.plan = self.plan, dict(self.plan, max_new_tokens=1, concurrency=1)
        record = (self.stage("first request", 1) or [{"ok": True}])[0]
        self.plan = whole
        if not record["ok"] and str(record["error"]).startswith(REFUSED_EXTRA):
            self.extra = {}

    def warm_up(self) -> Dict[str, Any]:
        """Requests that are not measured, until the last round was as fast as the one before it.

        At least `warmup` of them, then rounds of as many as there are clients up to `warmup_most` in all. The drift is
        the relative change of the median step between the last two rounds, None where it cannot be told.
        """
        least, most = int(self.plan["warmup"]), int(self.plan.get("warmup_most") or 0)
        size = max(1, min(int(self.plan["concurrency"]), max(least // 2, 1)))
        records = self.stage("warm-up", least) if least else []
        drift = drift_of(records, size)
        while self.reason is None and len(records) < most and any(each["ok"] for each in records):
            if drift is not None and abs(drift) <= DRIFT:
                break
            records += self.stage("warm-up", min(size, most - len(records)), len(records))
            drift = drift_of(records, size)
        failed = [each for each in records if not each["ok"]]
        if records and len(failed) == len(records) and self.reason is None:
            self.stop("all %d warm-up requests failed: %s" % (len(failed), failed[0]["error"]))
            return {"warmed_up": False, "warmup_failed": len(failed), "warmup_requests": len(records)}
        told: Dict[str, Any] = {"warmed_up": True, "warmup_failed": len(failed), "warmup_requests": len(records)}
        return dict(told, warmup_drift=drift)

    def own_command(self, limit_s: float) -> Dict[str, Any]:
        """The user's own benchmark, bounded in time and output."""
        argv = list(self.plan["own_command"])
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as failure:
            return {"own_output": "%s: %s" % (argv[0], failure.strerror), "own_exit_code": 127}
        chunks: List[bytes] = []
        reader = threading.Thread(target=self._collect, args=(process, chunks), daemon=True)
        reader.start()
        deadline = time.monotonic() + limit_s
        while reader.is_alive() and time.monotonic() < deadline and self.reason is None:
            self.beat("own benchmark", 0, 1, 0.0, 0.0)
            reader.join(BEAT_S)
        if reader.is_alive():
            os.killpg(process.pid, signal.SIGKILL)
            reader.join(BEAT_S)
        text = b"".join(chunks)[-OWN_OUTPUT_LIMIT:].decode("utf-8", "replace")
        return {"own_output": mask_text(text, self.server.secrets), "own_exit_code": process.wait()}

    @staticmethod
    def _collect(process: "subprocess.Popen[bytes]", chunks: List[bytes]) -> None:
        while process.stdout is not None:
            piece = process.stdout.read1(65536)  # type: ignore[attr-defined]  # a pipe opened by Popen is buffered
            if not piece:
                return
            chunks.append(piece)


def drift_of(records: List[Dict[str, Any]], size: int) -> Optional[float]:
    """Relative change of the median step from the last round but one to the last; None with too few that can tell."""
    steps = [step for step in map(step_of, records) if step is not None]
    if len(steps) < 2 * size:
        return None
    before, after = statistics.median(steps[-2 * size : -size]), statistics.median(steps[-size:])
    return after / before - 1.0 if before > 0 else None


def under_load(begun: float) -> Optional[Dict[str, Any]]:
    """The table of GPUs while requests are served, once they have been at it for a moment."""
    time.sleep(max(begun + LOOK_AFTER_S - time.monotonic(), 0.0))
    reply = query_gpus()
    return None if reply["exit_code"] != 0 else reply


def measure(bench: Bench, params: Dict[str, Any]) -> Dict[str, Any]:
    """The BenchRecord."""
    plan = bench.plan
    record: Dict[str, Any] = {"action": plan["action"], "requests": [], "log": ""}
    bench.settle_extra()
    record.update(bench.warm_up())
    before = spec_metrics(bench.server) if bench.reason is None else None
    start, cpu = log_size(plan["log_path"]), time.process_time()
    record["started_at"], begun = time.time(), time.monotonic()
    seen: List[Any] = []
    if bench.reason is None:
        look = threading.Thread(target=lambda: seen.append(under_load(begun)), daemon=True)
        look.start()
        record["requests"] = bench.stage("measure", int(plan["requests"]))
    record["ended_at"], record["wall_s"] = time.time(), time.monotonic() - begun
    record["clock_jump_s"] = record["ended_at"] - record["started_at"] - record["wall_s"]
    record["client_cpu_s"], record["late_s"] = time.process_time() - cpu, bench.late_s
    if before is not None and bench.reason is None:
        record.update(metrics_before=before, metrics_after=spec_metrics(bench.server))
    if plan["log_path"]:
        time.sleep(float(params["log_settle_s"]))
        record["log"] = log_growth(plan["log_path"], start, LOG_LIMIT)
    if plan["own_command"] and bench.reason is None:
        record.update(bench.own_command(float(params["own_limit_s"])))
    record["stopped"] = bench.reason
    # A table that comes after this is not waited for: the thread never touches the record itself.
    return dict(record, gpus=seen[0]) if seen else record
