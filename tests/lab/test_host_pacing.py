"""The practice server's clock: a step takes in reality what it takes in the model."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specdoctor.lab.boot import boot
from specdoctor.lab.engine_core import EngineCore, resolve
from specdoctor.lab.engine_types import Finished, GenRequest, HttpReply, Resolved, StepResult
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.past import run_traffic
from specdoctor.lab.physics import StepTimes
from specdoctor.lab.step_loop import Clock, StepLoop
from specdoctor.lab.time_scale import scaled
from specdoctor.lab.world import Traffic, World
from tests.lab.host_world import small_world

pytestmark = pytest.mark.alone


class FixedCore:
    """Steps of one length for as long as tokens are left; each also costs real computing time."""

    def __init__(self, *, step_s: float, compute_s: float) -> None:
        self.step_s = step_s
        self.compute_s = compute_s
        self.left: dict[str, int] = {}

    def submit(self, request: GenRequest, now_s: float) -> HttpReply | None:
        self.left[request.id] = request.max_new_tokens
        return None

    def abort(self, request_id: str) -> None:
        self.left.pop(request_id, None)

    def meta_info(self, request_id: str) -> dict[str, Any]:
        return {"id": request_id}

    def step(self, now_s: float) -> StepResult | None:
        if not self.left:
            return None
        spin_until = time.perf_counter() + self.compute_s
        while time.perf_counter() < spin_until:
            pass
        done = {}
        for name in list(self.left):
            self.left[name] -= 1
            if self.left[name] == 0:
                del self.left[name]
                done[name] = Finished({"type": "length"}, {})
        return StepResult(self.step_s, {}, done, ())


def run_fixed(core: FixedCore, steps: int) -> float:
    """Real seconds that `steps` steps take."""
    ended = threading.Event()

    def note(result: StepResult, metas: Any) -> None:
        if result.finished:
            ended.set()

    loop = StepLoop(core, on_step=note, clock=Clock())
    loop.start()
    try:
        began = time.perf_counter()
        loop.submit(GenRequest(id="only", prompt="x", max_new_tokens=steps))
        assert ended.wait(20)
        return time.perf_counter() - began
    finally:
        loop.stop()


@pytest.mark.parametrize("compute_s", [0.0, 0.002])
def test_computing_comes_out_of_the_step_and_errors_do_not_add_up(compute_s: float) -> None:
    assert run_fixed(FixedCore(step_s=0.006, compute_s=compute_s), 150) == pytest.approx(0.9, rel=0.03)


def test_a_step_that_takes_too_long_to_compute_is_not_made_up_for_ever() -> None:
    core = FixedCore(step_s=0.005, compute_s=0.4)
    assert run_fixed(core, 2) >= 0.8


def test_an_aborted_request_returns_its_last_meta_info() -> None:
    core = FixedCore(step_s=0.01, compute_s=0.0)
    loop = StepLoop(core, on_step=lambda result, metas: None, clock=Clock())
    loop.start()
    try:
        loop.submit(GenRequest(id="one", prompt="x", max_new_tokens=1000))
        assert loop.abort("one") == {"id": "one"}
        assert core.left == {}
    finally:
        loop.stop()


def resolved_small(world: World) -> Resolved:
    argv = [world.expand(word) for word in world.launch.argv]
    outcome = resolve(argv, {}, world)
    assert isinstance(outcome, Resolved)
    return outcome


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, int]]:
    world = small_world(weights_ms=8.0)
    with PracticeHost(world, state_dir=tmp_path_factory.mktemp("pacing-host"), time_scale=1.0) as host:
        yield world, boot(host, wait_s=20).port


def decode_times(port: int, number: int, found: list[tuple[float, float, int]]) -> None:
    """Of one stream: seconds from first to last chunk by the client's clock, the same by the model, and its cycles."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    parameters = {"max_new_tokens": 150, "temperature": 0, "ignore_eos": True}
    body = {"text": f"Prompt {number}, told at some length.", "stream": True, "sampling_params": parameters}
    connection.request("POST", "/generate", json.dumps(body))
    first = last = 0.0
    meta: dict[str, Any] = {}
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            last = time.perf_counter()
            first = first or last
            meta = json.loads(line[6:])["meta_info"]
    found.append((last - first, meta["request_finished_ts"] - meta["prefill_finished_time"], meta["spec_verify_ct"]))


def test_one_client_measures_the_modelled_cycle(server: tuple[World, int]) -> None:
    world, port = server
    found: list[tuple[float, float, int]] = []
    decode_times(port, 0, found)
    seconds, _, cycles = found[0]
    modelled_ms = StepTimes(resolved_small(world), world).decode_ms(1, 90.0)
    assert 1000 * seconds / cycles == pytest.approx(modelled_ms, rel=0.03)


def test_many_clients_measure_what_the_model_says(server: tuple[World, int]) -> None:
    _, port = server
    found: list[tuple[float, float, int]] = []
    threads = [threading.Thread(target=decode_times, args=(port, number, found)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ratios = sorted(seconds / modelled for seconds, modelled, _ in found)
    assert len(ratios) == 12
    assert ratios[6] == pytest.approx(1.0, rel=0.03)


def test_a_scaled_world_is_faster_in_everything() -> None:
    world = small_world()
    fast = scaled(world, 0.25)
    slow_ms = StepTimes(resolved_small(world), world).decode_ms(3, 300.0)
    fast_ms = StepTimes(resolved_small(fast), fast).decode_ms(3, 300.0)
    assert fast_ms == pytest.approx(slow_ms / 4)
    assert fast.model("target").load_s == world.model("target").load_s / 4
    assert fast.physics.startup.capture_s == world.physics.startup.capture_s / 4
    assert fast.physics.startup.graph_gb == world.physics.startup.graph_gb
    assert scaled(world, 1.0) is world


def test_the_past_is_lived_through_in_order_and_inside_its_bounds(tmp_path: Path) -> None:
    world = small_world()
    core = EngineCore(resolved_small(world), world, 1, ready_s=1000.0)
    traffic = Traffic(clients=3, seconds=5.0, max_new_tokens=40)
    lines = list(run_traffic(core, traffic, begin_s=2000.0, end_s=2005.0))
    stamps = [line[1:20] for line in lines]
    assert stamps == sorted(stamps)
    assert (stamps[0], stamps[-1][:-2]) == ("1970-01-01 00:33:20", "1970-01-01 00:33:")
    assert any("Decode batch, #running-req: 3" in line for line in lines)
    assert core.running == core.waiting == 0
