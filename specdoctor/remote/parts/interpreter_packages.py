"""Distributions installed for a server's interpreter, read from their files; nothing of the engine is imported."""

import base64
import hashlib
import json
import os
import re
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from specdoctor.remote.parts.commands import run_command
from specdoctor.remote.parts.procfs import find_program, link_of, proc_path, read_bytes, read_text

WANTED = re.compile(
    r"^(?:sglang.*|sgl-.*|flashinfer.*|torch|torchao|torchvision|triton|transformers|tokenizers|safetensors|vllm.*|numpy"
    r"|llama-cpp.*|tensorrt-llm|nvidia-nccl.*|nvidia-cudnn.*|nvidia-cublas.*|cuda-python|xgrammar|outlines.*|accelerate"
    r"|huggingface-hub|speculators|compressed-tensors|deep-gemm|deep-ep|mooncake.*|nixl|aiter|flash-attn.*|uvloop"
    r"|setproctitle|pyzmq|fastapi|uvicorn)$"
)
CHECKED = re.compile(r"^sglang$")
RECORD_SECONDS = 1.5
INTERPRETER_S = 15.0
"""Long for an import path; a busy host, or a virtual environment on a slow disk, takes its time."""
MOST_MISMATCHES = 50


def names_of(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def interpreter_of(argv: Sequence[str], env: Dict[str, str], cwd: Optional[str], exe: Optional[str]) -> Optional[str]:
    """The Python that a server was started with: by its first word where that leads to its exe (a venv), else exe."""
    word = argv[0] if argv else ""
    if "/" in word:
        candidate = os.path.normpath(os.path.join(cwd or "/", word))
    else:
        candidate = find_program(word, env.get("PATH", os.defpath)) or "" if word else ""
    if candidate and exe and os.path.realpath(candidate) == os.path.realpath(exe):
        return candidate
    return exe if exe and "python" in os.path.basename(exe) else candidate or exe


def root_of(pid: int) -> str:
    """Prefix under which the files of a process are seen from here: empty unless it lives in a container."""
    space, own = link_of(pid, "ns/mnt"), link_of(os.getpid(), "ns/mnt")
    if link_of(pid, "root") in (None, "/") and (space is None or own is None or space == own):
        return ""
    return proc_path(pid, "root")


def import_path(interpreter: str, env: Dict[str, str], cwd: Optional[str], root: str) -> List[str]:
    """Folders on the interpreter's sys.path: asked of itself, or the usual ones when it cannot be run from here."""
    asked: Dict[str, Any] = {}
    if not root and "python" in os.path.basename(interpreter):
        code = "import json, sys; print(json.dumps(sys.path))"
        asked = run_command([interpreter, "-B", "-c", code], INTERPRETER_S, dict(env, PYTHONDONTWRITEBYTECODE="1"))
    lines = str(asked.get("stdout") or "").strip().splitlines()
    try:
        folders = [str(folder) for folder in json.loads(lines[-1])] if lines else []
    except ValueError:
        folders = []
    if not folders:
        folders = env.get("PYTHONPATH", "").split(":") + _usual_folders(root, interpreter, env)
    first = [cwd] if cwd else []
    return list(dict.fromkeys(root + os.path.normpath(folder) for folder in first + folders if folder.startswith("/")))


def _usual_folders(root: str, interpreter: str, env: Dict[str, str]) -> List[str]:
    found: List[str] = []
    if "/site-packages/" in interpreter:  # a program that a package brought along
        found.append(interpreter.split("/site-packages/", maxsplit=1)[0] + "/site-packages")
    prefixes = [env.get("VIRTUAL_ENV"), env.get("CONDA_PREFIX"), os.path.dirname(os.path.dirname(interpreter))]
    for prefix in [prefix for prefix in prefixes if prefix] + ["/usr/local", "/usr", "/opt/venv"]:
        library = prefix + "/lib"
        try:
            versions = sorted(name for name in os.listdir(root + library) if re.match(r"^python3(\.\d+)?$", name))
        except OSError:
            continue
        for version in versions:
            found += ["%s/%s/%s" % (library, version, place) for place in ("site-packages", "dist-packages")]
    return found


def _metadata_folders(folders: Iterable[str]) -> List[str]:
    found: List[str] = []
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found += [folder + "/" + name for name in sorted(names) if name.endswith((".dist-info", ".egg-info"))]
    return found


def _headers(place: str) -> Tuple[str, str]:
    """Name and version of a distribution; falls back to the name of its folder."""
    text = read_text(place + "/METADATA", 8192) or read_text(place + "/PKG-INFO", 8192) or ""
    name = re.search(r"^Name: *(\S+)", text, re.MULTILINE)
    version = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
    stem = os.path.basename(place).rsplit(".", 1)[0].split("-")
    return name.group(1) if name else stem[0], version.group(1) if version else [*stem, ""][1]


def _record_check(place: str, deadline: float) -> Tuple[int, List[str]]:
    """How many Python files of RECORD were compared with their hashes, and which differ; stops at `deadline`."""
    base, checked = os.path.dirname(place), 0
    wrong: List[str] = []
    for line in (read_text(place + "/RECORD", 1 << 24) or "").splitlines():
        match = re.match(r'^"?([^",]+\.py)"?,sha256=([\w=-]+),', line)
        if not match:
            continue
        if time.monotonic() > deadline:
            break
        raw = read_bytes(base + "/" + match.group(1), 1 << 24)
        checked += 1
        if raw is None:
            wrong.append(match.group(1) + " (missing)")
            continue
        digest = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).decode("ascii").rstrip("=")
        if digest != match.group(2).rstrip("="):
            wrong.append(match.group(1))
    return checked, wrong[:MOST_MISMATCHES]


