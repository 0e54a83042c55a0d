"""The spread between starts: assumed, seen in this run, or on record from earlier runs on the same host."""

from __future__ import annotations

import math
import statistics

import pytest

from specdoctor.analysis.launch_spread import RECORD, LaunchSpread, StartsOnRecord, launch_spread, starts_on_record
from specdoctor.analysis.tuned import spread_of
from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting

STATE = {"host.name": "gpu-7", "gpu.uuid": "GPU-1", "engine.version": "0.5.17", "args.tp_size": "8"}


def start(speed: float, number: int, *, launch: str = "as found", **facts: str) -> Measurement:
    changed = {key.replace("__", "."): value for key, value in facts.items()}
    return Measurement(
        id="M1",
        launch=launch,
        launch_key=launch,
        spec=SpecSetting(),
        concurrency=1,
        source="bench",
        requests=12,
        throughput=Estimate(value=speed, low=speed, high=speed, unit="tok/s", estimator="test", n=12),
        fingerprint={
            **STATE,
            "args.launch": launch,
            "workload.prompts": "mixed 1",
            "server.started": f"pid {number}",
            **changed,
        },
    )


def ledger_with(record: StartsOnRecord | None, **settings: float) -> Ledger:
    ledger = Ledger()
    ledger.apply(ev.RunStarted(run="r", target="t", settings=RunSettings(**settings), tool_version="1"))  # type: ignore[arg-type]  # only floats here
    if record is not None:
        data = record.model_dump(mode="json")
        ledger.apply(ev.EvidenceRecorded(evidence="E1", action=None, source=RECORD, summary="", data=data))
    return ledger


def test_equal_starts_of_earlier_runs_are_pooled_by_launch() -> None:
    first = [start(100.0, 1), start(101.0, 2), start(102.0, 3)]
    second = [start(50.0, 4, launch="without"), start(51.0, 5, launch="without")]
    found = starts_on_record([("a", first[:2]), ("b", [*first[2:], *second])], state=STATE)
    assert found is not None
    squares = sum(
        statistics.variance([math.log(m.throughput.value) for m in arm if m.throughput]) * (len(arm) - 1)
        for arm in (first, second)
    )
    assert found.squares == pytest.approx(squares)
    assert (found.df, found.starts, found.launches, found.runs) == (3, 5, 2, 2)


@pytest.mark.parametrize(
    "other",
    [
        {"host__name": "gpu-8"},
        {"engine__version": "0.5.18"},
        {"args__tp_size": "4"},
        {"gpu__uuid": "GPU-2"},
        {"host__boot_id": "another"},  # the same server, but another state: compared with itself only
        {"workload__prompts": "chat 2"},
    ],
)
def test_another_server_state_or_workload_is_no_second_start(other: dict[str, str]) -> None:
    assert starts_on_record([("a", [start(100.0, 1), start(90.0, 2, **other)])], state=STATE) is None


def test_what_a_store_masks_makes_no_other_server() -> None:
    stored = [start(100.0 + n, n, args__api_key="***") for n in range(3)]
    found = starts_on_record([("a", stored)], state={**STATE, "args.api_key": "null"})
    assert found is not None
    assert found.starts == 3


def test_two_measurements_of_one_start_are_one() -> None:
    assert starts_on_record([("a", [start(100.0, 1), start(104.0, 1)])], state=STATE) is None


def test_it_is_assumed_until_enough_were_seen() -> None:
    assert launch_spread(ledger_with(None)) == LaunchSpread()
    few = StartsOnRecord(squares=0.0001, df=1, starts=2, launches=1, runs=1)
    assert launch_spread(ledger_with(few)).words == "5% between starts (assumed)"
    assert spread_of(ledger_with(few)) == 0.05


def test_what_is_on_record_counts_and_says_how_many() -> None:
    record = StartsOnRecord(squares=8 * 0.01**2, df=8, starts=10, launches=2, runs=3)
    found = launch_spread(ledger_with(record))
    assert found.sd == pytest.approx(0.01)
    assert found.words == "1.0% between starts (seen in 10 on this host, 10 of them in earlier runs)"
    assert found.reckoned == pytest.approx(0.01 * 2.306 / 1.96, rel=1e-3)
    assert spread_of(ledger_with(record)) == pytest.approx(found.reckoned)
    assert spread_of(ledger_with(record, launch_spread=0.02)) == 0.02


def test_few_starts_widen_the_interval() -> None:
    record = StartsOnRecord(squares=2 * 0.01**2, df=2, starts=3, launches=1, runs=2)
    assert launch_spread(ledger_with(record)).reckoned == pytest.approx(0.01 * 4.3027 / 1.96, rel=1e-3)


def test_marked_starts_of_a_launch_belong_together_and_a_start_told_twice_is_one() -> None:
    starts = [
        start(100.0, 1),
        start(101.0, 2, args__launch="SPECDOCTOR_START:=2"),
        start(50.0, 3, args__launch="--x=1"),
        start(51.0, 4, args__launch="--x=1; SPECDOCTOR_START:=2"),
        start(99.0, 1, server__started="pid 1, 5 ticks after boot"),
        start(99.2, 1, server__started="pid 1, 5 ticks after boot, 2026-11-30 20:15:59 UTC"),
    ]
    found = starts_on_record([("a", starts)], state=STATE)
    assert found is not None
    assert (found.starts, found.launches, found.df) == (5, 2, 3)


def test_three_starts_that_lie_closer_than_is_assumed_are_not_said_to_show_it() -> None:
    assert LaunchSpread(starts=3, assumed=True).words == "5% between starts (assumed; the 3 seen lie closer)"
    assert LaunchSpread(sd=0.08, starts=3).words == "8% between starts (seen in 3)"
