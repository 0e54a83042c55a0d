"""Benchmarks by themselves, over practice hosts on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from specdoctor.app.benching import BenchSettings, Block, Load, Side, bench_blocks, duel, results, there_and_back
from specdoctor.app.scene import scene_of
from specdoctor.core.errors import TargetError, UsageError
from specdoctor.core.measurement import BenchPlan, BenchRecord
from specdoctor.core.operations import OnProgress, SnapshotRequest
from specdoctor.engines.sglang import engine
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World


class Noted(SimulatedHost):
    """A practice host that notes the plans it is given, and can be made to break off."""

    def __init__(self, world: str, *, seed: int = 1, before: Callable[[int], None] = lambda count: None) -> None:
        super().__init__(World.from_yaml(world), seed=seed)
        self.plans: list[BenchPlan] = []
        self._before = before

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        self.plans.append(plan)
        self._before(len(self.plans))
        return super().bench(plan, on_progress)


def side(host: SimulatedHost, label: str = "a") -> Side:
    facts = host.snapshot(SnapshotRequest())
    return Side(host, scene_of(facts, engines=(engine,), target=label, port=None), label)


def settings(*loads: Load, **other: object) -> BenchSettings:
    made = BenchSettings(loads=loads, requests=6, max_new_tokens=40, prompts="short")
    return made.model_copy(update=other)


def blocks_of(host: SimulatedHost, asked: BenchSettings) -> list[Block]:
    return list(bench_blocks(side(host), asked, on_block=lambda text: None, on_progress=lambda progress: None))


def test_loads_go_there_and_back_and_the_first_blocks_settle() -> None:
    loads = (Load(concurrency=1), Load(concurrency=4))
    assert [load.concurrency for load in there_and_back(loads, 3)] == [1, 4, 4, 1, 1, 4]
    host = Noted("healthy")
    found = results(blocks_of(host, settings(*loads, blocks=2)))
    assert [plan.concurrency for plan in host.plans] == [1, 4, 4, 1, 1, 4]
    assert len({plan.action for plan in host.plans}) == 6
    assert [(result.load.concurrency, len(result.blocks)) for result in found] == [(1, 2), (4, 2)]
    for result in found:
        assert result.throughput is not None or result.states
    assert all(plan.requests == (6 if plan.concurrency == 1 else 8) for plan in host.plans)
    one, four = (result.blocks[0].measurement for result in found)
    assert one.throughput is not None
    assert four.throughput is not None
    assert four.throughput.value > one.throughput.value
    assert one.fingerprint["workload.load"] == "concurrency 1"


def test_an_open_loop_and_a_temperature_stand_in_plan_and_label() -> None:
    host = Noted("healthy")
    load = Load(rate_per_s=2.0, temperature=0.8)
    (block,) = blocks_of(host, settings(load, ignore_eos=True, form="chat"))
    plan = host.plans[0]
    assert (plan.rate_per_s, plan.temperature, plan.ignore_eos, plan.form) == (2.0, 0.8, True, "chat")
    assert load.label == "2 requests/s, temperature 0.8"
    assert block.measurement.throughput is not None
    assert "by the chat endpoint" in block.measurement.throughput.estimator
    assert any("ignore_eos" in flag for flag in block.measurement.flags)
    assert block.figures.steady is None


def test_what_was_interrupted_is_no_block() -> None:
    def stop_at_third(count: int) -> None:
        if count == 3:
            raise KeyboardInterrupt

    done: list[Block] = []
    host = Noted("healthy", before=stop_at_third)
    going = bench_blocks(
        side(host), settings(Load(), blocks=3), on_block=lambda text: None, on_progress=lambda progress: None
    )
    with pytest.raises(KeyboardInterrupt):
        done.extend(going)
    assert len(done) == 1, "the first block settles, the third was broken off"


def test_a_server_against_itself_is_not_told_apart() -> None:
    first, second = Noted("healthy", seed=1), Noted("healthy", seed=2)
    told: list[str] = []
    compare = partial(duel, most=4, on_block=told.append, on_progress=lambda progress: None)
    found = compare((side(first, "a"), side(second, "b")), settings(Load()), Load())
    assert found.look is not None
    assert found.look.verdict in ("no difference", "inconclusive")
    order = [line[0] for line in told]
    assert order[:2] == ["a", "b"]
    assert order[2:8] == ["a", "b", "b", "a", "a", "b"]
    assert len(found.first) == len(found.second) == found.look.blocks
    assert found.flags == ()


def test_a_slower_server_is_told_apart() -> None:
    fast, slow = Noted("healthy"), Noted("graphs-off-by-flag")
    compare = partial(duel, most=5, on_block=lambda text: None, on_progress=lambda progress: None)
    found = compare((side(fast, "a"), side(slow, "b")), settings(Load()), Load())
    assert found.look is not None
    assert found.look.verdict == "worse"
    assert found.look.ratio.high < 1.0


def test_nothing_to_measure_is_an_error_with_the_reasons() -> None:
    class Refusing(Noted):
        def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
            record = super().bench(plan, on_progress)
            bad = tuple(r.model_copy(update={"ok": False, "error": "http 503: full"}) for r in record.requests)
            return record.model_copy(update={"requests": bad})

    with pytest.raises(TargetError) as caught:
        blocks_of(Refusing("healthy"), settings(Load()))
    assert "6 refused as too busy (503)" in caught.value.tried
    with pytest.raises(UsageError, match="poems"):
        blocks_of(Noted("healthy"), settings(Load(), categories=("poems",)))
