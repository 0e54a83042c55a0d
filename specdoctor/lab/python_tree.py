"""The practice host's Python: a real interpreter with the world's packages.

`<state>/bin/python3` is a link, `<state>/pyvenv.cfg` makes it a virtual environment, and `sglang` in its
site-packages is a handful of modules that start the practice server. Every distribution has its dist-info folder with
a RECORD whose hashes are right, so importlib.metadata and integrity checks work as on a real host.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specdoctor.lab.python_library import PACKAGE_ROOT, build_library

_LAUNCH_SERVER = '''"""Launch the inference server."""

import sys

if __name__ == "__main__":
    sys.path += {paths!r}
    from specdoctor.lab.server_process import main

    sys.exit(main({state!r}))
'''
_CLI_MAIN = '''"""The sglang command."""

import sys


def main():
    if sys.argv[1:2] == ["version"]:
        print("sglang version: {version}")
        return 0
    if sys.argv[1:2] != ["serve"]:
        print("usage: sglang [-h] {{serve,version}} ...", file=sys.stderr)
        return 2
    sys.path += {paths!r}
    from specdoctor.lab.server_process import main as serve

    return serve({state!r})


if __name__ == "__main__":
    sys.exit(main())
'''
_CONSOLE_SCRIPT = """#!{python}
import sys
from sglang.cli.main import main

sys.exit(main())
"""


def build_python(state: Path, *, version: str, packages: Mapping[str, str], cpus: int) -> None:
    """Write the environment under `state`: interpreter links, site-packages, the sglang modules and command."""
    base = Path(sys.executable).resolve()
    home = build_library(state, cpus=cpus)
    binaries = state / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    for name in ("python3", "python"):
        _link(binaries / name, base)
    (state / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    site = site_packages(state)
    site.mkdir(parents=True, exist_ok=True)
    _link(state / "site-packages", site)
    install_package(site, "sglang", version, files=engine_sources(state, version))
    for name, package_version in packages.items():
        if name.lower() != "sglang":
            install_package(site, name, package_version, files={})
    command = binaries / "sglang"
    command.write_text(_CONSOLE_SCRIPT.format(python=binaries / "python3"))
    command.chmod(0o755)


def build_install(state: Path, install: PlacedInstall, *, version: str, packages: Mapping[str, str]) -> None:
    """A virtual environment below `state` whose engine is an editable install from a checkout with a commit."""
    sources = engine_sources(state, version)
    checkout = install.source
    for path, text in sources.items():
        _write(checkout / "python" / path, text)
    _write(checkout / ".git" / "HEAD", "ref: refs/heads/main\n")
    _write(checkout / ".git" / "refs" / "heads" / "main", install.commit + "\n")
    (install.venv / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("python3", "python"):
        _link(install.venv / "bin" / name, Path(sys.executable).resolve())
    _write(install.venv / "pyvenv.cfg", f"home = {state / 'base' / 'bin'}\ninclude-system-site-packages = false\n")
    site = site_packages(install.venv)
    direct = json.dumps({"url": f"file://{checkout}/python", "dir_info": {"editable": True}})
    files = {
        "__editable__.sglang.pth": f"{checkout}/python\n",
        f"sglang-{version}.dist-info/direct_url.json": direct,
    }
    site.mkdir(parents=True, exist_ok=True)
    install_package(site, "sglang", version, files=files)
    for name, package_version in packages.items():
        if name.lower() != "sglang":
            install_package(site, name, package_version, files={})


@dataclass(frozen=True)
class PlacedInstall:
    """Where an editable install lies on this host, and its commit."""

    venv: Path
    source: Path
    commit: str


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def site_packages(state: Path) -> Path:
    """Where the environment's packages lie."""
    return state / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def engine_sources(state: Path, version: str) -> dict[str, str]:
    """The engine's own modules, which start the practice server."""
    paths = [str(PACKAGE_ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    return {
        "sglang/__init__.py": f'__version__ = "{version}"\n',
        "sglang/version.py": f'__version__ = "{version}"\n',
        "sglang/launch_server.py": _LAUNCH_SERVER.format(state=str(state), paths=paths),
        "sglang/cli/__init__.py": "",
        "sglang/cli/main.py": _CLI_MAIN.format(state=str(state), paths=paths, version=version),
    }


def install_package(site: Path, name: str, version: str, *, files: Mapping[str, str]) -> None:
    """Put a distribution into `site`: its files, and a dist-info folder that records them."""
    folded = name.replace("-", "_").replace(".", "_")
    info = f"{folded}-{version}.dist-info"
    contents = dict(files)
    contents[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    contents[f"{info}/INSTALLER"] = "pip\n"
    contents[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: practice\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    for path, text in contents.items():
        target = site / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    rows = [_record_row(path, text.encode()) for path, text in contents.items()]
    (site / info / "RECORD").write_text("\n".join([*rows, f"{info}/RECORD,,"]) + "\n", encoding="utf-8")


def date_packages(homes: Iterable[Path], *, at: float) -> None:
    """Let everything installed there have been put in place at `at`, seconds since the epoch."""
    for home in homes:
        for place in site_packages(home).glob("*.dist-info"):
            os.utime(place, (at, at))


def _record_row(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def _link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)
