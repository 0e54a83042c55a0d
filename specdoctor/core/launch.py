"""Changes to a launch line, orders to carry them out, and what came of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, JsonValue

from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.core.model import Frozen
from specdoctor.core.secret_shapes import MASK
from specdoctor.core.server import KeeperRef, ServerRef

START_MARK = "SPECDOCTOR_START"
"""A variable that no engine reads: it numbers further starts of the same launch."""
STAYS = frozenset({"--host", "--port", "--api-key", "--api-key-file", "--admin-api-key", "--hf-token"})
"""Flags that stay as they run where a whole launch line is asked for: a copied line names its keys by a variable."""
_NUMBER = re.compile(r"-\d+(?:\.\d+)?(?:,.*)?")


def opens_flag(word: str) -> bool:
    """Whether a word of a command line opens a flag, long (`--model`) or short (`-md`); a negative number does not."""
    return len(word) > 1 and word[0] == "-" and _NUMBER.fullmatch(word) is None


class CorrectedCopy(Frozen):
    """A model's folder once more on the host, as links to its files, with `edits` made in its config.json.

    `source` is only read. The copy lies in the run's own folder and goes with it, or stays at `kept`. In a launch line
    `place` stands for it; where it lies is known once it is made.
    """

    source: str
    edits: tuple[ConfigEdit, ...]
    kept: str | None = None

    @property
    def place(self) -> str:
        return self.kept or f"{self.source}-corrected"

    @property
    def words(self) -> str:
        """What it is, for a person who makes one."""
        edits = ", ".join(edit.words for edit in self.edits)
        return f"{self.place}: links to the files of {self.source}, and a config.json with {edits}"


class LaunchChange(Frozen):
    """A difference against the ORIGINAL launch line: flags (with dashes) to set or remove, environment likewise.

    `set_flags` maps a flag to its values (empty tuple: a switch without value). `words` replaces words before the
    flags, as they stand: the interpreter of another installation. `image`: the container is made from this one.
    `copies`: a folder that is made before the start, and that `set_flags` name by its `place`. `lengths_only`: what its
    flags change is how far is drafted (or that nothing is), and nothing else. The empty change is the original.
    """

    label: str
    words: dict[str, str] = Field(default_factory=dict)
    set_flags: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    remove_flags: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    set_env: dict[str, str] = Field(default_factory=dict)
    remove_env: tuple[str, ...] = ()
    image: str | None = None
    copies: CorrectedCopy | None = None
    lengths_only: bool = False

    @property
    def is_original(self) -> bool:
        changed = (
            self.words,
            self.set_flags,
            self.remove_flags,
            self.set_env,
            self.remove_env,
            self.image,
            self.copies,
        )
        return not any(changed)

    @property
    def repeats(self) -> bool:
        """Whether it is the original once more: only its mark tells the starts apart."""
        return set(self.set_env) == {START_MARK} and self.model_copy(update={"set_env": {}}).is_original

    @property
    def other_software(self) -> bool:
        """Whether it runs the server from another installation."""
        return bool(self.words) or self.image is not None or "PYTHONPATH" in self.set_env

    @property
    def key(self) -> str:
        """Identity of the change whatever it is called: two equal changes are one launch."""
        parts = [f"{old}~{new}" for old, new in sorted(self.words.items())]
        parts += [f"{f}={' '.join(v)}" for f, v in sorted(self.set_flags.items())]
        parts += [f"-{f}" for f in sorted(self.remove_flags)]
        parts += [f"{k}:={v}" for k, v in sorted(self.set_env.items())] + [f"-{k}:" for k in sorted(self.remove_env)]
        parts += [f"image={self.image}"] if self.image is not None else []
        parts += [edit.words for edit in self.copies.edits] if self.copies is not None else []
        return "; ".join(parts) or "original"


ORIGINAL = LaunchChange(label="as found")


def apply_change(argv: tuple[str, ...], change: LaunchChange) -> tuple[str, ...]:
    """The argument list after `change`: `--flag value`, `--flag=value` and repeated flags are all replaced.

    `change.switches` names flags that take no value, so that removing one does not swallow the next word.
    Set flags keep their place when they stood in the line, else they are appended in sorted order.
    """
    gone = set(change.remove_flags)
    first = next((place for place, word in enumerate(argv) if word.startswith("--")), len(argv))
    argv = (*(change.words.get(word, word) for word in argv[:first]), *argv[first:])
    out: list[str] = []
    placed: set[str] = set()
    index = 0
    while index < len(argv):
        word = argv[index]
        flag = word.split("=", 1)[0] if word.startswith("--") else word
        if flag not in gone and flag not in change.set_flags:
            out.append(word)
            index += 1
            continue
        index += 1
        if "=" not in word and flag not in change.switches:
            while index < len(argv) and not opens_flag(argv[index]):
                index += 1
        if flag in change.set_flags and flag not in placed:
            placed.add(flag)
            out += [flag, *change.set_flags[flag]]
    for flag in sorted(set(change.set_flags) - placed):
        out += [flag, *change.set_flags[flag]]
    return tuple(out)


def launch_flags(argv: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The flags of a command line with their values, whatever stands before them and in whatever order they come.

    A line may begin with a flag: the arguments of an image's entry point, or flags that somebody typed. The
    `-m MODULE` of a Python interpreter is none of them.
    """
    found: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in argv[program_end(argv) :]:
        if opens_flag(word):
            flag, equals, value = word.partition("=")
            found[flag] = (value,) if equals else ()
        elif flag:
            found[flag] = (*found[flag], word)
    return found


