"""Rounds of chaos: a controller is killed, or its link is cut, at a moment that a seed chooses.

After each round the original server with its original arguments is on its port, exactly one, and nothing is left of
specdoctor on the host: no process, no file, no lease. The events of the run are valid.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from specdoctor.core.events import event_from_json
from specdoctor.core.ledger import fold
from tests.e2e.client import Client, Command, Ended, Events
from tests.e2e.kept import files_of, kept_things
from tests.e2e.practice import Practice, Server, check_put_back, eventually

SCALE = 0.05
GRACE_S = 2.0
BACK_S = 90.0
"""Much longer than grace and start take, for machines that are busy."""

AGAIN_S = 4.0
"""A run killed a moment ago passes for one at work for 20 s: the user looks again now and then."""

PLAYBOOK = """\
title: One restart there and back
about: Measure, restart without speculation, measure, put back.
allow: restart
load: {requests: 1}
steps:
  - bench: as found
  - relaunch: off
    change: {off: true}
    hypothesis:
      claim: it runs without speculation
      prediction: {metric: throughput_tok_s, op: ">=", value: 1}
  - bench: off
  - restore:
"""
PLACES = ("/run/lock", "/dev/shm", "/tmp")
PROGRAM_WORDS = [b"-I", b"-S", b"-B", b"-"]


class Link:
    """The way from the client to the practice host, which can be cut and mended."""

    def __init__(self, practice: Practice, folder: Path) -> None:
        self._ssh_port = practice.ssh_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._cut = False
        port = self._listener.getsockname()[1]
        folder.mkdir()
        theirs = practice.config.with_name("known_hosts")
        ours = folder / "known_hosts"
        ours.write_text(theirs.read_text().replace(f":{self._ssh_port} ", f":{port} "))
        config = practice.config.read_text().replace(f"Port {self._ssh_port}", f"Port {port}")
        self.config = folder / "ssh_config"
        self.config.write_text(config.replace(str(theirs), str(ours)))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def target(self) -> tuple[str, ...]:
        return ("ssh://lab", "--ssh-config", str(self.config))

    def cut(self) -> None:
        self._cut = True
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def mend(self) -> None:
        self._cut = False

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._cut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._ssh_port))
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


MOMENTS: dict[str, Callable[[Events], bool]] = {
    "reading": lambda events: _begun(events, "snapshot") == 1,
    "bench of the original": lambda events: _begun(events, "bench") == 1,
    "restart": lambda events: _begun(events, "relaunch") == 1,
    "test launch": lambda events: _count(events, "server.relaunched") == 1,
    "bench of the test": lambda events: _begun(events, "bench") == 2,
    "restore": lambda events: _begun(events, "restore") == 1,
    "restored": lambda events: _count(events, "server.restored") == 1,
}


def _begun(events: Events, what: str) -> int:
    return sum(1 for e in events if e["kind"] == "action.started" and e["what"] == what)


def _count(events: Events, kind: str) -> int:
    return sum(1 for e in events if e["kind"] == kind)


@dataclass
class Round:
    """One round: everything that happens follows from its seed, but for the timing of the machine."""

    seed: int
    practice: Practice
    client: Client
    link: Link
    world: str
    story: list[str] = field(default_factory=list)

    def play(self) -> None:
        source = random.Random(f"chaos {self.seed}")
        found, files = self.practice.running(), self.practice.files_at_home()
        kept = (files_of(self.practice), kept_things(self.practice, self.world))
        playbook = self.client.work / "there-and-back.yaml"
        playbook.write_text(PLAYBOOK)
        moment, delay_s = source.choice(sorted(MOMENTS)), source.choice((0.0, source.uniform(0.0, 2.5)))
        blow = source.choice(("kill", "kill", "cut", "kill and cut"))
        away_s = source.choice((source.uniform(0.2, 1.0), source.uniform(2.0, 6.0)))
        then = source.choice(("resume", "guard", "restore"))
        self.tell(f"{blow} {delay_s:.1f} s into {moment}, away {away_s:.1f} s, then {then}")
        command = self.client.start("replay", str(playbook), "--target", *self.link.target, "--grace", str(GRACE_S))
        self.await_moment(command, MOMENTS[moment])
        time.sleep(delay_s)
        self.strike(command, blow, away_s)
        self.end(command, blow, then, found, files)
        self.check(found, files)
        assert (files_of(self.practice), kept_things(self.practice, self.world)) == kept, self.story

    def tell(self, text: str) -> None:
        self.story.append(text)

    def await_moment(self, command: Command, moment: Callable[[Events], bool]) -> None:
        eventually(lambda: moment(self.client.events()) or command.process.poll() is not None, within_s=BACK_S)

    def strike(self, command: Command, blow: str, away_s: float) -> None:
        if "kill" in blow and command.process.poll() is None:
            command.process.kill()
            command.process.wait()
        if "cut" in blow:
            self.link.cut()
            time.sleep(away_s)
            self.link.mend()

    def end(self, command: Command, blow: str, then: str, found: Server, files: set[str]) -> None:
        """What the user does next; afterwards the run is over."""
        if blow == "cut":
            ended = command.end(within_s=3 * BACK_S)
            self.tell(f"went on by itself to exit code {ended.code}")
        if then == "guard":
            back = eventually(lambda: self.settled(found), within_s=BACK_S)
            assert back, f"nobody put the original back; {self.status().out}"
            self.tell_of_the_guard()
        if then == "resume" and self.client.transcripts and not self.over():
            ended = self.client.run(
                "investigate", "--resume", self.client.run_id, "--ssh-config", str(self.link.config)
            )
            self.tell(f"resumed to exit code {ended.code}: {ended.err[-600:]}")
        eventually(lambda: self.at_rest(files) or self.put_back().code == 0, within_s=BACK_S)

    def tell_of_the_guard(self) -> None:
        """After a server was stopped and its run did not come to its end, the next `status` tells the story."""
        told = self.status()
        self.tell(told.out)
        events = self.client.events()
        if _begun(events, "relaunch") and not _count(events, "host.released") and told.code != 0:
            assert "its guard " in told.out, self.story

    def over(self) -> bool:
        return any(e["kind"] == "run.ended" and e["exit_code"] in (0, 3) for e in self.client.events()[-1:])

    def settled(self, found: Server) -> bool:
        """Whether the original is in place and no process of ours is at work on the host."""
        now = self.practice.server()
        same = now is not None and now.surroundings == found.surroundings
        return same and not our_processes(self.practice) and self.practice.healthy()

    def at_rest(self, files: set[str]) -> bool:
        """Nothing is left to do. A run killed a moment ago still passes for one at work, and its files lie there."""
        return not self.leases() and self.practice.files_at_home() == files and self.status().code == 0

    def leases(self) -> list[Path]:
        return [p for place in PLACES for p in Path(place).glob(f"specdoctor-port-{self.practice.server_port}-*")]

    def status(self) -> Ended:
        return self.client.run("status", *self.link.target)

    def put_back(self) -> Ended:
        ended = self.client.run("restore", *self.link.target)
        self.tell(f"restore by hand, exit code {ended.code}: {ended.out}{ended.err}")
        if ended.code != 0:
            time.sleep(AGAIN_S)
        return ended

    def check(self, found: Server, files: set[str]) -> None:
        gone = eventually(lambda: not our_processes(self.practice), within_s=20.0)
        assert gone, f"left: {our_processes(self.practice)}; {self.story}"
        try:
            check_put_back(self.practice, found, files)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; {self.story}") from failure
        assert self.leases() == [], self.story
        for transcript in self.client.transcripts:
            lines = (transcript / "events.jsonl").read_text(encoding="utf-8").splitlines()
            ledger = fold(event_from_json(line) for line in lines)
            assert len({r.outcome.action for r in ledger.relaunches}) == len(ledger.relaunches), self.story


def our_processes(practice: Practice) -> list[tuple[int, list[bytes]]]:
    """Programs of ours that run on this practice host: guards, workers, benchmarks."""
    mark = str(practice.home).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if words[-4:] == PROGRAM_WORDS and b"HOME=" + mark + b"\0" in environment and int(entry.name) != os.getpid():
            found.append((int(entry.name), words))
    return found
