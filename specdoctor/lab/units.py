"""Units of the practice host's service managers: files and drop-ins read as systemd reads them, and kept accordingly.

The system's manager looks under HOST_RUN/systemd and HOST_ETC/systemd, the user's under HOST_RUN/user/UID/systemd and
~/.config/systemd. What was read last (at start-up, or at `daemon-reload`) is what runs. Standard library only.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdoctor.lab.containers import plumbing
from specdoctor.lab.lab_state import write_atomically

RESETTING_LISTS = frozenset(
    """Environment EnvironmentFile ExecStart ExecStartPre ExecStartPost ExecStop ExecStopPost ExecReload ExecCondition
    PassEnvironment UnsetEnvironment""".split()
)
LAB_USER = 1000
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'", "a": "\a", "b": "\b"}


class UnitFault(Exception):
    """A unit cannot be used; the text is what systemctl says."""


@dataclass(frozen=True)
class Unit:
    """One unit as it is loaded: its settings by section and name, and where they came from."""

    name: str
    path: str
    drop_ins: tuple[str, ...]
    settings: dict[str, list[str]]
    files: dict[str, str]
    """Text of each file by its place on this computer."""

    def last(self, name: str, default: str = "") -> str:
        values = self.settings.get(name, [])
        return values[-1] if values else default

    @property
    def exec_start(self) -> list[str]:
        """The words of the command. Raises UnitFault when there is none, or more than one."""
        lines = self.settings.get("ExecStart", [])
        if not lines:
            raise UnitFault(f"{self.name}: Service has no ExecStart= setting. Refusing.")
        if len(lines) > 1:
            raise UnitFault(
                f"{self.name}: Service has more than one ExecStart= setting, which is only allowed for "
                "Type=oneshot services. Refusing."
            )
        return split_words(lines[0].lstrip("-@:+!"))


def split_words(text: str) -> list[str]:
    """Words of a setting: quotes and C escapes as systemd has them; `%%` is one per cent sign."""
    words: list[str] = []
    word, quote, open_word = "", "", False
    at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if (letter == "\\" and quote != "'") or letter == "\\":
            piece, at = _escape(text, at)
            word, open_word = word + piece, True
        elif quote:
            if letter == quote:
                quote = ""
            else:
                word += letter
        elif letter in "\"'":
            quote, open_word = letter, True
        elif letter.isspace():
            if open_word:
                words.append(word)
            word, open_word = "", False
        else:
            word, open_word = word + letter, True
    if quote:
        raise UnitFault(f"Unbalanced quoting, ignoring: {text}")
    return [*words, word] if open_word else words


def _escape(text: str, at: int) -> tuple[str, int]:
    letter = text[at : at + 1]
    if letter == "x" and re.fullmatch(r"[0-9a-fA-F]{2}", text[at + 1 : at + 3]):
        return chr(int(text[at + 1 : at + 3], 16)), at + 3
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 1
    return "\\" + letter, at + 1


def expand(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """`%%`, `%n`-like specifiers aside, and variables: `${X}` inside a word, `$X` as a word of its own (split)."""
    out: list[str] = []
    for number, word in enumerate(words):
        if number and re.fullmatch(r"\$[A-Za-z_]\w*", word):
            out += split_words(environment.get(word[1:], ""))
            continue
        text = re.sub(r"\$\$|\$\{(\w+)\}", lambda m: "$" if m[0] == "$$" else environment.get(m[1], ""), word)
        out.append(text.replace("%%", "%"))
    return out


@dataclass(frozen=True)
class Manager:
    """One service manager: the system's, or the login's own."""

    state: Path
    scope: str
    home: Path

    @property
    def folders(self) -> list[tuple[Path, str]]:
        """Where its units lie, the strongest first: the place on this computer, and the place a tool names."""
        run, etc = self.state / "files" / "run", self.state / "etc"
        if self.scope == "system":
            return [
                (etc / "systemd/system", "/etc/systemd/system"),
                (run / "systemd/transient", "/run/systemd/transient"),
                (run / "systemd/system", "/run/systemd/system"),
            ]
        own = run / "user" / str(LAB_USER)
        return [
            (self.home / ".config/systemd/user", f"{self.home}/.config/systemd/user"),
            (own / "systemd/transient", f"/run/user/{LAB_USER}/systemd/transient"),
            (own / "systemd/user", f"/run/user/{LAB_USER}/systemd/user"),
        ]

    def names(self) -> list[str]:
        """Units that have a file."""
        found = {path.name for place, _ in self.folders for path in place.glob("*.service")}
        return sorted(found)

    def read(self, name: str) -> Unit | None:
        """The unit as its files say now."""
        sources = [(place / name, f"{shown}/{name}") for place, shown in self.folders]
        main = next((each for each in sources if each[0].is_file()), None)
        if main is None:
            return None
        parts: dict[str, tuple[Path, str]] = {}
        for place, shown in reversed(self.folders):
            for path in (place / f"{name}.d").glob("*.conf"):
                parts[path.name] = (path, f"{shown}/{name}.d/{path.name}")
        chosen = [parts[key] for key in sorted(parts)]
        settings: dict[str, list[str]] = {}
        files: dict[str, str] = {}
        for path, _ in [main, *chosen]:
            text = path.read_text(encoding="utf-8", errors="replace")
            files[str(path)] = text
            _merge(settings, text)
        return Unit(name, main[1], tuple(shown for _, shown in chosen), settings, files)

    def loaded(self, name: str) -> Unit | None:
        """The unit as it was read last; a new file is read at once, as systemd does."""
        known = self._known()
        if name not in known:
            self._remember(name)
            known = self._known()
        entry = known.get(name)
        return (
            Unit(entry["name"], entry["path"], tuple(entry["drop_ins"]), entry["settings"], entry["files"])
            if entry
            else None
        )

    def reload(self) -> None:
        """`daemon-reload`: forget what was read."""
        self._path.unlink(missing_ok=True)
        for name in self.names():
            self._remember(name)

    def is_stale(self, name: str) -> bool:
        """Whether the files have changed since they were read."""
        loaded, now = self.loaded(name), self.read(name)
        return loaded is not None and (now is None or now.files != loaded.files)

    def record_name(self, unit: str) -> str:
        return f"unit-{self.scope}-{unit}"

    @property
    def _path(self) -> Path:
        return self.state / "kept" / f"loaded-{self.scope}"

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return known

    def _remember(self, name: str) -> None:
        unit = self.read(name)
        if unit is None:
            return
        entry = {"name": unit.name, "path": unit.path, "drop_ins": unit.drop_ins}
        known = {**self._known(), name: {**entry, "settings": unit.settings, "files": unit.files}}
        self._path.parent.mkdir(exist_ok=True)
        write_atomically(self._path, json.dumps(known))


def _merge(settings: dict[str, list[str]], text: str) -> None:
    """Read one file over what is known. Sections do not matter here: no name means two things."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;[" or "=" not in stripped:
            continue
        name, _, value = stripped.partition("=")
        name, value = name.strip(), value.strip()
        if name in RESETTING_LISTS:
            settings[name] = [*settings.get(name, []), value] if value else []
        else:
            settings[name] = [value]


