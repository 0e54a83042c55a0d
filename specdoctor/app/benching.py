"""A benchmark by itself: lists of loads in blocks, and two servers in turns; no run, no hypothesis, no restart."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.sequential import Look, SequentialPlan
from specdoctor.analysis.stats import block_mean, two_states
from specdoctor.app.bench_figures import LoadFigures, load_figures
from specdoctor.app.fingerprint import bench_workload, fingerprint
from specdoctor.app.measuring import decode_time_s, measure
from specdoctor.app.prompts import built_in, chat_template, from_file, of_categories, rendered
from specdoctor.core.errors import TargetError
from specdoctor.core.estimate import Estimate
from specdoctor.core.input_file import is_there
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, RequestRecord, WatchRecord
from specdoctor.core.model import Frozen
from specdoctor.core.operations import OnProgress, Operations
from specdoctor.core.ports import Scene
from specdoctor.core.reach import spoken
from specdoctor.core.server import SpecSetting

LENGTHS_DIFFER = 0.05
"""Mean answers that differ by more than this between two arms make them another workload."""


class Load(Frozen):
    """How hard the server is asked: clients at once, or requests coming in at a rate; and at which temperature."""

    concurrency: int = 1
    rate_per_s: float | None = None
    temperature: float = 0.0

    @property
    def label(self) -> str:
        load = f"{self.rate_per_s:g} requests/s" if self.rate_per_s is not None else f"concurrency {self.concurrency}"
        return load + (f", temperature {self.temperature:g}" if self.temperature else "")


class BenchSettings(Frozen):
    """What is measured. `blocks` count after a first one that is dropped where there is more than one."""

    loads: tuple[Load, ...]
    blocks: int = 1
    requests: int = 12
    max_new_tokens: int = 160
    ignore_eos: bool = False
    json_schema: str = ""
    form: str = "generate"
    prompts: str = "mixed"
    categories: tuple[str, ...] = ()
    request_timeout_s: float = 300.0


class Block(Frozen):
    """One block of one load: its measurement and the figures beyond it."""

    load: Load
    measurement: Measurement
    figures: LoadFigures


class LoadResult(Frozen):
    """A load over its blocks: throughput with an interval over blocks, and the two states where there are two."""

    load: Load
    throughput: Estimate | None
    states: str = ""
    blocks: tuple[Block, ...]


class Side:
    """One server that is measured, by the operations that reach it."""

    def __init__(self, operations: Operations, scene: Scene, label: str) -> None:
        if scene.view.ref is None:
            raise TargetError(f"{spoken(label)}: no server runs there", next_step="start it, then measure again")
        self.operations = operations
        self.scene = scene
        self.label = label
        self.spec = scene.view.spec or SpecSetting()
        self._run = f"bench-{secrets.token_hex(4)}"
        self._count = 0

    def watched(self, seconds: float) -> WatchRecord:
        """What is seen of the requests of others while looking on for a while."""
        assert self.scene.view.ref is not None
        return self.operations.watch(self.scene.view.ref, seconds=seconds, log_path=self.scene.view.log_path)

    def plan(self, settings: BenchSettings, load: Load) -> BenchPlan:
        """The next block's plan."""
        view = self.scene.view
        assert view.ref is not None
        chosen = Path(settings.prompts)
        prompts = of_categories(
            from_file(chosen) if is_there(chosen) else built_in(settings.prompts), settings.categories
        )
        if settings.form == "generate":
            prompts = rendered(prompts, chat_template(self.scene.facts, view.model_path))
        self._count += 1
        warmup = max(2, min(load.concurrency, 8))
        return BenchPlan(
            run=self._run,
            action=f"b{self._count}",
            server=view.ref,
            engine=view.engine,
            model=view.served_model or view.model_path or "default",
            prompt_set=prompts,
            form="chat" if settings.form == "chat" else "generate",
            concurrency=load.concurrency,
            requests=max(settings.requests, 2 * load.concurrency if load.concurrency > 1 else 1),
            warmup=warmup,
            warmup_most=3 * warmup,
            rate_per_s=load.rate_per_s,
            seed=self._count,
            max_new_tokens=settings.max_new_tokens,
            ignore_eos=settings.ignore_eos,
            temperature=load.temperature,
            json_schema=settings.json_schema,
            request_timeout_s=settings.request_timeout_s,
            log_path=view.log_path,
        )

    def block(self, settings: BenchSettings, load: Load, on_progress: OnProgress) -> Block:
        """Measure one block. Raises TargetError when nothing could be measured, with what became of the requests."""
        plan = self.plan(settings, load)
        record = self.operations.bench(plan, on_progress)
        found = measure(
            measurement_id=f"M{self._count}",
            evidence="",
            launch="as found",
            launch_key="original",
            spec=self.spec,
            plan=plan,
            record=record,
        )
        if found.throughput is None:
            raise TargetError(
                f"{spoken(self.label)}: nothing could be measured at {load.label}",
                tried=f"{len(record.requests)} requests: {'; '.join(found.flags) or 'none could be timed'}",
                next_step="look at the server's log (specdoctor triage), then measure again",
            )
        facts = fingerprint(
            self.scene,
            server=plan.server,
            spec=self.spec,
            launch_key="original",
            workload={**bench_workload(plan), "load": load.label, "ignore_eos": str(plan.ignore_eos)},
        )
        return Block(
            load=load,
            measurement=found.model_copy(update={"fingerprint": facts}),
            figures=load_figures(_timed(record), plan),
        )


