"""The programs sent to a host must run there: Python 3.6 or later, standard library and each other only."""

from __future__ import annotations

import ast
import subprocess
import sysconfig
from pathlib import Path

import pytest

REMOTE = Path(__file__).parents[2] / "specdoctor" / "remote"
PROGRAMS = sorted(REMOTE.rglob("*.py"))

# Of the standard library of Python 3.6, what still exists in every later version and makes sense on a server.
STANDARD_LIBRARY = frozenset(
    """
    abc argparse array ast base64 binascii bisect bz2 calendar codecs collections configparser contextlib copy csv
    ctypes datetime decimal difflib email enum errno fcntl filecmp fnmatch fractions functools gc getopt getpass glob
    grp gzip hashlib heapq hmac html http importlib inspect io ipaddress itertools json keyword linecache locale
    logging lzma math mmap multiprocessing numbers operator os pathlib pkgutil platform posixpath pprint pwd queue
    random re reprlib resource sched secrets select selectors shlex shutil signal socket socketserver sqlite3 ssl stat
    statistics string struct subprocess sys sysconfig syslog tarfile tempfile termios textwrap threading time timeit
    token tokenize traceback types typing unicodedata urllib uuid warnings weakref xml zipfile zlib
    """.split()
)
# The one program that is refused where these are missing: it has the model calculated by them.
NEEDS = {"export_states.py": {"torch", "transformers", "safetensors.torch"}}
OWN = "specdoctor.remote"  # programs are made of parts, which are joined into one text before they are sent
FUTURE_FEATURES = frozenset({"division", "print_function", "unicode_literals", "absolute_import", "generator_stop"})


def imports(tree: ast.Module) -> set[str]:
    """Names of the modules that a program imports, at any depth; features of __future__ as __future__.NAME."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "__future__":
                found.update(f"__future__.{alias.name}" for alias in node.names)
            else:
                found.add("." * node.level + (node.module or ""))
    return found


def unknown_to_old_python(names: set[str]) -> set[str]:
    allowed_futures = {f"__future__.{feature}" for feature in FUTURE_FEATURES}
    return {
        name
        for name in names - allowed_futures
        if name.split(".")[0] not in STANDARD_LIBRARY and not f"{name}.".startswith(f"{OWN}.")
    }


def complaints_about_version(path: Path) -> str:
    """What vermin says about a file or folder that needs more than Python 3.6; empty if nothing."""
    run = subprocess.run(
        [
            str(Path(sysconfig.get_path("scripts")) / "vermin"),
            "--no-config-file",
            "--no-tips",
            "--processes=1",
            "--no-parse-comments",
            "--eval-annotations",
            "--violations",
            "--target=3.6-",
            "-vvv",
            str(path),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr


def name_of(path: Path) -> str:
    return str(path.relative_to(REMOTE))


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_has_the_grammar_of_python_3_6(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 6))
    assert isinstance(tree, ast.Module)


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_imports_only_the_old_standard_library(path: Path) -> None:
    unknown = unknown_to_old_python(imports(ast.parse(path.read_text(encoding="utf-8"))))
    assert unknown == NEEDS.get(name_of(path), set())


def test_uses_nothing_newer_than_python_3_6() -> None:
    assert complaints_about_version(REMOTE) == ""


@pytest.mark.parametrize(
    "source",
    [
        "import dataclasses",
        "from __future__ import annotations",
        "import numpy",
        "from specdoctor.core import model",
        "from . import other",
        "import specdoctor.remotes",
        "def late():\n    import requests",
    ],
)
def test_a_foreign_import_would_be_found(source: str) -> None:
    assert unknown_to_old_python(imports(ast.parse(source))) != set()


def test_parts_may_import_each_other() -> None:
    assert unknown_to_old_python(imports(ast.parse("from specdoctor.remote.programs.procfs import PROC"))) == set()


@pytest.mark.parametrize(
    "source",
    [
        "print((n := 10))",
        "x = 1\nprint(f'{x=}')",
        "import subprocess\nsubprocess.run(['a'], capture_output=True)",
        "import subprocess\nsubprocess.run(['a'], text=True)",
        "def f(x: list[int]) -> None: ...",
        "def f(x, /): ...",
        "'ab'.removeprefix('a')",
        "import time\ntime.time_ns()",
    ],
)
def test_a_newer_feature_would_be_found(source: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(source + "\n")
    assert complaints_about_version(program) != ""
