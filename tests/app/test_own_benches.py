"""What a server's log shows is told apart from what our own benchmarks on record brought into it."""

from __future__ import annotations

from specdoctor.app.own_benches import ANY_CLIENT, without_own
from specdoctor.app.run import Run
from specdoctor.core.events import ActionEnded, EvidenceRecorded, RunStarted
from specdoctor.core.measurement import BenchRecord
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.ports import Scene
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import DecodeWindow, ServerView
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from tests.app.investigating import MemoryStore, run_of

NOW = 1764550000.0


def line(second: int, speed: float) -> str:
    return (
        f"[2025-12-01 10:00:{second:02d}] Decode batch, #running-req: 1, #token: 9, token usage: 0.00, "
        f"accept len: 1.60, accept rate: 0.60, cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0\n"
    )


def looking_on(benched: str, log: str, *, target: str | None = None) -> tuple[Run, tuple[DecodeWindow, ...]]:
    host = SimulatedHost(World.from_yaml("kimi-k2.5-eagle3"))
    store = MemoryStore()
    record = BenchRecord(action="A1", started_at=NOW, ended_at=NOW + 9, warmed_up=True, requests=(), log=benched)
    store.put_artefact("r-1", "E1-bench.json", record.model_dump_json().encode())
    whose = target or host.target
    store.append("r-1", RunStarted(at=NOW, run="r-1", target=whose, settings=RunSettings(), tool_version="1"))
    kept = EvidenceRecorded(at=NOW, evidence="E1", action="A1", source="bench", summary="", artefact="E1-bench.json")
    store.append("r-1", kept)
    store.append("r-1", ActionEnded(at=NOW, action="A1", outcome="done", summary="", duration_s=9.0, evidence=("E1",)))
    run = run_of(host, store=store)
    run.scene = Scene(view=ServerView(engine="sglang", state="running"), facts=host.snapshot(SnapshotRequest()))
    engine = run.engine
    assert engine is not None
    return run, engine.read_log(log, where="log").decode


def test_lines_that_a_benchmark_on_record_brought_are_left_out() -> None:
    own = "".join(line(second, 50 + second) for second in (10, 12, 14))
    warm_up = line(6, 40)
    run, windows = looking_on(own, line(1, 30) + warm_up + own + line(40, 31))
    others, whose = without_own(run, windows)
    assert [w.throughput_tok_s for w in others] == [30, 31]
    assert whose == "requests of any client, 4 lines left out that specdoctor's own benchmarks brought"
    assert without_own(run, windows[1:5])[0] == ()


def test_what_is_not_on_record_for_this_log_may_be_anybodys() -> None:
    run, windows = looking_on(line(10, 50), line(10, 51) + line(20, 52))
    assert without_own(run, windows) == (windows, ANY_CLIENT)
    run, windows = looking_on(line(10, 50), line(10, 50), target="ssh://another")
    assert without_own(run, windows) == (windows, ANY_CLIENT)
