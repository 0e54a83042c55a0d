"""pip of the practice host: `list`, `show`, `freeze`, `--version` over the packages the world installed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from email.parser import HeaderParser
from pathlib import Path

from specdoctor.lab.lab_state import read_world, state_dir

PIP_VERSION = "25.3"


def main(argv: Sequence[str]) -> int:
    """Answer one call; returns the exit code."""
    state = state_dir()
    words = [word for word in argv if word not in ("-q", "--disable-pip-version-check", "--no-color")]
    site = state / "site-packages"
    if words[:1] in (["--version"], ["-V"]):
        minor = ".".join(read_world(state)["engine"]["python"].split(".")[:2])
        print(f"pip {PIP_VERSION} from {site}/pip (python {minor})")
        return 0
    packages = _packages(site)
    if words[:1] == ["list"]:
        return _list(packages, words[1:])
    if words[:1] == ["freeze"]:
        print("\n".join(f"{name}=={version}" for name, version, _ in packages))
        return 0
    if words[:1] == ["show"]:
        return _show(packages, words[1:])
    sys.stderr.write(f'ERROR: unknown command "{words[0] if words else ""}"\n')
    return 1


def _packages(site: Path) -> list[tuple[str, str, Path]]:
    found = []
    for folder in site.glob("*.dist-info"):
        head = HeaderParser().parsestr((folder / "METADATA").read_text(encoding="utf-8"), headersonly=True)
        found.append((str(head["Name"]), str(head["Version"]), folder))
    return sorted(found, key=lambda item: item[0].lower())


def _list(packages: list[tuple[str, str, Path]], options: list[str]) -> int:
    text = " ".join(options).replace("--format ", "--format=")
    if "--format=json" in text:
        print(json.dumps([{"name": name, "version": version} for name, version, _ in packages]))
    elif "--format=freeze" in text:
        print("\n".join(f"{name}=={version}" for name, version, _ in packages))
    else:
        width = max(len("Package"), *(len(name) for name, _, _ in packages))
        versions = max(len("Version"), *(len(version) for _, version, _ in packages))
        print(f"{'Package':<{width}} Version\n{'-' * width} {'-' * versions}")
        print("\n".join(f"{name:<{width}} {version}" for name, version, _ in packages))
    return 0


def _show(packages: list[tuple[str, str, Path]], words: list[str]) -> int:
    with_files = "-f" in words or "--files" in words
    wanted = [word for word in words if not word.startswith("-")]
    if not wanted:
        sys.stderr.write("WARNING: ERROR: Please provide a package name or names.\n")
        return 1
    known = {_folded(name): (name, version, folder) for name, version, folder in packages}
    missing = [word for word in wanted if _folded(word) not in known]
    if missing:
        sys.stderr.write(f"WARNING: Package(s) not found: {', '.join(missing)}\n")
    blocks = [_block(*known[_folded(word)], with_files=with_files) for word in wanted if _folded(word) in known]
    if blocks:
        print("\n---\n".join(blocks))
    return 0 if blocks else 1


def _folded(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _block(name: str, version: str, folder: Path, *, with_files: bool) -> str:
    lines = [f"Name: {name}", f"Version: {version}", "Summary: ", "Home-page: ", "Author: ", "Author-email: "]
    lines += ["License: ", f"Location: {folder.parent}"]
    direct = folder / "direct_url.json"
    if direct.exists():
        origin = json.loads(direct.read_text(encoding="utf-8"))
        if origin.get("dir_info", {}).get("editable"):
            lines.append(f"Editable project location: {str(origin['url']).removeprefix('file://')}")
    lines += ["Requires: ", "Required-by: "]
    if with_files:
        rows = (folder / "RECORD").read_text(encoding="utf-8").splitlines()
        lines += ["Files:", *(f"  {row.split(',')[0]}" for row in rows)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
