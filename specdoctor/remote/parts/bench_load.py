"""Closed-loop load from the host itself: warm up, then measure each request; then the user's own benchmark command."""

import os
import signal
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from specdoctor.remote.parts.one_request import Lines, send_request
from specdoctor.remote.parts.procfs import alive
from specdoctor.remote.parts.proved_server import ProvedServer
from specdoctor.remote.parts.redaction import mask_text
from specdoctor.remote.parts.server_logs import log_growth, log_size

BEAT_S = 0.5
LOG_LIMIT = 8 << 20
OWN_OUTPUT_LIMIT = 1 << 18
BACK_OFF_S = 0.5
REFUSED_EXTRA = ("http 400", "http 422")
Tell = Callable[[str, int, int], None]


class Bench:
    """One plan being carried out against one proved server. `beat` is told stage, done and total all the time."""

    def __init__(self, plan: Dict[str, Any], server: ProvedServer, extra: Dict[str, Any], beat: Tell) -> None:
        self.beat = beat
        self.plan = plan
        self.server = server
        self.extra = extra
        self.lines = Lines()
        self.reason: Optional[str] = None
        self._lock = threading.Lock()
        self._next = 0
        self._records: List[Dict[str, Any]] = []

    def stop(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
        self.lines.close_all()

    def _take(self, total: int) -> Optional[int]:
        with self._lock:
            if self._next >= total or self.lines.stop.is_set():
                return None
            self._next += 1
            return self._next - 1

    def _client(self, stage: str, total: int) -> None:
        prompts = self.plan["prompt_set"]["prompts"]
        while True:
            index = self._take(total)
            if index is None:
                return
            prompt = prompts[index % len(prompts)]
            if stage == "warm-up":
                # From the end of the set, and with another beginning: a warm-up must not fill the prefix cache.
                prompt = dict(prompts[-1 - index % len(prompts)])
                prompt["text"] = "%d. %s" % (index, prompt["text"])
            name = "%s-%s-%d" % (self.plan["action"], "w" if stage == "warm-up" else "r", index)
            record = send_request(self.server.endpoint, self.plan, prompt, name, self.extra, self.lines)
            with self._lock:
                self._records.append(record)
            if not record["ok"]:
                self._after_failure(record)

    def _after_failure(self, record: Dict[str, Any]) -> None:
        if not alive(self.server.pid, self.server.start_ticks):
            self.stop("the server process %d ended during the bench" % self.server.pid)
        elif not str(record["error"]).startswith("timeout"):
            self.lines.stop.wait(BACK_OFF_S)

    def stage(self, stage: str, total: int) -> List[Dict[str, Any]]:
        """Send `total` requests with the plan's concurrency; their records in the order they were sent."""
        self._next, self._records = 0, []
        count = min(int(self.plan["concurrency"]), total)
        threads = [threading.Thread(target=self._client, args=(stage, total), daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        living = threads
        while living:
            self.beat(stage, len(self._records), total)
            living[0].join(BEAT_S)
            living = [thread for thread in threads if thread.is_alive()]
        self.beat(stage, len(self._records), total)
        return sorted(self._records, key=lambda record: float(record["t_send"]))

    def settle_extra(self) -> None:
        """Drop the optional fields of the request when this version refuses them."""
        if not self.extra:
            return
        prompt = dict(self.plan["prompt_set"]["prompts"][-1], text="Hello")
        record = send_request(
            self.server.endpoint, dict(self.plan, max_new_tokens=1), prompt, "x", self.extra, self.lines
        )
        if not record["ok"] and str(record["error"]).startswith(REFUSED_EXTRA):
            self.extra = {}

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
        while reader.is_alive() and time.monotonic() < deadline and not self.lines.stop.is_set():
            self.beat("own benchmark", 0, 1)
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


def measure(bench: Bench, params: Dict[str, Any]) -> Dict[str, Any]:
    """The BenchRecord."""
    plan = bench.plan
    record: Dict[str, Any] = {
        "action": plan["action"],
        "warmed_up": True,
        "warmup_failed": 0,
        "requests": [],
        "log": "",
    }
    bench.settle_extra()
    warm = bench.stage("warm-up", int(plan["warmup"]))
    record["warmup_failed"] = sum(1 for each in warm if not each["ok"])
    if warm and record["warmup_failed"] == len(warm) and bench.reason is None:
        record["warmed_up"] = False
        bench.stop("all %d warm-up requests failed: %s" % (len(warm), warm[0]["error"]))
    start, cpu = log_size(plan["log_path"]), time.process_time()
    record["started_at"] = time.time()
    if bench.reason is None:
        record["requests"] = bench.stage("measure", int(plan["requests"]))
    record["ended_at"] = time.time()
    record["client_cpu_s"] = time.process_time() - cpu
    if plan["log_path"]:
        time.sleep(float(params["log_settle_s"]))
        record["log"] = log_growth(plan["log_path"], start, LOG_LIMIT)
    if plan["own_command"] and bench.reason is None:
        record.update(bench.own_command(float(params["own_limit_s"])))
    record["stopped"] = bench.reason
    return record
