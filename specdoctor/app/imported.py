"""Result files of other benchmark tools, read as one side of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from specdoctor.analysis.attribution import Arm
from specdoctor.core.errors import UsageError
from specdoctor.core.estimate import Estimate, exact

_SGLANG_MARK = ("backend", "dataset_name", "output_throughput", "total_output_tokens")
_VLLM_MARK = ("backend", "model_id", "output_throughput", "total_output_tokens")


BENCH_SCHEMA = "specdoctor.bench/1"


def arms_of_file(text: str, name: str) -> tuple[Arm, ...]:
    """One for each load of a result: the last of `sglang.bench_serving`, one of `vllm bench serve` or ours.

    One run of such a tool has no spread of its own: intervals have width 0, nothing is judged by them, and the
    estimator says what a figure is. Raises UsageError for a file of another kind.
    """
    document = _last(text)
    if document is not None and document.get("schema") == BENCH_SCHEMA:
        return _own(document, name)
    if document is not None and all(key in document for key in _SGLANG_MARK):
        return (_sglang(document, name),)
    if document is not None and all(key in document for key in _VLLM_MARK):
        return (_vllm(document, name),)
    raise UsageError(
        f"{name} holds no result that can be read",
        tried="specdoctor bench --json, sglang.bench_serving (JSON lines) and vllm bench serve (JSON)",
        next_step="give such a file, a transcript folder, or a run's id (specdoctor runs lists them)",
    )


def _own(document: Mapping[str, Any], name: str) -> tuple[Arm, ...]:
    """Each load of a benchmark of ours: its throughput over the blocks, the other figures of its last block."""
    try:
        first, *others = document["loads"]
        return tuple(_load(load, name) for load in (first, *others))
    except (KeyError, IndexError, TypeError, ValueError) as failure:
        raise UsageError(
            f"{name}: not a whole {BENCH_SCHEMA} document ({type(failure).__name__}: {failure})".split("\n")[0],
            next_step="write it again: specdoctor bench TARGET --allow load --json > FILE",
        ) from failure


def _load(load: Mapping[str, Any], name: str) -> Arm:
    block = load["blocks"][-1]
    found = {
        key: Estimate.model_validate(value)
        for key, value in {
            "throughput": load["throughput"] or block["throughput"],
            "accept_length": block["accept_length"],
            "step": block["step"],
        }.items()
        if value is not None
    }
    return Arm(label=name, fingerprint=dict(block["fingerprint"])).model_copy(update=found)


def _last(text: str) -> dict[str, Any] | None:
    """The whole text as one object, else its last line that is one (the tools append)."""
    for piece in (text, *reversed(text.splitlines())):
        try:
            document = json.loads(piece)
        except ValueError:
            continue
        if isinstance(document, dict):
            return document
    return None


def _number(document: Mapping[str, Any], *keys: str) -> float | None:
    for key in keys:
        value = document.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
    return None


def _figures(document: Mapping[str, Any], tool: str, length: Estimate | None) -> dict[str, Estimate]:
    """Throughput and cycle: decode of one request at concurrency 1, all requests together above it."""
    completed = document.get("completed")
    n = completed if isinstance(completed, int) and completed > 0 else None
    found: dict[str, Estimate] = {}
    tpot = _number(document, "mean_tpot_ms")
    total = _number(document, "output_throughput")
    if tpot is not None and _number(document, "max_concurrency") == 1.0:
        found["throughput"] = _exact(1000.0 / tpot, "tok/s", f"{tool}: 1 / mean TPOT, prefill excluded", n)
    elif total is not None:
        found["throughput"] = _exact(total, "tok/s", f"{tool}: all tokens over wall time, prefill included", n)
    if tpot is not None:
        cycle = tpot * (length.value if length is not None else 1.0)
        found["step"] = _exact(cycle, "ms", f"{tool}: mean TPOT times accept length", n)
    return found


def _exact(value: float, unit: Any, estimator: str, n: int | None) -> Estimate:
    return exact(value, unit, estimator=f"{estimator}, one run").model_copy(update={"n": n})


def _sglang(document: Mapping[str, Any], name: str) -> Arm:
    tool = "sglang.bench_serving"
    value = _number(document, "accept_length")
    length = None
    if value is not None and value >= 1.0:
        ranks = _ranks(document.get("server_info"))
        only = f", of the first of {ranks} data-parallel ranks only" if ranks > 1 else ""
        length = _exact(
            value, "tokens/cycle", f"{tool}: the server's average since its start or last flush{only}", None
        )
    workload = {
        "client": tool,
        "doubts": "; ".join(_doubts(document)),
        "prompts": str(document.get("dataset_name")),
        "concurrency": str(document.get("max_concurrency") or "unlimited"),
        "request_rate": str(document.get("request_rate")),
    }
    known = {**_of(workload), **_server_info(document.get("server_info"))}
    arm = Arm(label=name, one_run=True, accept_length=length, fingerprint=known)
    return arm.model_copy(update=_figures(document, tool, length))


def _ranks(info: Any) -> int:
    """Data-parallel ranks, by the server's words."""
    value = info.get("dp_size") if isinstance(info, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else 1


def _doubts(document: Mapping[str, Any]) -> list[str]:
    """Why acceptance in such a result may say nothing about real traffic."""
    found = []
    if str(document.get("dataset_name")).startswith("random"):
        found.append("random prompts")
    if document.get("disable_ignore_eos") is False:
        found.append("ignore_eos")
    return found


def _vllm(document: Mapping[str, Any], name: str) -> Arm:
    tool = "vllm bench serve"
    value = _number(document, "spec_decode_acceptance_length")
    drafts = document.get("spec_decode_num_drafts")
    length = None
    if value is not None and value >= 1.0:
        n = drafts if isinstance(drafts, int) and drafts > 0 else None
        length = _exact(value, "tokens/cycle", f"{tool}: 1 + accepted / drafts, all clients together", n)
    workload = {
        "client": tool,
        "model": str(document.get("model_id")),
        "concurrency": str(document.get("max_concurrency") or "unlimited"),
        "request_rate": str(document.get("request_rate")),
        "requests": str(document.get("num_prompts")),
    }
    arm = Arm(label=name, one_run=True, accept_length=length, fingerprint=_of(workload))
    return arm.model_copy(update=_figures(document, tool, length))


def _of(workload: Mapping[str, str]) -> dict[str, str]:
    return {f"workload.{key}": value for key, value in workload.items() if value not in ("None", "")}


def _server_info(info: Any) -> dict[str, str]:
    """The server's own words in the result: its version and arguments."""
    if not isinstance(info, dict):
        return {}
    found = {"engine.version": str(info["version"])} if info.get("version") else {}
    found |= {
        f"args.{key}": value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for key, value in info.items()
        if isinstance(value, str | int | float | bool) and key not in ("version", "api_key", "admin_api_key", "status")
    }
    return found