def environment_of(unit: Unit, *, base: Mapping[str, str], user: str, home: Path) -> dict[str, str]:
    """What its process gets: the manager's few variables, the unit's own, and the host's plumbing."""
    out = {"LANG": "C.UTF-8", "PATH": DEFAULT_PATH, "HOME": str(home), "LOGNAME": user, "USER": user}
    out["INVOCATION_ID"] = secrets.token_hex(16)
    if unit.last("StandardOutput", "journal") == "journal":
        out["JOURNAL_STREAM"] = f"8:{secrets.randbelow(90000) + 10000}"
    for line in unit.settings.get("Environment", []):
        for word in split_words(line):
            name, _, value = word.partition("=")
            out[name] = value.replace("%%", "%")
    for each in unit.settings.get("EnvironmentFile", []):
        path = Path(each.lstrip("-"))
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            pairs = (line.strip().partition("=") for line in lines if "=" in line and line.strip()[0] not in "#;")
            out.update((name, value.strip("\"'")) for name, _, value in pairs)
        elif not each.startswith("-"):
            raise UnitFault(f"Failed to load environment files: No such file or directory: {each}")
    return {**out, **plumbing(base)}


def seconds_of(text: str, default: float) -> float:
    """`5`, `5s`, `1min 30s`, `250ms`."""
    factors = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "ms": 0.001, "h": 3600.0}
    found = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text)
    if text == "infinity":
        return 1e9
    return sum(float(number) * factors.get(unit, 1.0) for number, unit in found) if found else default


def time_words(seconds: float) -> str:
    """A span as `systemctl show` prints it."""
    if seconds >= 1e9:
        return "infinity"
    minutes, rest = divmod(seconds, 60)
    parts = [f"{int(minutes)}min"] if minutes else []
    whole = int(rest)
    thousandths = round((rest - whole) * 1000)
    parts += [f"{whole}s"] if whole else []
    parts += [f"{thousandths}ms"] if thousandths else []
    return " ".join(parts) or "0"
