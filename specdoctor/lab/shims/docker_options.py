"""The options of `docker` (and podman) commands, read and refused as its own parser does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SWITCH, VALUE, LIST = "switch", "value", "list"
USAGE_EXIT = 125

_CREATE_VALUES = """name shm-size ipc network net restart entrypoint workdir user hostname domainname log-driver pid uts
userns cpuset-cpus cpuset-mems cpus cpu-shares cpu-period cpu-quota memory memory-swap memory-reservation
memory-swappiness pids-limit oom-score-adj stop-signal stop-timeout runtime cgroupns cgroup-parent health-cmd
health-interval health-retries health-timeout health-start-period pull platform cidfile isolation mac-address ip
kernel-memory blkio-weight detach-keys gpus storage-driver""".split()
_CREATE_LISTS = """env env-file volume mount device ulimit cap-add cap-drop security-opt label label-file log-opt
publish group-add add-host dns dns-search dns-option tmpfs sysctl expose volumes-from annotation device-cgroup-rule link
storage-opt network-alias attach""".split()
_CREATE_SWITCHES = """rm detach interactive tty init privileged read-only oom-kill-disable no-healthcheck publish-all
quiet sig-proxy disable-content-trust""".split()
_CREATE_SHORT = {
    "e": "env",
    "v": "volume",
    "w": "workdir",
    "u": "user",
    "h": "hostname",
    "l": "label",
    "p": "publish",
    "P": "publish-all",
    "m": "memory",
    "c": "cpu-shares",
    "d": "detach",
    "i": "interactive",
    "t": "tty",
    "a": "attach",
    "q": "quiet",
}


@dataclass(frozen=True)
class Command:
    """What one command takes. `least` and `most` count its arguments; options end at the first one if `stops`."""

    usage: str
    options: Mapping[str, str]
    short: Mapping[str, str] = field(default_factory=dict)
    least: int = 0
    most: int | None = None
    stops: bool = False


def _kinds(*, values: str = "", lists: str = "", switches: str = "") -> dict[str, str]:
    return {
        **dict.fromkeys(values.split(), VALUE),
        **dict.fromkeys(lists.split(), LIST),
        **dict.fromkeys(switches.split(), SWITCH),
    }


_CREATE = {
    **dict.fromkeys(_CREATE_VALUES, VALUE),
    **dict.fromkeys(_CREATE_LISTS, LIST),
    **dict.fromkeys(_CREATE_SWITCHES, SWITCH),
}
_MAKE = "[OPTIONS] IMAGE [COMMAND] [ARG...]"
_SOME = "[OPTIONS] CONTAINER [CONTAINER...]"

COMMANDS: dict[str, Command] = {
    "ps": Command(
        "[OPTIONS]",
        _kinds(values="format last", lists="filter", switches="all quiet no-trunc latest size"),
        {"a": "all", "q": "quiet", "f": "filter", "n": "last", "l": "latest", "s": "size"},
        most=0,
    ),
    "inspect": Command(
        "[OPTIONS] NAME|ID [NAME|ID...]", _kinds(values="format type", switches="size"), {"f": "format"}, least=1
    ),
    "image inspect": Command("[OPTIONS] IMAGE [IMAGE...]", _kinds(values="format platform"), {"f": "format"}, least=1),
    "images": Command(
        "[OPTIONS] [REPOSITORY[:TAG]]",
        _kinds(values="format", lists="filter", switches="all quiet no-trunc digests"),
        {"a": "all", "q": "quiet", "f": "filter"},
        most=1,
    ),
    "create": Command(_MAKE, _CREATE, _CREATE_SHORT, least=1, stops=True),
    "run": Command(_MAKE, _CREATE, _CREATE_SHORT, least=1, stops=True),
    "start": Command(
        _SOME,
        _kinds(values="detach-keys", switches="attach interactive"),
        {"a": "attach", "i": "interactive"},
        least=1,
    ),
    "stop": Command(_SOME, _kinds(values="timeout time signal"), {"t": "timeout", "s": "signal"}, least=1),
    "restart": Command(_SOME, _kinds(values="timeout time signal"), {"t": "timeout", "s": "signal"}, least=1),
    "kill": Command(_SOME, _kinds(values="signal"), {"s": "signal"}, least=1),
    "rm": Command(
        _SOME,
        _kinds(switches="force volumes link ignore"),
        {"f": "force", "v": "volumes", "l": "link"},
        least=1,
    ),
    "wait": Command("CONTAINER [CONTAINER...]", {}, least=1),
    "logs": Command(
        "[OPTIONS] CONTAINER",
        _kinds(values="tail since until", switches="follow timestamps details"),
        {"n": "tail", "f": "follow", "t": "timestamps"},
        least=1,
        most=1,
    ),
    "exec": Command(
        "[OPTIONS] CONTAINER COMMAND [ARG...]",
        _kinds(
            values="workdir user detach-keys",
            lists="env env-file",
            switches="interactive tty detach privileged",
        ),
        {"i": "interactive", "t": "tty", "d": "detach", "e": "env", "w": "workdir", "u": "user"},
        least=2,
        stops=True,
    ),
    "update": Command(
        _SOME, _kinds(values="restart cpuset-cpus cpuset-mems cpus memory memory-swap pids-limit"), least=1
    ),
    "version": Command("[OPTIONS]", _kinds(values="format"), {"f": "format"}, most=0),
    "info": Command("[OPTIONS]", _kinds(values="format"), {"f": "format"}, most=0),
}
KNOWN_ELSEWHERE = frozenset(
    """attach build builder bake buildx commit compose config context cp diff events export history image import load
    login logout manifest network node pause plugin port pull push rename save search secret service stack stats swarm
    system tag top trust unpause volume""".split()
)
"""Commands that docker has and this host does not offer."""


class UsageRefused(Exception):
    """The command line is refused: what docker prints, and its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


