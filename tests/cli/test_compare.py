"""Comparing runs and result files, in words and as a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdoctor.core import events as ev
from specdoctor.core.estimate import Estimate, Unit
from specdoctor.core.measurement import Measurement
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import SpecSetting
from tests.cli.conftest import Command, document

SGLANG = {
    "backend": "sglang",
    "dataset_name": "sharegpt",
    "request_rate": "inf",
    "max_concurrency": 1,
    "server_info": {"version": "0.5.17", "speculative_num_steps": 2, "api_key": "sk-hidden"},
    "completed": 32,
    "total_output_tokens": 6000,
    "output_throughput": 60.0,
    "mean_tpot_ms": 15.0,
    "accept_length": 2.0,
}
VLLM = {
    "backend": "openai",
    "model_id": "m",
    "num_prompts": 32,
    "max_concurrency": 1,
    "completed": 32,
    "total_output_tokens": 6000,
    "output_throughput": 90.0,
    "mean_tpot_ms": 10.0,
    "spec_decode_acceptance_length": 2.4,
    "spec_decode_num_drafts": 2500,
}


def figure(value: float, unit: Unit) -> Estimate:
    return Estimate(value=value, low=0.99 * value, high=1.01 * value, unit=unit, estimator="drawn", n=12)


def transcript(folder: Path, run: str, cycle_ms: float, *more: int, **facts: str) -> Path:
    """A finished run with one bench of the original, and further ones at `more` numbers of clients."""
    measured = Measurement(
        id="M1",
        launch="as found",
        launch_key="original",
        spec=SpecSetting(algorithm="EAGLE3", draft_steps=2, topk=1, draft_tokens=3),
        concurrency=1,
        source="bench",
        requests=12,
        throughput=figure(2000.0 / cycle_ms, "tok/s"),
        accept_length=figure(2.0, "tokens/cycle"),
        step=figure(cycle_ms, "ms"),
        evidence="E1",
        fingerprint={"host.boot_id": "b", "server.started": run, "workload.prompts": "p", **facts},
    )
    events = [
        ev.RunStarted(run=run, target="local:", settings=RunSettings(), tool_version="1"),
        ev.EvidenceRecorded(evidence="E1", action=None, source="bench", summary="as found"),
        ev.Measured(measurement=measured),
        *(
            ev.Measured(measurement=measured.model_copy(update={"id": f"M{clients}", "concurrency": clients}))
            for clients in more
        ),
    ]
    place = folder / run
    place.mkdir()
    (place / "events.jsonl").write_text("".join(ev.event_to_json(event) + "\n" for event in events))
    return place


def test_two_runs_of_different_states(specdoctor: Command, folder: Path) -> None:
    old = transcript(folder, "old", 20.0, **{"container.started_at": "1 Feb"})
    new = transcript(folder, "new", 30.0, **{"container.started_at": "25 Feb"})
    shown = specdoctor("compare", str(old), str(new))
    assert shown.exit_code == 3
    assert "not attributable: throughput lower, cycle higher; the system state changed" in " ".join(
        shown.stdout.split()
    )
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80
    found = json.loads(specdoctor("compare", str(old), str(new), "--json").stdout)
    assert found["schema"] == "specdoctor.compare/1"
    assert found["verdict"] == "not attributable"
    assert {part["name"] for part in found["parts"]} == {"throughput", "accept length", "cycle"}
    assert found["suspects"][0]["key"] == "container.started_at"


def test_two_models_are_told_apart_by_names_and_not_by_digests_alone(specdoctor: Command, folder: Path) -> None:
    layers = "draft.config.eagle_config.eagle_aux_hidden_state_layer_ids"
    tensor = "draft.tensors.midlayer.a_long_name.self_attn.q_proj.weight"
    first = {
        "draft.config": "0a1b",
        layers: "[2, 30, 58]",
        "draft.config.hidden_size": "7168",
        tensor: "BF16 [8192, 2]",
    }
    second = {"draft.config": "2c3d", layers: "[3, 31, 59]", "draft.config.hidden_size": "7168"}
    old = transcript(folder, "old", 20.0, **first, **{"draft.tensors.fc.weight": "BF16 [2, 3]", "model.config": "aa"})
    new = transcript(folder, "new", 30.0, **second, **{"draft.tensors.fc.weight": "F16 [2, 3]", "model.config": "bb"})
    shown = specdoctor("compare", str(old), str(new)).stdout
    words = " ".join(shown.split())
    assert "drafter's config.json, eagle_config.eagle_aux_hidden_state_layer_ids: [2, 30, 58] / [3, 31, 59]" in words
    assert "drafter's tensor fc.weight: BF16 [2, 3] / F16 [2, 3]" in words
    assert f"{tensor.removeprefix('draft.tensors.')}: BF16 [8192, 2] / not known" in words
    assert "target's config.json (digest; its entries are not on record): aa / bb" in words
    assert "0a1b" not in words
    assert "hidden_size" not in words
    assert "..." not in words
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_like_is_compared_with_like(specdoctor: Command, folder: Path) -> None:
    several, one = transcript(folder, "several", 20.0, 8, 32), transcript(folder, "one", 20.0)
    eight = transcript(folder, "eight", 20.0, 16, 8)
    (folder / "a.jsonl").write_text(json.dumps({**SGLANG, "max_concurrency": 8}) + "\n")
    for words, clients in (
        ((several, one), 1),
        ((one, several), 1),
        ((several, eight), 8),
        ((several, f"{eight}:M1"), 1),
        ((several, "a.jsonl"), 8),
    ):
        found = json.loads(specdoctor("compare", *map(str, words), "--json").stdout)
        labels = [found[side]["label"] for side in ("first", "second")]
        assert all(f"concurrency {clients})" in label for label in labels if label != "a.jsonl"), labels


def test_what_one_side_does_not_know_is_counted_and_no_difference(specdoctor: Command, folder: Path) -> None:
    facts = {f"host.fact{number}": "x" for number in range(40)}
    run = transcript(folder, "run", 20.0, **facts, **{"args.launch": "--a=1; ---speculative-algorithm; --md; -NAME:"})
    other = transcript(folder, "other", 20.0, **{"args.launch": "as found"}, **facts)
    (folder / "a.jsonl").write_text(json.dumps(SGLANG) + "\n")
    shown = " ".join(specdoctor("compare", str(run), "a.jsonl").stdout.split())
    assert "/ not known" not in shown
    assert "facts that one side alone knows (a.jsonl: a result of another tool" in shown
    shown = " ".join(specdoctor("compare", str(run), str(other)).stdout.split())
    assert "--a=1; without --speculative-algorithm; without -md; without NAME / as found" in shown
    assert "--against-launch off" in shown


def test_a_run_against_itself(specdoctor: Command, folder: Path) -> None:
    place = transcript(folder, "one", 20.0)
    found = document(specdoctor("compare", str(place), str(place), "--json"))
    assert (found["verdict"], found["suspects"]) == ("no difference", [])


def test_results_of_known_tools(specdoctor: Command, folder: Path) -> None:
    first, second = folder / "a.jsonl", folder / "b.json"
    first.write_text('{"older": 1}\n' + json.dumps(SGLANG) + "\n")
    second.write_text(json.dumps(VLLM, indent=1))
    shown = specdoctor("compare", str(first), str(second), "--json")
    found = document(shown)
    parts = {part["name"]: part for part in found["parts"]}  # type: ignore[attr-defined]
    assert parts["cycle"]["first"]["value"] == 30.0
    assert parts["throughput"]["second"]["value"] == 100.0
    assert "server's average since its start" in parts["accept length"]["first"]["estimator"]
    assert "sk-hidden" not in shown.stdout
    assert found["verdict"] == "not attributable"


def test_one_figure_without_an_interval_is_not_judged(specdoctor: Command, folder: Path) -> None:
    (folder / "a.jsonl").write_text(json.dumps({**SGLANG, "accept_length": 2.31}) + "\n")
    (folder / "b.jsonl").write_text(json.dumps({**SGLANG, "accept_length": 2.29, "mean_tpot_ms": 9.0}) + "\n")
    shown = specdoctor("compare", "a.jsonl", "b.jsonl")
    assert shown.exit_code == 3
    words = " ".join(shown.stdout.split())
    assert "one figure each, no interval: not judged (throughput, accept length, cycle)" in words
    assert "lower" not in words
    assert "higher" not in words
    assert "95 %" not in words
    assert "--blocks 4 --json" in words
    found = json.loads(specdoctor("compare", "a.jsonl", "b.jsonl", "--json").stdout)
    assert found["verdict"] == "inconclusive"
    assert {part["change"] for part in found["parts"]} == {"not judged"}
    assert {part["why"] for part in found["parts"]} == {"one figure each, no interval"}
    assert {part["ratio"]["low"] for part in found["parts"]} == {None}


def test_doubts_about_an_imported_result_are_named(specdoctor: Command, folder: Path) -> None:
    row = {**SGLANG, "dataset_name": "random-ids", "disable_ignore_eos": False}
    row["server_info"] = {"version": "0.5.17", "dp_size": 4}
    for name, document_ in (("a.jsonl", row), ("b.jsonl", SGLANG)):
        (folder / name).write_text(json.dumps(document_) + "\n")
    found = json.loads(specdoctor("compare", "a.jsonl", "b.jsonl", "--json").stdout)
    parts = {part["name"]: part for part in found["parts"]}
    assert "first of 4 data-parallel ranks only" in parts["accept length"]["first"]["estimator"]
    assert "ranks" not in parts["accept length"]["second"]["estimator"]
    doubts = next(s for s in found["suspects"] if s["key"] == "workload.doubts")
    assert doubts["first"] == "random prompts; ignore_eos"


def test_a_benchmark_of_our_own(specdoctor: Command, folder: Path) -> None:
    def written(name: str, speed: float) -> None:
        block = {"step": figure(2000 / speed, "ms"), "accept_length": figure(2.0, "tokens/cycle")}
        shown = {key: value.model_dump(mode="json") for key, value in block.items()}
        load = {"throughput": figure(speed, "tok/s").model_dump(mode="json"), "blocks": [{**shown, "fingerprint": {}}]}
        (folder / name).write_text(json.dumps({"schema": "specdoctor.bench/1", "loads": [load]}, indent=2))

    written("a.json", 80.0)
    written("b.json", 40.0)
    found = json.loads(specdoctor("compare", "a.json", "b.json", "--json").stdout)
    parts = {part["name"]: part for part in found["parts"]}
    assert parts["throughput"]["ratio"]["value"] == 0.5
    (folder / "c.json").write_text('{"schema": "specdoctor.bench/1", "loads": []}')
    shown = specdoctor("compare", "a.json", "c.json")
    assert shown.exit_code == 2
    assert "c.json: not a whole specdoctor.bench/1" in shown.stderr


def test_of_several_numbers_of_clients_each_can_be_compared(specdoctor: Command, folder: Path) -> None:
    def written(name: str, speeds: dict[int, float]) -> None:
        loads = []
        for clients, speed in speeds.items():
            block = {"step": None, "accept_length": None, "fingerprint": {"workload.concurrency": str(clients)}}
            loads.append({"throughput": figure(speed, "tok/s").model_dump(mode="json"), "blocks": [block]})
        (folder / name).write_text(json.dumps({"schema": "specdoctor.bench/1", "loads": loads}))

    written("a.json", {1: 80.0, 8: 400.0, 32: 900.0})
    written("b.json", {1: 80.0, 16: 500.0, 32: 300.0})
    found = json.loads(specdoctor("compare", "a.json", "b.json", "--json").stdout)
    assert (found["concurrency"], found["also_measured"]) == (1, [32])
    assert "both sides also measured 32: --concurrency 32" in specdoctor("compare", "a.json", "b.json").stdout
    found = json.loads(specdoctor("compare", "a.json", "b.json", "--concurrency", "32", "--json").stdout)
    assert found["parts"][0]["ratio"]["value"] == pytest.approx(1 / 3)
    refused = specdoctor("compare", "a.json", "b.json", "--concurrency", "8")
    assert refused.exit_code == 2
    assert "both measured: 1, 32" in refused.stderr


def test_what_is_no_measurement(specdoctor: Command, folder: Path) -> None:
    place = transcript(folder, "one", 20.0)
    other = folder / "notes.txt"
    other.write_text("it was 89 tok/s")
    for words, said in (
        ((str(other), str(place)), "notes.txt holds no result"),
        (("nowhere:M1", str(place)), "nowhere"),
        ((str(place), "gone.json"), "gone.json"),
    ):
        shown = specdoctor("compare", *words)
        assert shown.exit_code == 2, shown.stderr
        assert said in shown.stderr
        assert shown.stdout == ""
