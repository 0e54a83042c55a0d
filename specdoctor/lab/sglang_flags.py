"""The server arguments of each SGLang version: names, order, defaults and command-line flags.

The table in data/sglang_server_args.json was read from released versions; releases between two of them use the
nearer one, corrected for the arguments whose first or last release is known.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

Release = tuple[int, int, int]

# First release each snapshot stands for; the snapshot itself was read at the version named.
_SNAPSHOT_FROM: tuple[tuple[Release, str], ...] = (
    ((0, 5, 20), "0.5.23"),
    ((0, 5, 14), "0.5.17"),
    ((0, 5, 11), "0.5.12"),
    ((0, 0, 0), "0.5.9"),
)
_SINCE: dict[str, Release] = {
    "speculative_use_rejection_sampling": (0, 5, 14),
    "speculative_use_block_verification": (0, 5, 22),
    "speculative_draft_kv_cache_dtype": (0, 5, 18),
    "speculative_draft_window_size": (0, 5, 12),
    "speculative_draft_sink_size": (0, 5, 21),
    "speculative_dspark_block_size": (0, 5, 16),
    "speculative_dspark_sps_table_path": (0, 5, 16),
    "speculative_dspark_confidence_sts_path": (0, 5, 16),
    "speculative_dspark_align_verify_tokens_to_graph_tier": (0, 5, 16),
    "speculative_enable_w4a4_mxfp4_megamoe": (0, 5, 22),
    "speculative_boundary_reduction": (0, 5, 21),
    "speculative_draft_attention_backend": (0, 5, 7),
    "speculative_draft_model_quantization": (0, 5, 7),
    "speculative_moe_runner_backend": (0, 5, 5),
    "speculative_moe_a2a_backend": (0, 5, 7),
    "speculative_draft_load_format": (0, 5, 4),
    "enable_multi_layer_eagle": (0, 5, 7),
    "decoupled_spec_bind_endpoint": (0, 5, 15),
    "decoupled_spec_connect_endpoints": (0, 5, 15),
    "decoupled_spec_rank": (0, 5, 15),
    "decoupled_spec_role": (0, 5, 15),
    "spec_trace_dir": (0, 5, 15),
    "attn_dp_size": (0, 5, 22),
}
_UNTIL: dict[str, Release] = {"speculative_skip_dp_mlp_sync": (0, 5, 22)}


@dataclass(frozen=True)
class Argument:
    """One server argument of one version. `kind` is str, int, float, bool, or ints, floats, strs for lists."""

    name: str
    kind: str
    default: Any
    flags: tuple[str, ...]
    choices: tuple[Any, ...] | None = None


@cache
def _table() -> Mapping[str, Any]:
    path = Path(__file__).parent / "data" / "sglang_server_args.json"
    table: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


@cache
def arguments(release: Release) -> tuple[Argument, ...]:
    """All server arguments of a release, in the order in which it prints them."""
    snapshot = next(version for first, version in _SNAPSHOT_FROM if release >= first)
    table = _table()
    versions = list(table["order"])
    found = []
    for name in table["order"][snapshot].split():
        if release < _SINCE.get(name, (0, 0, 0)) or release > _UNTIL.get(name, (99, 0, 0)):
            continue
        record = _record(table["fields"][name], versions, snapshot)
        found.append(
            Argument(
                name=name,
                kind=record["kind"],
                default=record["default"],
                flags=tuple(record["flags"]),
                choices=_choices(name, record.get("choices"), release),
            )
        )
    return tuple(found)


def _record(history: list[dict[str, Any]], versions: list[str], snapshot: str) -> dict[str, Any]:
    reached = [entry for entry in history if versions.index(entry["from"]) <= versions.index(snapshot)]
    return reached[-1]


def _choices(name: str, listed: Sequence[Any] | None, release: Release) -> tuple[Any, ...] | None:
    if name == "speculative_algorithm" and release < (0, 5, 12):
        names = ["EAGLE", "EAGLE3", "NEXTN", "STANDALONE"]
        return tuple(names + ["NGRAM"] * (release >= (0, 5, 3)) + ["DFLASH"] * (release >= (0, 5, 11)))
    return tuple(listed) if listed else None


class UsageExit(Exception):
    """argparse would end the process here: exit code and what it prints."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageExit(2, f"{self.format_usage()}{self.prog}: error: {message}")


def _format(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=80)


@cache
def parser(release: Release) -> argparse.ArgumentParser:
    """An argument parser that accepts what this release accepts."""
    prog = "sglang serve" if release >= (0, 5, 10) else "launch_server.py"
    built = _Parser(prog=prog, add_help=False, formatter_class=_format)
    built.add_argument("-h", "--help", action="store_true", dest="help", help="show this help message and exit")
    seen: set[str] = set()
    for argument in arguments(release):
        if argument.flags:
            _add(built, argument, seen)
    built.add_argument("--config", metavar="CONFIG", help="Read CLI options from a config file.")
    if (0, 5, 14) <= release < (0, 5, 20):
        built.add_argument("--cuda-graph-max-bs", type=int, dest="cuda_graph_max_bs_decode")
        built.add_argument("--cuda-graph-bs", type=int, nargs="+", dest="cuda_graph_bs_decode")
    if release >= (0, 5, 20):
        built.add_argument("--disable-cuda-graph", action="store_true", dest="disable_cuda_graph")
    return built


def _add(built: argparse.ArgumentParser, argument: Argument, seen: set[str]) -> None:
    flags = [flag for flag in argument.flags if flag not in seen]
    if argument.name in {"cuda_graph_max_bs_decode", "cuda_graph_bs_decode"}:
        flags = [flag for flag in flags if flag.endswith("decode")]
    if not flags:
        return
    seen.update(flags)
    if argument.kind == "bool":
        built.add_argument(*flags, action="store_true", dest=argument.name, default=argument.default)
        return
    base = {"ints": int, "floats": float, "int": int, "float": float}.get(argument.kind, str)
    options: dict[str, Any] = {"type": base, "dest": argument.name, "default": argument.default}
    if argument.kind in {"ints", "floats", "strs"}:
        options["nargs"] = "+"
    if argument.choices is not None:
        options["choices"] = list(argument.choices)
    if argument.name == "model_path":
        options["required"] = True
    built.add_argument(*flags, **options)
