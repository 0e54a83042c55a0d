"""Arguments that an engine takes as it is given them: what each is where nobody gives it, and what the log records.

What an engine replaces by itself (memory, batch sizes, backends) is not among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from specdoctor.core.server import ServerView

_MANY = 200_000
_ADDRESS = re.compile(r" on https?://(?P<host>\[[^\]]{1,60}\]|[^\s:/]{1,80}):(?P<port>\d{2,5})")
_SAYS = re.compile(r"(?:Uvicorn running|Starting vLLM (?:API )?server(?: \d+)?|server(?: is|:) listening)$")
_BEFORE = 60
_SGLANG: dict[str, str | None] = {
    "port": "30000", "host": None, "tp_size": "1", "pp_size": "1", "dp_size": "1", "nnodes": "1",
    "node_rank": "0", "base_gpu_id": "0", "disable_cuda_graph": "False", "decode_log_interval": "40",
    "log_requests": "False", "enable_cache_report": "False", "stream_interval": "1", "enable_metrics": None,
    "trust_remote_code": None, "skip_tokenizer_init": None, "skip_server_warmup": None, "context_length": None,
    "max_total_tokens": None, "dtype": None, "random_seed": None,
}  # fmt: skip
"""None: the engine may have filled it in, so that only what was typed is compared."""
_VLLM: dict[str, str | None] = {
    "port": "8000", "host": "None", "tensor_parallel_size": "1", "pipeline_parallel_size": "1",
    "data_parallel_size": "1", "nnodes": "1", "enforce_eager": "False", "trust_remote_code": "False",
    "max_num_seqs": "None", "max_model_len": "None", "max_num_batched_tokens": "None", "dtype": "auto",
    "quantization": "None", "kv_cache_dtype": "auto", "disable_custom_all_reduce": "False", "enable_lora": "False",
    "enable_prefix_caching": "None", "enable_chunked_prefill": "None", "block_size": "None", "swap_space": "None",
    "enable_expert_parallel": "False", "gpu_memory_utilization": "None", "max_logprobs": "None",
}  # fmt: skip
"""`non-default args` names what was typed and nothing else; None: whatever it is, it was not typed."""
_LLAMA: dict[str, str | None] = {"port": "8080", "host": None, "parallel": None, "threads": None, "ctx_size": None}
DEFAULTS: dict[str, dict[str, str | None]] = {"sglang": _SGLANG, "vllm": _VLLM, "llamacpp": _LLAMA}
_OLD_DEFAULTS = {
    "gpu_memory_utilization": ("0.9", "0.92"), "swap_space": ("4", "4.0"), "max_logprobs": ("20",),
    "block_size": ("16",), "enable_prefix_caching": ("True", "False"), "enable_chunked_prefill": ("True", "False"),
    "host": ("0.0.0.0",),
}  # fmt: skip
"""Defaults of some versions: typed, they may be missing among what is not default."""
_WORDS = {
    "tp_size": "tensor-parallel size", "tensor_parallel_size": "tensor-parallel size",
    "pp_size": "pipeline-parallel size", "pipeline_parallel_size": "pipeline-parallel size",
    "dp_size": "data-parallel size", "data_parallel_size": "data-parallel size", "nnodes": "number of nodes",
}  # fmt: skip
_GRAPHS = ("disable_decode_cuda_graph", "cuda_graph_backend_decode", "cuda_graph_config")
_GRAPHS_OFF = re.compile(r"cuda.?graphs? (?:is|are) disabled|disabl\w+ (?:the )?(?:decode )?cuda.?graph", re.IGNORECASE)
_NO_GRAPHS = ("torch_native", "flex_attention")
_CONTEXT = re.compile(r"\bn_ctx\s{1,20}= (\d{1,9})")
_THREADS = re.compile(r"\bn_threads = (\d{1,5})")
_PAGE = 256


def argument_differences(view: ServerView, log: str, *, complete: bool) -> Iterator[tuple[str, str, str]]:
    """Name, what the launch line says and what the log records, of each argument on which they differ.

    `complete`: nothing but the launch line may have given arguments, so what it does not name has its default.
    """
    if view.log is None or (view.asked_source is not None and view.asked_source.where == view.log.where):
        return
    recorded = _recorded(view, log)
    for key, default in DEFAULTS.get(view.engine, {}).items():
        values = recorded.get(key, ())
        asked = view.asked.get(key)
        if not values or (asked is None and (default is None or not complete)):
            continue
        given = asked if asked is not None else str(default)
        if any(_same(given, value) for value in values) or _PLACEHOLDER.search(given) or _filled(key, view, log, asked):
            continue
        yield _WORDS.get(key, key), asked if asked is not None else "not given", values[0]


_PLACEHOLDER = re.compile(r"[$<>{}*]|://|\.\.\.")


def listens(log: str) -> list[tuple[str, str]]:
    """Hosts and ports on which the log says that the server listens; a long log is looked through for few words."""
    found: list[tuple[str, str]] = []
    at = log.find(" on http")
    while at >= 0:
        match = _ADDRESS.match(log, at)
        if match is not None and _SAYS.search(log[max(0, at - _BEFORE) : at]):
            found.append((match["host"].strip("[]"), match["port"]))
        at = log.find(" on http", at + 1)
    return found


def _recorded(view: ServerView, log: str) -> dict[str, tuple[str, ...]]:
    """Each argument's values as the log has them; none where it does not say."""
    reading = view.log
    heard = listens(log)
    ports, hosts = tuple(port for _, port in heard), tuple(host for host, _ in heard)
    if reading is None:
        return {}
    if view.engine == "sglang":
        args = reading.server_args or {}
        return {key: (str(args[key]),) for key in _SGLANG if key in args}
    if view.engine == "vllm" and reading.asked_args is not None:
        found = {key: _typed(key, reading.asked_args) for key in _VLLM}
        return {**found, **({"port": ports} if ports else {})}
    if view.engine == "vllm":
        return {"port": ports}
    if view.engine == "llamacpp":
        seats = view.log is not None and view.effective.get("parallel")
        start = log[:_MANY]
        return {
            "port": ports, "host": hosts, "parallel": (str(seats),) if seats else (),
            "threads": tuple(_THREADS.findall(start)), "ctx_size": tuple(_CONTEXT.findall(start)),
        }  # fmt: skip
    return {}


