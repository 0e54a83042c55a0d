"""A controller process that is killed with SIGKILL while the practice host it works on lives on elsewhere.

The controller is a fork of the test, with a database and checkpoints on disk; what it asks of its host goes over a pipe
to the test, where the host stands on its virtual clock. So a round takes a second, and every world and planner has
its turn.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from specdoctor.app.investigation import investigate, resume, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks, all_engines
from specdoctor.core import events as ev
from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.ports import Planner
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.llm import LlmPlanner
from specdoctor.planners.llm_client import ModelClient
from specdoctor.planners.rules import RulePlanner
from specdoctor.store.runs import SqliteStore
from tests.app.investigating import Scripted, Silent, settings_for
from tests.planners.asking import KEY, endpoint_of
from tests.planners.model_server import ModelServer

RUN = "r-killed"
FORK = multiprocessing.get_context("fork")
LONGEST_S = 120.0


def quiet(_: object) -> None:
    """Nobody looks on."""


class FarClock:
    """The host's clock, read over the pipe."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def now(self) -> float:
        return float(self._ask("now"))

    def sleep(self, seconds: float) -> None:
        self._ask("sleep", seconds)


class FarHost:
    """The operations of a host at the other end of a pipe."""

    def __init__(self, line: Connection, target: str) -> None:
        self._line = line
        self.target = target
        self.clock = FarClock(self._ask)

    def _ask(self, name: str, *args: Any, **named: Any) -> Any:
        self._line.send((name, args, named))
        went, answer = self._line.recv()
        if not went:
            raise answer
        return answer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*args: Any, **named: Any) -> Any:
            return self._ask(name, *(quiet if callable(each) else each for each in args), **named)

        return asked


@dataclass
class Blow:
    """When the controller dies: at its question number `at`, this long after it was asked or was answered."""

    at: int
    after_answer: bool
    delay_s: float

    @classmethod
    def chosen(cls, source: random.Random, questions: int) -> Blow:
        return cls(source.randint(1, questions), source.random() < 0.5, source.choice((0.0, source.uniform(0.0, 0.03))))


@dataclass
class Controllers:
    """One run of one host, driven by one controller after the other. `folder` holds what outlives them."""

    world: World
    folder: Path
    mode: Literal["rules", "llm", "auto"] = "rules"
    server: ModelServer | None = None
    host: SimulatedHost = field(init=False)
    questions: int = 0
    story: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = SimulatedHost(self.world)

    def drive(self, blow: Blow | None) -> int | None:
        """Start the run, or go on with it, until its end or the blow; the exit code, None where it was killed."""
        ours, theirs = FORK.Pipe()
        controller = FORK.Process(target=self._control, args=(theirs, ours))
        controller.start()
        theirs.close()
        assert controller.pid is not None
        self._serve(ours, controller.pid, blow)
        controller.join(LONGEST_S)
        ours.close()
        assert controller.exitcode is not None, "it hangs"
        if controller.exitcode == -signal.SIGKILL:
            return None
        assert controller.exitcode >= 0, controller.exitcode
        return controller.exitcode

    def drive_here(self) -> int:
        """Drive the run to its end in this process: what a controller imports late is then there for all forks."""
        return self._conduct(self.host)

    def _serve(self, line: Connection, pid: int, blow: Blow | None) -> None:
        """Do what is asked until nobody asks any more; whoever strikes does not wait for what is under way."""
        asked = 0
        with suppress(EOFError, OSError):
            while True:
                name, args, named = line.recv()
                asked += 1
                self.questions += 1
                strikes = blow is not None and asked == blow.at
                if strikes and blow is not None and not blow.after_answer:
                    self._strike(pid, blow.delay_s, name)
                answer = self._done(name, args, named)
                line.send(answer)
                if strikes and blow is not None and blow.after_answer:
                    self._strike(pid, blow.delay_s, name)

    def _strike(self, pid: int, delay_s: float, name: str) -> None:
        self.story.append(f"killed at {name}")
        threading.Timer(delay_s, os.kill, (pid, signal.SIGKILL)).start()
        if not delay_s:
            time.sleep(0.01)

    def _done(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[bool, Any]:
        of = self.host.clock if name in ("now", "sleep") else self.host
        try:
            return True, getattr(of, name)(*args, **named)
        except (SpecdoctorError, OSError) as error:
            return False, error

    def _control(self, line: Connection, other: Connection) -> None:
        """The controller's life; it leaves by `_exit`, as nothing of the test may run in it."""
        other.close()
        code = 70
        try:
            code = self._conduct(FarHost(line, self.host.target))
        except BaseException:  # noqa: BLE001
            (self.folder / "failure.txt").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    def _conduct(self, host: FarHost | SimulatedHost) -> int:
        store = SqliteStore(self.folder / "runs.db")
        run = Run(
            id=RUN,
            store=store,
            operations=host,
            engines=all_engines(),
            checks=all_checks(),
            planner=self._planner(host),
            approver=Scripted(),
            onlooker=Silent(),
            clock=host.clock,
        )
        begun = any(True for _ in store.events(RUN))
        if begun:
            resume(run)
        else:
            more: dict[str, Any] = {"planner": self.mode, "endpoint": endpoint_of(self.server)} if self.server else {}
            start(run, settings_for(self.world, **more))
        return investigate(run, checkpoints=self.folder / "checkpoints.db")

    def _planner(self, host: FarHost | SimulatedHost) -> Planner:
        if self.server is None or self.mode == "rules":
            return RulePlanner()
        endpoint = endpoint_of(self.server)
        client = ModelClient(endpoint, clock=host.clock, environment={"OPENAI_API_KEY": KEY})
        return LlmPlanner(endpoint, client, checks=[check.name for check in all_checks()], mode=self.mode)

    @property
    def events(self) -> list[ev.Event]:
        return list(SqliteStore(self.folder / "runs.db").events(RUN))

    @property
    def ledger(self) -> Ledger:
        """Folding refuses what happened twice."""
        return fold(iter(self.events))

    @property
    def failure(self) -> str:
        place = self.folder / "failure.txt"
        return place.read_text() if place.exists() else ""