def _timed(record: BenchRecord) -> list[RequestRecord]:
    return [r for r in record.requests if r.ok and decode_time_s(r) is not None]


def there_and_back(loads: Sequence[Load], blocks: int) -> Iterator[Load]:
    """All loads `blocks` times, every second time backwards, so that a slow drift falls on all of them alike."""
    for turn in range(blocks):
        yield from loads if turn % 2 == 0 else reversed(loads)


def bench_blocks(
    side: Side, settings: BenchSettings, *, on_block: Callable[[str], None], on_progress: OnProgress
) -> Iterator[Block]:
    """Blocks as they end; the first of each load is measured and dropped where there are several."""
    total = settings.blocks + (settings.blocks > 1)
    order = list(there_and_back(settings.loads, total))
    for number, load in enumerate(order, start=1):
        dropped = settings.blocks > 1 and number <= len(settings.loads)
        on_block(f"block {number} of {len(order)}: {load.label}" + (" (to settle, not counted)" if dropped else ""))
        block = side.block(settings, load, on_progress)
        if not dropped:
            yield block


def results(blocks: Sequence[Block]) -> tuple[LoadResult, ...]:
    """Blocks by load, from the lightest to the heaviest, cold before hot."""
    loads = sorted(
        {b.load for b in blocks}, key=lambda load: (load.temperature, load.rate_per_s or 0.0, load.concurrency)
    )
    return tuple(_result(load, tuple(b for b in blocks if b.load == load)) for load in loads)


def _result(load: Load, blocks: tuple[Block, ...]) -> LoadResult:
    first = blocks[0].measurement.throughput
    values = [b.measurement.throughput.value for b in blocks if b.measurement.throughput is not None]
    if first is None or len(values) < 2:
        return LoadResult(load=load, throughput=first, blocks=blocks)
    states = two_states(values)
    if states is not None:
        told = (
            f"two states: {states.low_median:.4g} tok/s ({states.low_count} blocks) and {states.high_median:.4g} tok/s"
        )
        return LoadResult(load=load, throughput=None, states=f"{told} ({states.high_count})", blocks=blocks)
    mean = block_mean(values, "tok/s")
    if isinstance(mean, Refusal):
        return LoadResult(load=load, throughput=first, blocks=blocks)
    named = mean.model_copy(update={"estimator": f"{mean.estimator}: {first.estimator}"})
    return LoadResult(load=load, throughput=named, blocks=blocks)


class Duel(Frozen):
    """Two servers under one load, block by block in turns: where the comparison ended, and what differed beside it."""

    load: Load
    look: Look | None
    first: tuple[Block, ...]
    second: tuple[Block, ...]
    flags: tuple[str, ...] = ()


def duel(
    sides: tuple[Side, Side],
    settings: BenchSettings,
    load: Load,
    *,
    most: int,
    on_block: Callable[[str], None],
    on_progress: OnProgress,
) -> Duel:
    """A B B A A B ... until the answer is clear or each had `most` blocks; each side's first block is dropped."""
    plan = SequentialPlan(most=most, pairs=True)
    found: tuple[list[Block], list[Block]] = ([], [])
    for side in sides:
        on_block(f"{side.label}: a block to settle, not counted")
        side.block(settings, load, on_progress)
    look: Look | None = None
    for number, order in zip(range(1, most + 1), cycle([(0, 1), (1, 0)]), strict=False):
        for index in order:
            on_block(f"{sides[index].label}: block {number} of at most {most}")
            found[index].append(sides[index].block(settings, load, on_progress))
        look = plan.look(*(_speeds(blocks) for blocks in found))
        if look is not None and look.verdict != "go on":
            break
    first, second = tuple(found[0]), tuple(found[1])
    return Duel(load=load, look=look, first=first, second=second, flags=_duel_flags(first, second))


def _speeds(blocks: Sequence[Block]) -> list[float]:
    return [b.measurement.throughput.value for b in blocks if b.measurement.throughput is not None]


def _duel_flags(first: Sequence[Block], second: Sequence[Block]) -> tuple[str, ...]:
    lengths = [[b.figures.output_tokens for b in arm if b.figures.output_tokens] for arm in (first, second)]
    if not all(lengths):
        return ()
    a, b = (sum(values) / len(values) for values in lengths)
    if abs(b / a - 1.0) <= LENGTHS_DIFFER:
        return ()
    return (f"answers differ in length between the two ({a:.0f} and {b:.0f} tokens): not quite the same work",)