def program_end(argv: Sequence[str]) -> int:
    """Where the program ends and its own words begin: after `python -m MODULE`, else after the first word.

    At once where the first word is a flag: then no program is named.
    """
    if argv and opens_flag(argv[0]):
        return 0
    if not argv or not argv[0].rpartition("/")[2].startswith("python"):
        return 1
    index = 1
    while index < len(argv) and opens_flag(argv[index]) and argv[index] != "-m":
        index += 1
    return index + (2 if tuple(argv[index : index + 1]) == ("-m",) else 1)


def difference_of_lines(
    running: Sequence[str], wanted: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]] | None:
    """What makes the running line the wanted one: flags to set, and flags to remove.

    Where it listens and its keys stay as they run, whatever the wanted line says. None where nothing differs, and where
    words before the flags do (another program, a model without a flag): no change of flags makes the one of the other.
    """
    if not running or _before_flags(running) != _before_flags(wanted):
        return None
    now, new = launch_flags(tuple(running)), launch_flags(tuple(wanted))
    stays = STAYS | {flag for flag, values in now.items() if any(MASK in value for value in values)}
    changed = {flag: values for flag, values in new.items() if now.get(flag) != values and flag not in stays}
    removed = tuple(flag for flag in now if flag not in new and flag not in stays)
    return (changed, removed) if changed or removed else None


def _before_flags(argv: Sequence[str]) -> tuple[str, ...]:
    """The program's module or name, and its words before the first flag."""
    end = program_end(argv)
    first = next((place for place in range(end, len(argv)) if opens_flag(argv[place])), len(argv))
    return (argv[end - 1].rpartition("/")[2], *argv[end:first]) if end else tuple(argv[:first])


class ReadyRules(Frozen):
    """How an engine shows its start: regular expressions searched in each new log line, and the health path."""

    ready: str
    failures: tuple[str, ...]
    phases: tuple[tuple[str, str], ...]
    health_path: str = "/health"


class LaunchOrder(Frozen):
    """Stop the server that `server` proves and start it with `change`, in the same surroundings.

    `action` makes the order idempotent: given twice, it is carried out once. `ready_timeout_s` bounds the start;
    `expected_start_s` is how long the last one took, for the time left.
    """

    run: str
    action: str
    server: ServerRef
    keeper: KeeperRef = KeeperRef()
    change: LaunchChange
    rules: ReadyRules
    ready_timeout_s: float
    stop_timeout_s: float = 60.0
    release_timeout_s: float = 120.0
    memory_settle_mb: int = 2048
    expected_start_s: float | None = None