def _typed(key: str, asked: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """What vLLM's record of what is not default says; where it names nothing, the defaults."""
    value = asked.get(key)
    if value is not None:
        return (str(value),)
    default = _VLLM[key] or "None"
    return ("the default" if default == "None" else default, *_OLD_DEFAULTS.get(key, ()))


def _same(given: str, recorded: str) -> bool:
    one, other = given.strip().lower(), recorded.strip().lower()
    if one == other or (one, other) in (("none", "the default"), ("localhost", "127.0.0.1")):
        return True
    if {one, other} <= {"half", "float16", "fp16"} or {one, other} <= {"bf16", "bfloat16"}:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _filled(key: str, view: ServerView, log: str, asked: str | None) -> bool:
    """Whether the engine may have come to another value than was given by a way of its own."""
    if key == "disable_cuda_graph":
        return _graphs_by_another_way(view, log, asked)
    if key == "ctx_size" and asked is not None and asked.isdigit():
        seats = view.effective.get("parallel")
        room = _PAGE * (seats if isinstance(seats, int) else 1)
        told = [int(n) for n in _CONTEXT.findall(log[:_MANY])]
        capped = any(notice.kind == "context-capped" for notice in view.log.notices) if view.log else False
        return int(asked) == 0 or capped or any(abs(n - int(asked)) <= room for n in told)
    if key in ("parallel", "threads"):
        return asked is None or not asked.isdigit() or int(asked) == 0
    if key == "context_length" and view.log is not None:
        return asked is not None and not asked.isdigit()
    return False


def _graphs_by_another_way(view: ServerView, log: str, asked: str | None) -> bool:
    """Graphs are switched off by other arguments too, and by what cannot have them: backends, roles, devices."""
    args = (view.log.server_args if view.log is not None else None) or {}
    if asked is not None:
        shown = " ".join(str(args.get(name, "")) for name in _GRAPHS)
        seen = any(window.graph for window in view.log.decode) if view.log is not None else False
        return not seen and ("disabled" in shown or args.get("disable_decode_cuda_graph") is True)
    other = str(args.get("device", "cuda")) != "cuda" or args.get("disaggregation_mode") == "prefill"
    plain = str(args.get("attention_backend")) in _NO_GRAPHS
    return other or plain or any(name in view.asked for name in _GRAPHS) or _GRAPHS_OFF.search(log) is not None
