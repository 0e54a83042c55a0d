"""The peer's load generator in a virtual environment of its own, made once; nothing of it gets into ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".venv-bench"
PEER = "sglang==0.5.9"
# What its module imports; its own list of dependencies would bring torch and CUDA.
IMPORTED = (
    "aiohttp", "numpy", "pybase64", "requests", "datasets", "pillow", "tqdm", "transformers", "tokenizers",
)  # fmt: skip
INSTALL_LIMIT_S = 900.0


class NotInstalled(Exception):
    """The peer cannot be had here; the words say why."""


def peer_python() -> Path:
    """The interpreter of the peer's environment. Raises NotInstalled."""
    python, done = PLACE / "bin" / "python", PLACE / ".done"
    if done.exists():
        return python
    print(f"(installing {PEER} into {PLACE.name})", end=" ", file=sys.stderr, flush=True)
    pip = [str(python), "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "install"]
    for argv in ([sys.executable, "-m", "venv", str(PLACE)], [*pip, "--no-deps", PEER], [*pip, *IMPORTED]):
        try:
            ran = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise NotInstalled(f"{PEER} could not be installed: {failure}") from failure
        if ran.returncode:
            said = (ran.stderr.strip().splitlines() or ["nothing was said"])[-1]
            raise NotInstalled(f"{PEER} could not be installed: {said}")
    done.touch()
    return python