def _git_folder(place: str) -> Optional[str]:
    """The .git folder (or the worktree's own) that governs a source folder."""
    while place and place != "/":
        if os.path.isdir(place + "/.git"):
            return place + "/.git"
        pointer = read_text(place + "/.git", 4096)
        if pointer and pointer.startswith("gitdir:"):
            return os.path.normpath(os.path.join(place, pointer[7:].strip()))
        place = os.path.dirname(place)
    return None


def git_commit(folder: str) -> Optional[str]:
    """The commit that HEAD names, read from the repository's files."""
    head = (read_text(folder + "/HEAD", 4096) or "").strip()
    if not head.startswith("ref:"):
        return head or None
    name = head[4:].strip()
    common = (read_text(folder + "/commondir", 4096) or "").strip()
    bases = [folder, os.path.normpath(os.path.join(folder, common))] if common else [folder]
    for base in bases:
        loose = (read_text(base + "/" + name, 4096) or "").strip()
        if loose:
            return loose
        packed = re.search(r"^([0-9a-f]{40,64}) %s$" % re.escape(name), read_text(base + "/packed-refs") or "", re.M)
        if packed:
            return packed.group(1)
    return None


def _git_dirty(source: str) -> Optional[bool]:
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0")
    command = ["git", "-C", source, "status", "--porcelain", "--untracked-files=no"]
    reply = run_command(command, 3.0, environment)
    return None if reply["exit_code"] != 0 else bool(str(reply["stdout"]).strip())


def _origin(place: str, root: str) -> Dict[str, Any]:
    """Where an editable or checked-out distribution comes from, and the state of its checkout."""
    found: Dict[str, Any] = {"editable_url": None, "git_commit": None, "git_dirty": None}
    try:
        direct = json.loads(read_text(place + "/direct_url.json", 65536) or "{}")
    except ValueError:
        direct = {}
    direct = direct if isinstance(direct, dict) else {}
    url = direct.get("url")
    if isinstance(direct.get("vcs_info"), dict):
        found["git_commit"] = direct["vcs_info"].get("commit_id")
        found["editable_url"] = url
    source = None
    if isinstance(url, str) and url.startswith("file://") and (direct.get("dir_info") or {}).get("editable"):
        found["editable_url"] = url
        source = url[7:]
    elif place.endswith(".egg-info"):
        source = os.path.dirname(place)
    folder = _git_folder(root + source) if source else None
    if folder and source:
        found["git_commit"] = git_commit(folder)
        found["git_dirty"] = None if root else _git_dirty(source)
        found["editable_url"] = found["editable_url"] or "file://" + source
    return found


def _changed_at(place: str) -> Optional[float]:
    """When the metadata were written: the installation, or the build of the image that they came with."""
    try:
        return os.stat(place).st_mtime
    except OSError:
        return None


def read_packages(folders: Iterable[str], root: str) -> List[Dict[str, Any]]:
    """The wanted distributions, in the order in which Python would find them; a name met twice is listed twice."""
    deadline = time.monotonic() + RECORD_SECONDS
    found: List[Dict[str, Any]] = []
    seen: Set[str] = set()
    for place in _metadata_folders(folders):
        if not WANTED.match(names_of(os.path.basename(place).rsplit(".", 1)[0].split("-")[0])):
            continue
        if os.path.realpath(place) in seen:
            continue
        seen.add(os.path.realpath(place))
        name, version = _headers(place)
        checked, wrong = _record_check(place, deadline) if CHECKED.match(names_of(name)) else (0, [])
        package: Dict[str, Any] = {"name": name, "version": version, "location": os.path.dirname(place)[len(root) :]}
        package["installed_at"] = _changed_at(place)
        found.append(dict(package, record_checked=checked, record_mismatches=wrong, **_origin(place, root)))
    return found
