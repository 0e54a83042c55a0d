"""Excerpts of real vLLM 0.32.0 servers (CPU build, tiny models): logs without routes, frames and noise of libraries."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data" / "engine-vllm"


def excerpt(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")
