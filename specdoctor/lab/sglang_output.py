"""SGLang's words: log lines and per-request meta_info, in the wording of each version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specdoctor.lab.engine_types import Resolved

Release = tuple[int, int, int]
_QUIET = frozenset({"warning", "error", "critical"})
_CAPTURE_NAMES = {
    "decode": "target decode",
    "target_verify": "target verify",
    "draft_decode": "draft decode",
    "draft_extend": "draft extend",
}
GRAPH_PHASES = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


def says_info(args: Mapping[str, Any]) -> bool:
    """Whether info lines reach the log."""
    return str(args["log_level"]).lower() not in _QUIET


def says_access(args: Mapping[str, Any]) -> bool:
    """Whether uvicorn's access lines reach the log."""
    return str(args["log_level_http"] or args["log_level"]).lower() not in _QUIET


@dataclass(frozen=True)
class DecodeStats:
    """One interval of decode steps as the log reports it. `accept_length` is None without speculation."""

    running: int
    tokens: int
    usage: float
    accept_length: float | None
    graph: bool
    throughput: float
    queue: int


@dataclass(frozen=True)
class PrefillStats:
    """One prefill pass as the log reports it."""

    sequences: int
    new_tokens: int
    cached_tokens: int
    usage: float
    running: int
    queue: int
    pending_tokens: int
    graph: bool
    throughput: float = 0.0

    def with_throughput(self, tokens_per_s: float) -> PrefillStats:
        return replace(self, throughput=tokens_per_s)


def accept_rate(accept_length: float, draft_tokens: int, release: Release) -> float:
    """The rate of the Decode line and the gauge: its meaning changed with 0.5.11."""
    if release < (0, 5, 11):
        return accept_length / draft_tokens
    return (accept_length - 1.0) / (draft_tokens - 1) if draft_tokens > 1 else 0.0


def decode_line(stats: DecodeStats, *, release: Release, draft_tokens: int, iteration: int) -> str:
    """The `Decode batch` line without its stamp."""
    head = "Decode batch. " if release < (0, 5, 4) else "Decode batch, "
    if release[:3] == (0, 5, 4):
        head = f"Decode batch [{iteration}], "
    line = f"{head}#running-req: {stats.running}, #token: {stats.tokens}, token usage: {stats.usage:.2f}, "
    if stats.accept_length is not None:
        line += f"accept len: {stats.accept_length:.2f}, "
        if release >= (0, 5, 4):
            line += f"accept rate: {accept_rate(stats.accept_length, draft_tokens, release):.2f}, "
    line += f"cuda graph: {stats.graph}, gen throughput (token/s): {stats.throughput:.2f}, #queue-req: {stats.queue}"
    return line + (", " if release < (0, 5, 9) else "")


def prefill_line(stats: PrefillStats, *, release: Release, iteration: int) -> str:
    """The `Prefill batch` line without its stamp."""
    head = "Prefill batch. " if release < (0, 5, 4) else "Prefill batch, "
    if release[:3] == (0, 5, 4):
        head = f"Prefill batch [{iteration}], "
    line = (
        f"{head}#new-seq: {stats.sequences}, #new-token: {stats.new_tokens}, #cached-token: {stats.cached_tokens}, "
        f"token usage: {stats.usage:.2f}, #running-req: {stats.running}, #queue-req: {stats.queue}, "
    )
    if release >= (0, 5, 11):
        return line + (
            f"#pending-token: {stats.pending_tokens}, cuda graph: {stats.graph}, "
            f"input throughput (token/s): {stats.throughput:.2f}"
        )
    if release >= (0, 5, 9):
        return line + f"input throughput (token/s): {stats.throughput:.2f}, cuda graph: {stats.graph}"
    return line


