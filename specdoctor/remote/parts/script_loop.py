"""Whether the script that started a server would start it again: read here, where it lies, and never sent.

`how` it would: "loop" (without a bound: `while`, `until`, `for ((;;))`, `while True`), "bounded" (any other loop that
waits for what it starts), "itself" (a function or a script that starts it and then runs itself again). "maybe" is a
list of servers that are put in the background, and "unread" a program above the server that cannot be read here.
"""

import os
import re
from typing import Any, Dict, List, Optional, Sequence

from specdoctor.remote.parts.engine_processes import ENGINES, WRAPPERS, Server
from specdoctor.remote.parts.interpreter_packages import root_of
from specdoctor.remote.parts.procfs import Stat, ancestors_of, argv_of, link_of, read_bytes
from specdoctor.remote.parts.python_script import python_loop, python_tree
from specdoctor.remote.parts.shell_script import SHELL_NAMES, shell_loop

SCRIPT_BYTES = 1 << 17
ENGINE_WORDS = re.compile("|".join("(?:%s)" % pattern for name, pattern in ENGINES if name != "beside"), re.I)
UNREAD_LANGUAGES = re.compile(
    r"(perl|ruby|jruby|node|nodejs|deno|bun|lua|luajit|php|tclsh|wish|expect|Rscript|julia|pwsh|groovy|guile|gawk|mawk|awk"
    r"|make|gmake|xargs|watch|entr|fish|csh|tcsh|elvish|xonsh)[\d.]*$"
)
OTHER_SHELLS = frozenset("fish csh tcsh elvish xonsh".split())
OTHER_LOOP = re.compile(r"\b(?:while|until|for|foreach|repeat|loop|function|exec)\b")
WITH_VALUE = frozenset("-o -O +o +O -W -X --rcfile --init-file --check-hash-based-pycs".split())
PASSING_ON = WRAPPERS - frozenset("tmux screen docker podman nerdctl kubectl ray srun salloc fish".split())


def loops_above(servers: List[Server], stats: Dict[int, Stat]) -> Dict[int, Optional[Dict[str, Any]]]:
    """By process: what a script above a server has of loops that start it."""
    found: Dict[int, Optional[Dict[str, Any]]] = {}
    for server in servers:
        chain = [server.pid, *ancestors_of(server.pid, stats)]
        near = True
        for below, pid in zip(chain, chain[1:]):
            argv = argv_of(pid) or []
            found[pid] = found.get(pid) or script_loop(pid, argv_of(below) or [])
            if near and pid != 1 and not found[pid]:
                found[pid] = unread(pid, argv)
            near = near and passes_on(argv)
    return found


def script_loop(pid: int, below: Sequence[str]) -> Optional[Dict[str, Any]]:
    """{"path", "line", "proved", "how"} for a process that runs a script with such a loop; None for any other.

    `below` are the words of the process that it started.
    """
    argv = argv_of(pid) or []
    path, words = script_of(argv), words_given(argv)
    text = words if path is None else script_text(pid, path)
    if text is None:
        return None
    found = (python_loop if is_python(argv[0]) else shell_loop)(text, wanted(below), path or "")
    shown = path or "its -c"
    return {"path": shown, "line": found[0], "proved": found[1] != "maybe", "how": found[1]} if found else None


def script_text(pid: int, path: str) -> Optional[str]:
    """The text of a script; None where it cannot be read, or not to its end."""
    place = root_of(pid) + (path if path.startswith("/") else "%s/%s" % (link_of(pid, "cwd") or "", path))
    raw = read_bytes(place, SCRIPT_BYTES + 1) if os.path.isfile(place) else None
    return raw.decode("utf-8", "replace") if raw is not None and len(raw) <= SCRIPT_BYTES else None


def unread(pid: int, argv: Sequence[str]) -> Optional[Dict[str, Any]]:
    """Why it cannot be told what this process does when the server ends; None where it is no script, or was read."""
    path = script_of(argv)
    language = unread_language(argv, os.path.basename(link_of(pid, "exe") or ""))
    if language:
        why = "specdoctor does not read programs of %s" % language
    elif path is None:
        return None
    else:
        text = script_text(pid, path)
        if text is not None and not (is_python(argv[0]) and python_tree(text) is None):
            return None
        why = "its script %s is %s" % (path, "not to be read" if text is None else "no Python that can be read here")
    return {"path": path or " ".join(argv[:2])[:120], "line": 0, "proved": False, "how": "unread", "why": why}


def unread_language(argv: Sequence[str], program: str) -> str:
    """The language of a program that runs in an interpreter which is not read here; "" for an interactive shell."""
    for name in [os.path.basename(argv[0]) if argv else "", program]:
        match = UNREAD_LANGUAGES.match(name)
        if match and match.group(1) not in OTHER_SHELLS:
            return match.group(1)
        if match:
            first = next((word for word in argv[1:] if not word.startswith("-")), "")
            given = "-c" in argv[1:-1]
            return match.group(1) if (OTHER_LOOP.search(argv[argv.index("-c") + 1]) if given else first) else ""
    return ""


def passes_on(argv: Sequence[str]) -> bool:
    """Whether this is a shell's script or a wrapper, itself a step of what is above it: no log-in, no terminal."""
    name = os.path.basename(argv[0]) if argv else ""
    if name in SHELL_NAMES:
        return script_of(argv) is not None or words_given(argv) is not None
    return name in PASSING_ON and len(argv) > 1


def is_python(word: str) -> bool:
    return re.match(r"python[\d.]*$", os.path.basename(word)) is not None


def words_given(argv: Sequence[str]) -> Optional[str]:
    """The program in the words behind `-c` of a shell or of Python."""
    name = os.path.basename(argv[0]).lstrip("-") if argv else ""
    if name in SHELL_NAMES or is_python(name):
        for word, after in zip(argv[1:], argv[2:]):
            if re.match(r"-[a-zA-Z]*c$", word):
                return after
            if not word.startswith(("-", "+")):
                return None
    return None


def script_of(argv: Sequence[str]) -> Optional[str]:
    """The file of a shell or of Python that this command line runs; None where its words are the program."""
    name = os.path.basename(argv[0]).lstrip("-") if argv else ""
    if name not in SHELL_NAMES and not is_python(name):
        return None
    skip = False
    for word in argv[1:]:
        if word in ("-", "-m", "-s", "-i") or re.match(r"-[a-zA-Z]*c$", word):
            return None
        if not word.startswith(("-", "+")) and not skip:
            return word
        skip = word in WITH_VALUE
    return None


def wanted(below: Sequence[str]) -> "re.Pattern[str]":
    """What names the process below: its script, or its program where that is no interpreter."""
    inner = script_of(below) or (below[0] if below else "")
    name = os.path.basename(inner)
    known = name and name not in SHELL_NAMES and not is_python(name)
    return re.compile(ENGINE_WORDS.pattern + (r"|(?:^|[\s/\"'])%s(?:$|[\s\"';&|)])" % re.escape(name) if known else ""))
