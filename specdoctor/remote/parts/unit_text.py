"""Words and settings in the language of systemd's unit files."""

import os
import re
from typing import Dict, List, Optional, Sequence, Tuple

from specdoctor.remote.parts.answer import Refusal

UNIT_NAME = re.compile(r"^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,200}\.service$")
EXEC = re.compile(r"\{ path=(?P<path>.*?) ; argv\[\]=(?P<argv>.*?) ; ignore_errors=", re.DOTALL)
PLAIN_WORD = re.compile(r"^[\w./=:,@+-]+$")
BECOMING = frozenset("numactl taskset nice ionice chrt env setpriv prlimit stdbuf".split())
NAMED_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "%": "%%", "$": "$$"}


def unit_word(word: str, dollars: bool = True) -> str:
    """One word, quoted so that systemd hands it over exactly. Raises Refusal for what it cannot express.

    `dollars`: in a command line, where a dollar sign would begin a variable.
    """
    out = []
    for letter in word:
        if letter == "\0" or 0xD800 <= ord(letter) <= 0xDFFF:
            raise Refusal("not-expressible", "a word of the command line is no text that systemd could hold")
        if letter == "$" and not dollars:
            out.append(letter)
        elif letter in NAMED_ESCAPES:
            out.append(NAMED_ESCAPES[letter])
        elif ord(letter) < 32 or ord(letter) == 127:
            out.append("\\x%02x" % ord(letter))
        else:
            out.append(letter)
    return '"%s"' % "".join(out)


def unit_path(path: str) -> str:
    """A path as a setting without quotes takes it."""
    if re.search(r"[\x00-\x20\x7f\"'\\]", path):
        raise Refusal("not-expressible", "the path %r cannot be written into a unit" % path)
    return path.replace("%", "%%")


def shown_properties(text: str) -> Dict[str, str]:
    """What `systemctl show` printed; a property that comes several times keeps all its lines."""
    found: Dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and re.match(r"^[A-Za-z0-9]+$", name):
            found[name] = found[name] + "\n" + value if name in found else value
    return found


def commands_shown(text: str) -> List[Tuple[str, str]]:
    """The commands of an Exec property: (path, words joined by blanks)."""
    return [(match.group("path"), match.group("argv")) for match in EXEC.finditer(text)]


def before_server(path: str, shown: str, argv: Sequence[str]) -> Optional[Tuple[List[str], int]]:
    """What of a shown command stands before the server's arguments, and how many of the running words it stands for.

    That is the program itself, after a wrapper that has become the server (numactl) where there is one; a script runs
    as the second word of its interpreter. systemd shows words without quotes and variables unexpanded, so a wrapper is
    known only where all its words can be told apart. None: the command is another one, a shell's say.
    """
    for taken in (1, 2):
        if len(argv) < taken or (taken == 2 and "/" not in argv[1]):
            continue
        program, tail = os.path.basename(argv[taken - 1]), " ".join(argv[taken:])
        first, _, rest = shown.partition(" ")
        if os.path.basename(first) == program and (rest == tail or "$" in rest):
            return ([first], taken) if os.path.basename(path) == os.path.basename(first) else None
        words = shown[: -len(tail)].rstrip(" ").split(" ") if tail and shown.endswith(" " + tail) else []
        wrapped = len(words) > 1 and os.path.basename(words[-1]) == program
        if wrapped and os.path.basename(words[0]) in BECOMING and all(PLAIN_WORD.match(each) for each in words):
            return (words, taken) if os.path.basename(path) == os.path.basename(words[0]) else None
    return None


def drop_in(run: str, command: Sequence[str], log: str, set_env: Dict[str, str], remove_env: Sequence[str]) -> str:
    """The text of the drop-in for a test: the changed command, no restarts, an own log."""
    lines = [
        "# Written by specdoctor for its run %s, removed when the original is put back; a reboot removes it too." % run,
        "[Service]",
        "ExecStart=",
        "ExecStart=" + " ".join(unit_word(word) for word in command),
        "Restart=no",
        "StandardOutput=file:" + unit_path(log),
        "StandardError=inherit",
    ]
    lines += ["UnsetEnvironment=" + unit_word(name, dollars=False) for name in remove_env]
    lines += ["Environment=" + unit_word("%s=%s" % pair, dollars=False) for pair in sorted(set_env.items())]
    return "\n".join(lines) + "\n"