@dataclass(frozen=True)
class Given:
    """A command line that was understood."""

    command: str
    switches: frozenset[str]
    values: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    arguments: tuple[str, ...]

    def all(self, name: str) -> tuple[str, ...]:
        return self.lists.get(name, ())

    def has(self, name: str) -> bool:
        return name in self.switches


def read_options(tool: str, name: str, words: Sequence[str]) -> Given:
    """Read the words behind a command. Raises UsageRefused."""
    return _Reading(tool, name, words).all()


class _Reading:
    """One command line while it is read."""

    def __init__(self, tool: str, name: str, words: Sequence[str]) -> None:
        self._tool, self._name = tool, name
        self._command = COMMANDS[name]
        self._waiting = list(words)
        self._switches: set[str] = set()
        self._values: dict[str, str] = {}
        self._lists: dict[str, tuple[str, ...]] = {}
        self._arguments: list[str] = []

    def all(self) -> Given:
        while self._waiting:
            word = self._waiting.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and len(word) > 1:
                self._short(word)
            else:
                self._arguments.append(word)
                if self._command.stops:
                    break
        self._arguments += self._waiting
        _count(self._tool, self._name, self._command, self._arguments)
        given = tuple(self._arguments)
        return Given(self._name, frozenset(self._switches), self._values, self._lists, given)

    def _long(self, word: str) -> None:
        option, equals, value = word[2:].partition("=")
        if option not in self._command.options:
            raise _refused(self._tool, self._name, f"unknown flag: --{option}")
        self._take(option, f"--{option}", value if equals else None)

    def _short(self, word: str) -> None:
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            option = self._command.short.get(letter)
            if option is None:
                raise _refused(self._tool, self._name, f"unknown shorthand flag: '{letter}' in {word}")
            if self._command.options[option] == SWITCH and not letters.startswith("="):
                self._take(option, f"-{letter}", None)
                continue
            self._take(option, word, letters.removeprefix("=") if letters else None)
            return

    def _take(self, option: str, shown: str, attached: str | None) -> None:
        kind = self._command.options[option]
        if kind == SWITCH:
            if attached not in (None, "true", "false", "1", "0"):
                text = f'invalid argument "{attached}" for "{shown}" flag: strconv.ParseBool'
                raise _refused(self._tool, self._name, text)
            change = self._switches.discard if attached in ("false", "0") else self._switches.add
            change(option)
            return
        if attached is None and not self._waiting:
            end = f": {shown}" if shown.startswith("--") else f": '{shown[-1]}' in {shown}"
            raise _refused(self._tool, self._name, f"flag needs an argument{end}")
        value = self._waiting.pop(0) if attached is None else attached
        if kind == LIST:
            self._lists[option] = (*self._lists.get(option, ()), value)
        else:
            self._values[option] = value


def _refused(tool: str, name: str, text: str) -> UsageRefused:
    usage = COMMANDS[name].usage
    return UsageRefused(
        f"{text}\n\nUsage:  {tool} {name} {usage}\n\nRun '{tool} {name} --help' for more information\n", USAGE_EXIT
    )


def _count(tool: str, name: str, command: Command, arguments: Sequence[str]) -> None:
    number = len(arguments)
    if command.least <= number and (command.most is None or number <= command.most):
        return
    least, plural = command.least, "s" if command.least != 1 else ""
    wanted = "accepts no arguments"
    if command.most == command.least and least:
        wanted = f"requires {least} argument{plural}"
    elif number < least:
        wanted = f"requires at least {least} argument{plural}"
    elif command.most:
        wanted = f"requires at most {command.most} argument{'s' if command.most != 1 else ''}"
    raise UsageRefused(
        f"{tool}: '{tool} {name}' {wanted}\n\nUsage:  {tool} {name} {command.usage}\n\n"
        f"See '{tool} {name} --help' for more information\n",
        1,
    )
