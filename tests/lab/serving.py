"""A practice server asked over HTTP, and what is seen of its processes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdoctor.lab.host import PracticeHost
from tests.lab.host_world import eventually, lives, text_on

PROMPT = "Write about the harbour at dawn, slowly and with care."


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    kind: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(port: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        data = body if isinstance(body, bytes | type(None)) else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.read(), response.headers.get("content-type", ""))
    finally:
        connection.close()


def generate(port: int, **body: Any) -> Answer:
    parameters = {"max_new_tokens": 12, "temperature": 0, "ignore_eos": True}
    given = {"text": PROMPT, **body}
    if "input_ids" in body:
        del given["text"]
    return call(port, "POST", "/generate", {"sampling_params": parameters, **given})


def events(answer: Answer) -> list[Any]:
    """The chunks of an event stream, which must end as SGLang ends it."""
    parts = answer.body.decode().split("\n\n")
    assert parts[-2:] == ["data: [DONE]", ""]
    return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]


def running_on(port: int) -> int:
    return int(call(port, "GET", "/v1/loads").json["loads"][0]["num_running_reqs"])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def end(pid: int) -> None:
    """Kill a server and wait until its workers have noticed."""
    workers = children_of(pid)
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not any(lives(worker) for worker in workers))


def memory_used(host: PracticeHost, gpu: int) -> str:
    return text_on(host, f"nvidia-smi -i {gpu} --query-gpu=memory.used --format=csv,noheader,nounits").strip()
