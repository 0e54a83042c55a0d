"""Look on for a while without sending anything that counts as a request: log growth, metrics, connections of others."""

import os
import re
import sys
import time
from typing import Any, Dict, List, Optional, Pattern, Set, Tuple

from specdoctor.remote.parts.answer import run_program
from specdoctor.remote.parts.jobs import loads_on
from specdoctor.remote.parts.local_http import get
from specdoctor.remote.parts.procfs import ESTABLISHED, sockets_seen_by
from specdoctor.remote.parts.proved_server import ProvedServer, proved
from specdoctor.remote.parts.redaction import mask_all
from specdoctor.remote.parts.server_logs import log_growth, log_size

PARAMS_JSON = "{}"
LOG_LIMIT = 4 << 20
SAMPLE_S = 0.2
PREFILL = re.compile(r"Prefill batch.*?#new-seq: (\d+), #new-token: (\d+), #cached-token: (\d+)")
DECODE = re.compile(r"Decode batch.*?#running-req: (\d+), .*?#token: (\d+)")
LAUNCHED = re.compile(r"slot launch_slot_: id +\d+ \| task \d+ \| processing task")
POSTED = re.compile(r'"POST (/generate|/v1/\S+|/completion\S*|/invocations|/classify|/encode)[ ?]')
RUNNING = re.compile(
    r"^(?:sglang:num_running_reqs|vllm:num_requests_running|llamacpp:requests_processing)\S* ([\d.e+]+)", re.M
)
TOKENS = re.compile(r"^(?:(?:sglang|vllm):generation_tokens_total|llamacpp:tokens_predicted_total)\S* ([\d.e+]+)", re.M)
REQUESTS = re.compile(r"^(?:sglang:num_requests_total|vllm:request_success_total)\S* ([\d.e+]+)", re.M)


def requests_in_log(text: str) -> int:
    """Requests of others that the log shows: posted, prefilled (health checks left out), or still decoding."""
    posted = len(POSTED.findall(text))
    prefilled = sum(
        int(sequences)
        for sequences, new, cached in PREFILL.findall(text)
        if not (sequences == "1" and int(new) <= 1 and cached == "0")
    )
    decoding = max([int(count) for count, tokens in DECODE.findall(text) if tokens != "0"] or [0])
    return max(posted, prefilled, decoding, len(LAUNCHED.findall(text)))


def _total(pattern: "Pattern[str]", text: str) -> float:
    return sum(float(value) for value in pattern.findall(text))


def requests_in_metrics(before: str, after: str) -> int:
    """Requests running at a scrape or counted between the two; a health check of one token each is none."""
    counted = _total(REQUESTS, after) - _total(REQUESTS, before)
    if _total(TOKENS, after) - _total(TOKENS, before) <= counted:
        return 0
    return int(max(_total(RUNNING, before), _total(RUNNING, after), counted, 1))


def peers(server: ProvedServer) -> Set[Tuple[str, int]]:
    """Who is connected to the server's port; none of them is us, as no connection is held between the scrapes."""
    port = server.endpoint.port
    found = sockets_seen_by(server.pid)
    return {(entry.peer, entry.peer_port) for entry in found if entry.state == ESTABLISHED and entry.port == port}


def scrape(server: ProvedServer) -> Optional[str]:
    reply = get(server.endpoint, "/metrics")
    return str(reply["body"]) if reply["status"] == 200 else None


def look_on(params: Dict[str, Any]) -> Dict[str, Any]:
    """The WatchRecord."""
    server = proved(params["server"])
    path = params["log_path"]
    start, before = log_size(path), scrape(server)
    begun, connected = time.monotonic(), peers(server)
    loads = loads_on(server.endpoint.port)
    while time.monotonic() - begun < float(params["seconds"]):
        connected |= peers(server)
        time.sleep(SAMPLE_S)
    after = scrape(server) if before is not None else None
    log = log_growth(path, start, LOG_LIMIT) if path else ""
    counts: List[int] = []
    means: List[str] = []
    if path and os.access(path, os.R_OK):
        counts.append(requests_in_log(log))
        means.append("log")
    if before is not None and after is not None:
        counts.append(requests_in_metrics(before, after))
        means.append("metrics")
    means.append("connections: %d" % len(connected))
    record = {
        "seconds": time.monotonic() - begun,
        "foreign_requests": max(counts) if counts else len(connected),
        "means": means,
        "own_loads": loads,
        "log": log,
        "metrics_before": before,
        "metrics_after": after,
    }
    masked: Dict[str, Any] = mask_all(record, server.secrets)
    return masked


if __name__ == "__main__":
    sys.exit(run_program(look_on, PARAMS_JSON))
