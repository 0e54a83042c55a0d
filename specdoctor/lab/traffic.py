"""The practice clients: users of the server who know nothing of a diagnosis, in a process of their own.

`run/asked` grows by a byte with each request that they send.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from specdoctor.lab.lab_state import read_world
from specdoctor.lab.ssh_access import LOOPBACK
from specdoctor.lab.traffic_prompts import prompt
from specdoctor.lab.world import Traffic

RETRY_S = 0.5
REQUEST_TIMEOUT_S = 600.0


def main(argv: Sequence[str]) -> int:
    """`STATE PORT [API_KEY]`: run the world's live traffic until killed."""
    traffic = Traffic.model_validate(read_world(Path(argv[0]))["live_traffic"])
    key = argv[2] if len(argv) > 2 else None
    clients = [
        _Client(traffic, number, state=Path(argv[0]), port=int(argv[1]), key=key) for number in range(traffic.clients)
    ]
    threads = [threading.Thread(target=client.run, daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0


class _Client:
    """One closed loop: ask, wait for the whole answer, think, ask again."""

    def __init__(self, traffic: Traffic, number: int, *, state: Path, port: int, key: str | None) -> None:
        self._state = state
        self._traffic = traffic
        self._next = number
        self._rng = random.Random(number)
        self._port = port
        self._headers = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"

    def run(self) -> None:
        while True:
            try:
                self._ask()
            except (OSError, http.client.HTTPException):
                time.sleep(RETRY_S)
            time.sleep(self._traffic.think_s * self._rng.uniform(0.5, 1.5))

    def _ask(self) -> None:
        traffic = self._traffic
        body = {
            "text": prompt(traffic, self._next),
            "sampling_params": {
                "temperature": traffic.temperature,
                "max_new_tokens": traffic.max_new_tokens,
                "ignore_eos": traffic.ignore_eos,
            },
        }
        self._next += traffic.clients
        with (self._state / "run" / "asked").open("ab", buffering=0) as asked:
            asked.write(b".")
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=REQUEST_TIMEOUT_S)
        try:
            connection.request("POST", "/generate", json.dumps(body), self._headers)
            connection.getresponse().read()
        finally:
            connection.close()
