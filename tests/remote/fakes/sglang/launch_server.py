"""A small stand-in for an engine's server: the same shape of arguments, log, children and HTTP, none of its physics.

Behaviour that tests need is asked for by flags that no engine has (--fake-...).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STEP_DRAFTS = (3, 0, 1, 2)


def log(text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    sys.stdout.write(f"[{stamp}] {text}\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options: argparse.Namespace
    count = 0
    lock = threading.Lock()

    def log_message(self, form: str, *args: object) -> None:
        log(f'INFO:     {self.client_address[0]}:{self.client_address[1]} - "{self.requestline}" {args[1]} OK')

    def answer(self, body: str, status: int = 200) -> None:
        raw = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def allowed(self) -> bool:
        key = self.options.api_key
        if not key or self.path == "/health" or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self.answer('{"error":"Unauthorized"}', 401)
        return False

    def do_GET(self) -> None:
        if not self.allowed():
            return
        known = {
            "/health": "",
            "/server_info": json.dumps({"version": "0.5.17", "api_key": self.options.api_key, "argv": sys.argv}),
            "/model_info": json.dumps({"model_path": self.options.model_path}),
            "/v1/models": json.dumps({"data": [{"id": "fake"}]}),
        }
        if self.options.enable_metrics:
            known["/metrics"] = (
                f"sglang:num_requests_total 1\nsglang:num_running_reqs 0\nsglang:generation_tokens_total {self.count}\n"
            )
        if self.path in known:
            self.answer(known[self.path])
        else:
            self.answer('{"detail":"Not Found"}', 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        with self.lock:
            Handler.count += 1
            number = Handler.count
        if self.options.fake_refuse_extra and "return_spec_tokens_details" in body:
            self.answer('{"error":"extra fields"}', 400)
        elif self.options.fake_busy_every and number % self.options.fake_busy_every == 0:
            self.answer('{"error":"The request queue is full"}', 503)
        elif self.options.fake_hang_at == number:
            self.stream([])
            time.sleep(60)
        elif self.options.fake_crash_at == number:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            self.generate(body) if self.path == "/generate" else self.chat(body)

    def stream(self, chunks: list[dict[str, object]], done: bool = False) -> None:
        if not getattr(self, "begun", False):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.begun = True
        for piece in [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"] * done:
            self.wfile.write(f"{len(piece):x}\r\n{piece}\r\n".encode())
            self.wfile.flush()
            time.sleep(self.options.fake_step_s)
        if done:
            self.wfile.write(b"0\r\n\r\n")
            self.begun = False

    def steps(self, limit: int) -> list[int]:
        """Accepted drafts of each verify step until `limit` tokens are out (the first comes from prefill)."""
        found: list[int] = []
        while 1 + sum(each + 1 for each in found) < limit:
            found.append(STEP_DRAFTS[len(found) % len(STEP_DRAFTS)])
        return found

    def generate(self, body: dict) -> None:
        limit = body["sampling_params"]["max_new_tokens"]
        log(f"Prefill batch, #new-seq: 1, #new-token: {len(body['text'])}, #cached-token: 0, #running-req: 0")
        tokens, counts = 1, {"prompt_tokens": 5, "cached_tokens": 2, "completion_tokens": 1, "finish_reason": None}
        chunks = [{"text": "w", "output_ids": [1], "meta_info": dict(counts)}]
        steps = self.steps(limit)
        for drafts in steps:
            tokens = min(limit, tokens + drafts + 1)
            meta = {**counts, "completion_tokens": tokens}
            chunks.append({"text": "w" * tokens, "output_ids": [1] * tokens, "meta_info": meta})
        last = chunks[-1]["meta_info"]
        last["finish_reason"] = {"type": "length", "length": limit}
        if steps and self.options.speculative_algorithm:
            histogram = [steps.count(each) for each in range(4)]
            last |= {"spec_verify_ct": len(steps), "spec_num_correct_drafts": sum(steps)}
            last |= {"spec_num_proposed_drafts": 3 * len(steps), "spec_correct_drafts_histogram": histogram}
        self.stream(chunks, done=True)

    def chat(self, body: dict) -> None:
        limit = body["max_tokens"]
        delta = [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
        chunks = [{"choices": delta}]
        chunks += [{"choices": [{"index": 0, "delta": {"content": "w "}, "finish_reason": None}]}] * limit
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": limit}}
        if body.get("return_spec_tokens_details"):
            steps = self.steps(limit)
            details = {"spec_verify_ct": len(steps), "spec_num_correct_drafts": sum(steps)}
            usage["sglext"] = {"spec_tokens_details": details}
        chunks.append(usage)
        self.stream(chunks, done=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--model-path", default="/models/target")
    parser.add_argument("--api-key")
    parser.add_argument("--speculative-algorithm")
    parser.add_argument("--speculative-num-steps", type=int, default=0)
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--fake-start-s", type=float, default=0.0)
    parser.add_argument("--fake-start-when", default="")
    parser.add_argument("--fake-fail")
    parser.add_argument("--fake-fail-if")
    parser.add_argument("--fake-ignore-term", action="store_true")
    parser.add_argument("--fake-busy-every", type=int, default=0)
    parser.add_argument("--fake-hang-at", type=int, default=0)
    parser.add_argument("--fake-crash-at", type=int, default=0)
    parser.add_argument("--fake-refuse-extra", action="store_true")
    parser.add_argument("--fake-step-s", type=float, default=0.0)
    found, _ = parser.parse_known_args()
    return found


def main() -> None:
    Handler.options = options()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    log(f"server_args=ServerArgs(model_path='{Handler.options.model_path}', api_key='{Handler.options.api_key}')")
    code = "import time\nwhile True: time.sleep(1)"
    child = subprocess.Popen(["sglang::scheduler", "-S", "-c", code], executable=sys.executable)
    if Handler.options.fake_ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    try:
        log("Load weight begin. avail mem=139.20 GB")
        time.sleep(Handler.options.fake_start_s)
        while Handler.options.fake_start_when and not Path(Handler.options.fake_start_when).exists():
            time.sleep(0.02)
        flag = Handler.options.fake_fail_if
        if Handler.options.fake_fail or (flag and Path(flag).exists()):
            log("Scheduler hit an exception: Traceback (most recent call last):")
            log(f"ValueError: {Handler.options.fake_fail}")
            sys.exit(7)
        log(f"Load weight end. elapsed=0.1 s, type=Fake, soft={soft}, hard={hard}")
        server = ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        log("The server is fired up and ready to roll!")
        while True:
            time.sleep(1)
    finally:
        child.kill()


if __name__ == "__main__":
    main()
