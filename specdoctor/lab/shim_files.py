"""Puts the programs of the practice host into its `bin` folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from specdoctor.lab.python_library import PACKAGE_ROOT

SHIMS = {"nvidia-smi": "nvidia_smi", "numactl": "numactl", "pip": "pip", "pip3": "pip"}
KEEPERS = {
    "docker": "docker",
    "podman": "docker",
    "systemctl": "systemctl",
    "journalctl": "journalctl",
    "sudo": "sudo",
    "kubectl": "kubectl",
    **dict.fromkeys(("squeue", "scontrol", "scancel", "sbatch", "srun"), "slurm"),
}
HOST_TOOLS = ("hostname", "nproc", "lscpu", "dmesg", "taskset")

_PROGRAM = (
    "import sys; sys.path.insert(0, {root!r}); from specdoctor.lab.shims.{module} import main; sys.exit(main({argv}))"
)


def build_shims(state: Path) -> None:
    """One small shell script per program; each runs the real interpreter without site packages, to start fast."""
    for name, module in SHIMS.items():
        _write(state, name, module, argv="sys.argv[1:]")
    for name, module in {**dict.fromkeys(HOST_TOOLS, "host_tools"), **KEEPERS}.items():
        _write(state, name, module, argv=f"[{name!r}, *sys.argv[1:]]")


def _write(state: Path, name: str, module: str, *, argv: str) -> None:
    program = _PROGRAM.format(root=str(PACKAGE_ROOT), module=module, argv=argv)
    interpreter = shlex.quote(str(Path(sys.executable).resolve()))
    path = state / "bin" / name
    path.write_text(
        f'#!/bin/sh\nLAB_STATE={shlex.quote(str(state))} exec {interpreter} -I -S -c {shlex.quote(program)} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)


def build_bare_path(state: Path, system: list[str]) -> None:
    """A folder for PATH with this host's programs and the real computer's, but no Python and nothing that is one."""
    folder = state / "bare-bin"
    folder.mkdir(exist_ok=True)
    for place in [str(state / "bin"), *system]:
        for program in Path(place).glob("*"):
            link = folder / program.name
            if not program.name.startswith(("python", "pip", "sglang", "pypy")) and not link.is_symlink():
                link.symlink_to(program)