def shard_bar(shards: int, seconds: float, *, release: Release) -> str:
    """The progress bar of loading weights: all its states in one line, apart by carriage returns."""
    name = "Multi-thread loading shards" if release >= (0, 5, 14) else "Loading safetensors checkpoint shards"
    states = [f"{name}: {0:3d}% Completed | 0/{shards} [00:00<?, ?it/s]"]
    for done in sorted({max(1, shards * part // 8) for part in range(1, 9)}):
        gone = seconds * done / shards
        rate = done / max(gone, 1e-3)
        left = seconds - gone
        speed = f"{rate:5.2f}it/s" if rate >= 1.0 else f"{1.0 / rate:5.2f}s/it"
        counted = f"{100 * done // shards:3d}% Completed | {done}/{shards}"
        states.append(f"{name}: {counted} [{_mmss(gone)}<{_mmss(left)}, {speed}]")
    return "".join(f"\r{state}" for state in states)


def capture_bar(sizes: Sequence[int], before_gb: float, after_gb: float, seconds: float) -> str:
    """The progress bar of capturing graphs, largest batch first."""
    count = len(sizes)
    states = [f"  0%|          | 0/{count} [00:00<?, ?it/s]"]
    for done, size in enumerate(reversed(sizes)):
        free = before_gb + (after_gb - before_gb) * min(done, 1)
        states.append(_capture_state(size, free, done, count, seconds))
    states.append(_capture_state(sizes[0], after_gb, count, count, seconds))
    return "".join(f"\r{state}" for state in states)


def _capture_state(size: int, free_gb: float, done: int, count: int, seconds: float) -> str:
    percent = 100 * done // count
    eighths = 80 * done // count
    partial = " ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else ""
    blocks = ("█" * (eighths // 8) + partial).ljust(10)
    gone = seconds * done / count
    rate = f"{done / max(gone, 1e-3):5.2f}it/s" if done else "?it/s"
    times = f"[{_mmss(gone)}<{_mmss(seconds - gone) if done else '?'}, {rate}]"
    return f"Capturing batches (bs={size} avail_mem={free_gb:.2f} GB): {percent:3d}%|{blocks}| {done}/{count} {times}"


def _mmss(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def capture_begin(phase: str, resolved: Resolved, free_gb: float) -> list[str]:
    """What is logged when the capture of a phase begins (and, in old versions, its list of sizes)."""
    release, sizes = resolved.release, list(resolved.graphs.batch_sizes)
    if release < (0, 5, 14):
        name = {"draft_decode": "draft ", "draft_extend": "draft extend "}.get(phase, "")
        lines = [f"Capture {name}cuda graph begin. This can take up to several minutes. avail mem={free_gb:.2f} GB"]
        return lines if name else [*lines, f"Capture cuda graph bs {sizes}"]
    width = resolved.graphs.phases[phase]
    key = "num_tokens_per_bs" if release < (0, 5, 17) else "num_tokens_per_req"
    batch = "" if release >= (0, 5, 20) and phase in {"decode", "target_verify"} else f"bs={sizes}, "
    what = f"Capture {_CAPTURE_NAMES[phase]} CUDA graph begin. backend=full, {key}={width}, "
    return [f"{what}{batch}avail mem={free_gb:.2f} GB"]


def capture_end(phase: str, resolved: Resolved, *, elapsed_s: float, used_gb: float, free_gb: float) -> str:
    """What is logged when the capture of a phase ends."""
    release = resolved.release
    if release < (0, 5, 14):
        name = {"draft_decode": "draft ", "draft_extend": "draft extend "}.get(phase, "")
        return (
            f"Capture {name}cuda graph end. Time elapsed: {elapsed_s:.2f} s. mem usage={used_gb:.2f} GB. "
            f"avail mem={free_gb:.2f} GB."
        )
    batch = ""
    if release >= (0, 5, 20) and phase in {"decode", "target_verify"}:
        batch = f"bs={list(resolved.graphs.batch_sizes)}, "
    return (
        f"Capture {_CAPTURE_NAMES[phase]} CUDA graph end. {batch}elapsed={elapsed_s:.2f} s, "
        f"mem usage={used_gb:.2f} GB, avail mem={free_gb:.2f} GB."
    )


def weights_end(class_name: str, *, release: Release, elapsed_s: float, free_gb: float, used_gb: float) -> str:
    """The line after a model's weights are in place."""
    if release < (0, 5, 7):
        kind = f"type={class_name}, dtype=torch.bfloat16"
        return f"Load weight end. {kind}, avail mem={free_gb:.2f} GB, mem usage={used_gb:.2f} GB."
    return (
        f"Load weight end. elapsed={elapsed_s:.2f} s, type={class_name}, avail mem={free_gb:.2f} GB, "
        f"mem usage={used_gb:.2f} GB."
    )


def kv_allocated(size_gb: float, tokens: int, *, release: Release, latent: bool, va: str = "") -> str:
    """The line after a KV pool is allocated."""
    dtype = "dtype: torch.bfloat16, " if release >= (0, 5, 14) else ""
    half = size_gb / 2.0
    size = f"KV size: {size_gb:.2f} GB" if latent else f"K size: {half:.2f} GB, V size: {half:.2f} GB"
    return f"KV Cache is allocated{va}. {dtype}#tokens: {tokens}, {size}"


def server_args_line(args: Mapping[str, Any], release: Release) -> str:
    """The line with every effective argument: a constructor call up to 0.5.19, a dict later."""
    if release >= (0, 5, 20):
        return f"server_args={dict(args)!r}"
    parts = [f"{name}={_argument_text(name, value)}" for name, value in args.items()]
    return f"server_args=ServerArgs({', '.join(parts)})"


def _argument_text(name: str, value: Any) -> str:
    if name != "cuda_graph_config" or not isinstance(value, dict):
        return repr(value)
    phases = [
        f"{phase}=PhaseConfig({', '.join(f'{key}={item!r}' for key, item in config.items())})"
        for phase, config in value.items()
    ]
    return f"CudaGraphConfig({', '.join(phases)})"


def speculative_meta(
    *,
    release: Release,
    completion_tokens: int,
    verify_count: int,
    correct: int,
    histogram: Sequence[int],
    draft_tokens: int,
) -> dict[str, Any]:
    """The speculative keys of meta_info for a finished request, under the names of the version."""
    if release < (0, 5, 4):
        return {"spec_verify_ct": verify_count}
    if verify_count == 0 and release >= (0, 5, 9):
        return {}
    proposed = verify_count * (draft_tokens - 1)
    rate = correct / proposed if proposed else 0.0
    length = completion_tokens / verify_count if verify_count else 0.0
    cut = _until_last(histogram)
    if release < (0, 5, 11):
        old: dict[str, Any] = {
            "spec_accept_rate": rate,
            "spec_accept_length": length,
            "spec_accept_token_num": correct,
            "spec_draft_token_num": proposed,
            "spec_verify_ct": verify_count,
        }
        return old | ({"spec_accept_histogram": cut} if release >= (0, 5, 9) else {})
    meta: dict[str, Any] = {"spec_accept_rate": rate, "spec_accept_length": length}
    if release >= (0, 5, 12):
        meta |= {"spec_num_correct_drafts": correct, "spec_num_proposed_drafts": proposed}
    meta["spec_verify_ct"] = verify_count
    copies = release < (0, 5, 20)
    if copies:
        meta |= {"spec_accepted_drafts": correct, "spec_proposed_drafts": proposed}
    if release >= (0, 5, 12):
        meta["spec_correct_drafts_histogram"] = cut
    if copies:
        meta["spec_accept_histogram"] = cut
    return meta


def _until_last(histogram: Sequence[int]) -> list[int]:
    last = max((index for index, count in enumerate(histogram) if count), default=-1)
    return list(histogram[: last + 1])
