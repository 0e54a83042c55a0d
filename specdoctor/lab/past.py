"""What a practice server has already lived through when the world begins: its start and its traffic, in virtual time.

The host leaves a note for the first server only; a server that is started later has no past.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator
from pathlib import Path

from specdoctor.core.model import Frozen
from specdoctor.lab.engine_core import EngineCore
from specdoctor.lab.engine_types import GenRequest
from specdoctor.lab.traffic_prompts import prompt
from specdoctor.lab.world import Traffic


class Past(Frozen):
    """Seconds since the start, and the traffic from then to now."""

    started_s_ago: float
    history: tuple[Traffic, ...] = ()


def _note(state: Path) -> Path:
    return state / "run" / "past"


def leave_past(state: Path, past: Past) -> None:
    """Give the next server on this host a past."""
    _note(state).write_text(past.model_dump_json(), encoding="utf-8")


def take_past(state: Path) -> Past | None:
    """The past left for this server, if any; the next one will find none."""
    try:
        text = _note(state).read_text(encoding="utf-8")
        _note(state).unlink()
    except FileNotFoundError:
        return None
    return Past.model_validate(json.loads(text))


def live_through(core: EngineCore, past: Past, *, until_s: float) -> list[str]:
    """Run the past's traffic through the core; returns the log lines it wrote, oldest first."""
    lines: list[str] = []
    for traffic in past.history:
        end_s = until_s - traffic.ended_s_ago
        lines += run_traffic(
            core, traffic, begin_s=max(end_s - traffic.seconds, until_s - past.started_s_ago), end_s=end_s
        )
    return lines


def run_traffic(core: EngineCore, traffic: Traffic, *, begin_s: float, end_s: float) -> Iterator[str]:
    """Closed-loop clients on a virtual clock: each sends its next request `think_s` after its last one ended."""
    rng = random.Random(f"{traffic.clients}:{traffic.prompt_tokens}:{traffic.category}")
    due = [(begin_s + rng.uniform(0.0, 0.2), client) for client in range(traffic.clients)]
    heapq.heapify(due)
    owner: dict[str, int] = {}
    sent = 0
    now_s = begin_s
    while due or owner:
        while due and due[0][0] <= now_s:
            at_s, client = heapq.heappop(due)
            request = traffic_request(traffic, sent, rng)
            sent += 1
            if core.submit(request, at_s) is None:
                owner[request.id] = client
        result = core.step(now_s)
        if result is None:
            if not due:
                break
            now_s = max(now_s, due[0][0])
            continue
        now_s += result.duration_s
        yield from result.log_lines
        for name in result.finished.keys() & owner.keys():
            yield core.access_line("POST", "/generate", 200, now_s)
            next_s = now_s + traffic.think_s * rng.uniform(0.5, 1.5)
            if next_s < end_s:
                heapq.heappush(due, (next_s, owner[name]))
            del owner[name]


def traffic_request(traffic: Traffic, number: int, rng: random.Random) -> GenRequest:
    """Request number `number` of this traffic."""
    return GenRequest(
        id=f"{rng.getrandbits(128):032x}",
        prompt=prompt(traffic, number),
        max_new_tokens=traffic.max_new_tokens,
        temperature=traffic.temperature,
        ignore_eos=traffic.ignore_eos,
        category=traffic.category,
    )