class OtherStart(Frozen):
    """Somebody else who starts the server while a run restarts it, or has taken its port.

    `same`: a process with the original's words, else a stranger on its port. `words` name it. `alive` and `ours_alive`:
    whether that process, and the original as it was found or put back, lived when this was told; None: nobody looked.
    """

    words: str
    same: bool
    pid: int | None = None
    alive: bool | None = None
    ours_alive: bool | None = None


LaunchStatus = Literal["ready", "failed", "timeout", "refused", "undone"]
"""`undone`: before the launch came to its end the guard took over, or somebody else started the server (`other`)."""


class LaunchOutcome(Frozen):
    """What a start came to. `server` is the process now on the port (None if none); durations in seconds."""

    action: str
    status: LaunchStatus
    server: ServerRef | None
    argv: tuple[str, ...] = ()
    stop_s: float = 0.0
    start_s: float = 0.0
    downtime_s: float = 0.0
    log_path: str | None = None
    log: str = ""
    reason: str = ""
    phases: dict[str, float] = Field(default_factory=dict)
    other: OtherStart | None = None


class RestoreOrder(Frozen):
    """Bring the original back from the record on the host, and prove that it is the same."""

    run: str
    action: str
    port: int
    rules: ReadyRules
    ready_timeout_s: float
    stop_timeout_s: float = 60.0
    release_timeout_s: float = 120.0
    memory_settle_mb: int = 2048
    expected_start_s: float | None = None


RestoreStatus = Literal["restored", "failed", "timeout", "nothing-to-do", "refused"]


class RestoreOutcome(Frozen):
    """`equal` holds one entry per compared part (argv, env, cwd, affinity, limits, ...): True when it is as it was."""

    action: str
    status: RestoreStatus
    server: ServerRef | None
    equal: dict[str, bool] = Field(default_factory=dict)
    differences: dict[str, str] = Field(default_factory=dict)
    start_s: float = 0.0
    downtime_s: float = 0.0
    log: str = ""
    reason: str = ""
    other: OtherStart | None = None

    @property
    def proved(self) -> bool:
        return self.status in ("restored", "nothing-to-do") and all(self.equal.values())

    @property
    def left_to_others(self) -> bool:
        """Whether the server that runs is one that somebody else has started with the original's words."""
        return self.status == "nothing-to-do" and self.other is not None and self.other.same


GuardPhase = Literal["watching", "acting", "restored", "nothing-to-do", "left-alone", "failed"]


class GuardStory(Frozen):
    """The guard of a run on the host: how it stands, and what it did after `quiet_s` seconds without a word from us.

    `acted_at` and the times of the `story` are seconds since the epoch by the host's clock. `outcome` is that of its
    last try to put the original back, `log` the end of what that start wrote.
    """

    alive: bool
    grace_s: float
    since: float
    phase: GuardPhase
    acted_at: float | None = None
    quiet_s: float = 0.0
    result: GuardPhase | None = None
    reason: str = ""
    outcome: RestoreOutcome | None = None
    log: str = ""
    story: tuple[tuple[float, str], ...] = ()

    @property
    def acting(self) -> bool:
        return self.alive and self.phase == "acting"


class HostState(Frozen):
    """What specdoctor itself left on the host for a run: the way back, and the state of its last order there."""

    run: str
    way_back: bool
    original: ServerRef | None = None
    running: ServerRef | None = None
    running_launch: str | None = None
    running_is_original: bool | None = None
    actions: dict[str, str] = Field(default_factory=dict)
    detail: dict[str, JsonValue] = Field(default_factory=dict)
    guard: GuardStory | None = None
    other: OtherStart | None = None
