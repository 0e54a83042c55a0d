"""A small, quick world for the tests of the practice host."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specdoctor.lab.host import PracticeHost
from specdoctor.lab.world import World

_SHAPE = {
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "vocab_size": 1024,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 4096,
}
TARGET = {**_SHAPE, "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 12, "eos_token_id": 2}
DRAFT = {**_SHAPE, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 512}
QUICK_START = {
    "import_s": 0.02,
    "distributed_s": 0.02,
    "tokenizer_s": 0.01,
    "memory_pool_s": 0.01,
    "capture_s": 0.02,
    "draft_capture_s": 0.02,
    "http_s": 0.01,
    "warmup_s": 0.02,
}
SPECULATION = (
    "--speculative-algorithm EAGLE3 --speculative-draft-model-path {models}/draft --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
).split()
BASE = "python3 -m sglang.launch_server --model-path {models}/target --served-model-name tiny --port 30000".split()


def small_world(*, argv: list[str] | None = None, gpus: int = 2, weights_ms: float = 4.0, **changes: Any) -> World:
    """Two GPUs, a target and an EAGLE-3 head, everything quick; `changes` replace top-level keys."""
    data: dict[str, Any] = {
        "name": "small",
        "engine": {"version": "0.5.17", "packages": {"torch": "2.11.0", "sglang-kernel": "0.4.5", "triton": "3.6.0"}},
        "host": {"name": "gpu-01", "cpus": 16, "dmesg": ["[    0.0] Linux version 6.8.0"]},
        "gpus": {"count": gpus, "tenants": [{"gpu": gpus - 1, "memory_gb": 10.0}]},
        "models": [
            {
                "id": "target",
                "path": "{models}/target",
                "layout": "llama",
                "config": TARGET,
                "weight_gb": 1.0,
                "kv_kb_per_token": 8.0,
                "load_s": 0.02,
                "cost": {"weights_ms": weights_ms},
            },
            {
                "id": "draft",
                "path": "{models}/draft",
                "kind": "eagle3",
                "layout": "llama-eagle3",
                "config": DRAFT,
                "weight_gb": 0.1,
                "kv_kb_per_token": 1.0,
                "load_s": 0.02,
                "cost": {"weights_ms": 0.3},
                "acceptance": {"as_trained": [0.8, 0.75, 0.7]},
                "training": {"states": ["out(1)", "out(5)", "out(8)"], "target": "target"},
            },
        ],
        "physics": {"noise": {"cv": 0.0, "drift_cv": 0.0, "hiccups_per_kstep": 0.0}, "startup": QUICK_START},
        "launch": {"argv": argv if argv is not None else [*BASE, "--enable-metrics", *SPECULATION]},
        "server": {"started_s_ago": 600},
        "ask": {"symptom": "slow"},
        "truth": {"verdict": "healthy"},
    }
    return World.model_validate({**data, **changes})


def run_on(host: PracticeHost, command: str, *, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in the host's surroundings, without the way over SSH."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        env=host.environment,
        cwd=host.home,
        input=stdin,
        capture_output=True,
        timeout=30,
        check=False,
    )


def text_on(host: PracticeHost, command: str) -> str:
    """Standard output of a command that must succeed."""
    result = run_on(host, command)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def eventually(condition: Callable[[], bool], *, within_s: float = 5.0) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def lives(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def marked_processes(host_id: str) -> list[int]:
    """Processes anywhere on this computer that carry the host's mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"LAB_ID={host_id}".encode() in environment.split(b"\0") and lives(int(entry.name)):
                found.append(int(entry.name))
    return found
