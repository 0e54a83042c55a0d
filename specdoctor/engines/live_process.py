"""One running server as a look at its host shows it, whatever its engine: port, answers, log, keeper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypedDict

from specdoctor.core.facts import Facts, HttpReply, LogFacts, ProcessFacts
from specdoctor.core.server import Keeper, LaunchTraits, LogReading, ServerRef, Source, Surroundings
from specdoctor.engines.live_servers import State, port_of, state_of
from specdoctor.engines.process_facts import is_of_another_run, log_of, tree
from specdoctor.keepers.surroundings import surroundings_of
from specdoctor.keepers.table import keeper_of


class LiveFields(TypedDict):
    """Parts of a server that its process and its host tell."""

    state: State
    asked_source: Source | None
    log_path: str | None
    argv: tuple[str, ...]
    env: Mapping[str, str]
    ref: ServerRef | None
    started_at: float | None
    keeper: Keeper | None
    surroundings: Surroundings


class Typed(Protocol):
    """Arguments by name, as typed on the command line or in the configuration file that it names."""

    @property
    def values(self) -> dict[str, str]: ...

    @property
    def words(self) -> dict[str, tuple[str, ...]]: ...

    @property
    def from_file(self) -> frozenset[str]: ...


@dataclass(frozen=True)
class LiveProcess:
    """A server's launcher with what belongs to it. `older`: its log is that of a run before this process."""

    facts: Facts
    process: ProcessFacts
    port: int
    replies: Mapping[str, HttpReply]
    log: LogFacts | None
    older: bool

    @classmethod
    def of(cls, facts: Facts, process: ProcessFacts, asked_port: int, *, else_least: bool = False) -> LiveProcess:
        """The port as `port_of` finds it, and what answers there."""
        pids = tree(facts, process.pid)
        port = port_of(facts, asked_port, pids, else_least=else_least)
        log = log_of(facts, process, pids)
        older = log is not None and is_of_another_run(log, process, pids)
        return cls(facts, process, port, facts.http.get(str(port), {}), log, older)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def where(self) -> str:
        """What its arguments are cited as."""
        return f"command line of pid {self.process.pid}"

    @property
    def own_log(self) -> LogFacts | None:
        """The log, where it is that of the present process."""
        return None if self.older else self.log

    def body(self, path: str) -> str:
        """What it answers at a path; empty where it does not."""
        reply = self.replies.get(path)
        return reply.body if reply is not None and reply.status == 200 else ""

    def cite(self, asked: Typed) -> Callable[[str], Source | None]:
        """Where an argument was asked for: in its words, else in its --config file."""

        def place(key: str) -> Source | None:
            words = asked.words.get(key)
            if words is None and key in asked.from_file:
                return Source(where=asked.values.get("config", self.where), key=key, quote=asked.values[key])
            return Source(where=self.where, key=key, quote=" ".join(words)) if words is not None else None

        return place

    def fields(self, traits: LaunchTraits, reading: LogReading | None) -> LiveFields:
        """The parts that need no engine to be told; `reading` is its log as far as one was read."""
        process = self.process
        return LiveFields(
            state=state_of(self.replies, reading, blind=not self.facts.host.runs_programs),
            asked_source=Source(where=self.where),
            log_path=self.log.path if self.log is not None else None,
            argv=process.argv,
            env=process.env,
            ref=ServerRef(pid=process.pid, start_ticks=process.start_ticks, port=self.port),
            started_at=process.started_at,
            keeper=keeper_of(self.facts, process, traits, port=self.port),
            surroundings=surroundings_of(self.facts, process, traits),
        )
