"""Operations over a real host: each call sends one small program to it and reads what it prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.host import Host
from specdoctor.core.launch import HostState, LaunchOrder, LaunchOutcome, OtherStart, RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord, WatchRecord
from specdoctor.core.operations import Clock, OnProgress, SnapshotRequest
from specdoctor.core.server import ServerRef
from specdoctor.operations.conversation import Conversation, Document, Refused
from specdoctor.operations.heartbeat import Heartbeat
from specdoctor.operations.jobs import Job
from specdoctor.operations.last_word import last_word
from specdoctor.operations.patience import LINK_PATIENCE_S, Patience
from specdoctor.operations.programs import ProgramName, probe_params, shell_probe
from specdoctor.operations.restoring import await_restore
from specdoctor.operations.shell_facts import MARK, read_shell_facts
from specdoctor.operations.waits import CALL_TIMEOUT_S, Order

SNAPSHOT_TIMEOUT_S = 90.0
OWN_COMMAND_LIMIT_S = 3600.0
LONGEST_BENCH_S = 4 * 3600.0
LOG_SETTLE_S = 0.5
GRACE_S = 120.0
LONGEST_PAUSE_S = 15.0
BEAT_WAIT_S = 2.0

Answer = TypeVar("Answer", bound=BaseModel)

# Fields that only some versions know; the program leaves them out again when the server refuses them.
CHAT_EXTRA: dict[str, dict[str, JsonValue]] = {"sglang": {"return_spec_tokens_details": True}}

REMOVED = "what the run had left on the host was removed while this launch was made"


class RemoteOperations:
    """The port `Operations` over any `Host`.

    `interpreter` is the Python on the host where it is not to be found by itself. A guard on the host puts the original
    back when nobody was in touch for `grace_s`; while a server is changed a thread keeps in touch. `who` is told to
    others who want the same server. A link that breaks is borne for `patience_s`. `expected_start_s` is how long a
    start took before, for the time left; each start that succeeds replaces it. With `sudo` the read-only probe, and
    nothing else, runs as root.
    """

    def __init__(
        self,
        host: Host,
        *,
        clock: Clock,
        interpreter: str | None = None,
        target: str,
        grace_s: float = GRACE_S,
        who: str = "somebody",
        expected_start_s: float | None = None,
        patience_s: float = LINK_PATIENCE_S,
        sudo: bool = False,
    ) -> None:
        self._host = host
        self._clock = clock
        self._target = target
        self._grace_s = grace_s
        self._who = who
        self._guard_seen: float | None = None
        self._patience = Patience(clock, patience_s)
        self._talk = Conversation(host, interpreter=interpreter, target=target, look_as_root=sudo)
        self._heartbeat = Heartbeat(self._talk, interval_s=min(grace_s / 4.0, LONGEST_PAUSE_S))
        self.expected_start_s = expected_start_s

    @property
    def target(self) -> str:
        return self._target

    def snapshot(self, request: SnapshotRequest) -> Facts:
        """One remote command. Raises TargetError when the host gives no answer that can be read."""
        arguments = (str(request.log_bytes), *request.logs)
        params = probe_params(request)
        result = self._patience.bear(
            lambda: self._talk.run(
                "probe", params, timeout_s=SNAPSHOT_TIMEOUT_S, fallback=shell_probe(), arguments=arguments
            ),
            time_outs=0,
        )
        if MARK in result.text:
            return read_shell_facts(result.text)
        facts = self._read(Facts, self._talk.document("probe", result), "probe")
        self._talk.remember(facts.host.interpreter)
        return facts

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        return self._patience.bear(lambda: self._host.read_range(path, offset=offset, length=length), time_outs=0)

    def watch(self, server: ServerRef, *, seconds: float, log_path: str | None) -> WatchRecord:
        params: Document = {"server": server.model_dump(), "seconds": seconds, "log_path": log_path}
        return self._read(WatchRecord, self._ask("watch", params, timeout_s=seconds + CALL_TIMEOUT_S), "watch")

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        extra = CHAT_EXTRA.get(plan.engine, {}) if plan.form == "chat" else {}
        params: Document = {
            "plan": plan.model_dump(mode="json"),
            "extra_body": dict(extra),
            "own_limit_s": OWN_COMMAND_LIMIT_S,
            "log_settle_s": LOG_SETTLE_S,
        }
        job = Job(self._talk, self._clock, self._patience, plan.run, plan.action)
        try:
            answer = job.carry_out(params, limit_s=_bench_limit_s(plan), on_progress=on_progress)
        except Refused as refusal:
            raise refusal.as_error(f"bench on {self._target}") from refusal
        return self._read(BenchRecord, answer, "bench")

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        lease: Document = {"who": self._who, "grace_s": self._grace_s, "guard_seen": self._guard_seen}
        params: Document = {"cmd": "begin", "order": order.model_dump(mode="json"), **lease}
        self._heartbeat.begin(order.run)
        self.expected_start_s = self.expected_start_s or order.expected_start_s
        waiting = self._order(order.run, order.action)
        try:
            outcome = waiting.wait(self._giving(params), on_progress)
        except Refused as refusal:
            if waiting.state and refusal.kind == "unknown-action":
                return LaunchOutcome(action=order.action, status="undone", server=None, reason=REMOVED)
            others = refusal.kind == "other-start"
            other = OtherStart(words=refusal.message, same=True) if others else None
            return LaunchOutcome(
                action=order.action, status="refused", server=None, reason=refusal.message, other=other
            )
        document: Document = {
            "action": order.action,
            **outcome,
            "argv": waiting.state.get("argv"),
            "stop_s": waiting.state.get("stop_s"),
            "phases": waiting.state.get("phases"),
            "log_path": waiting.state.get("log_path"),
            "log": waiting.log,
        }
        launched = self._read(LaunchOutcome, document, "lifecycle")
        self._note_start(launched.start_s if launched.status == "ready" else None)
        return launched

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        """See the port. While something else restores (the guard on the host) its end is waited for."""
        params: Document = {"cmd": "restore", "order": order.model_dump(mode="json")}
        self.expected_start_s = self.expected_start_s or order.expected_start_s
        restored = await_restore(self._order(order.run, order.action), self._giving(params), order, on_progress)
        self._note_start(restored.start_s if restored.status == "restored" else None)
        return restored

    def state(self, run: str) -> HostState:
        """Also keeps in touch from here on while a guard watches; what the guard did counts as seen."""
        params: Document = {"cmd": "state", "run": run}
        state = self._read(HostState, self._ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S), "lifecycle")
        if state.guard is not None:
            self._guard_seen = state.guard.acted_at
            if state.guard.alive:
                self._heartbeat.begin(run)
        return state

    def release(self, run: str) -> tuple[str, ...]:
        removed = self._ask("lifecycle", {"cmd": "release", "run": run}, timeout_s=CALL_TIMEOUT_S).get("removed")
        self._heartbeat.end()
        return tuple(str(path) for path in removed) if isinstance(removed, list) else ()

    def leave(self, run: str, *, exit_code: int | None, words: str) -> float | None:
        self._heartbeat.end(wait_s=BEAT_WAIT_S)
        return last_word(self._talk, run, exit_code=exit_code, words=words)

    def close(self) -> None:
        self._heartbeat.end()
        self._host.close()

    def _order(self, run: str, action: str) -> Order:
        return Order(self._talk, self._clock, run, action, self.expected_start_s, self._patience)

    def _giving(self, params: Document) -> Callable[[], Document]:
        return lambda: self._talk.ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S)

    def _note_start(self, start_s: float | None) -> None:
        self.expected_start_s = start_s or self.expected_start_s

    def _ask(self, name: ProgramName, params: Document, *, timeout_s: float) -> Document:
        try:
            return self._patience.bear(lambda: self._talk.ask(name, params, timeout_s=timeout_s))
        except Refused as refusal:
            raise refusal.as_error(f"{name} on {self._target}") from refusal

    def _read(self, kind: type[Answer], document: Document, name: str) -> Answer:
        try:
            return kind.model_validate(document)
        except ValidationError as failure:
            raise TargetError(
                f"the answer of the {name} program on {self._target} has another form than expected: {failure}",
                tried=f"run {name} with Python on {self._target}",
                next_step="use the same version of specdoctor throughout, or report this as a bug",
            ) from failure


def _bench_limit_s(plan: BenchPlan) -> float:
    """The longest that a bench can take if every request ran into its time limit, bounded."""
    rounds = math.ceil(max(plan.warmup, plan.warmup_most) / plan.concurrency) + 2
    rounds += math.ceil(plan.requests / plan.concurrency) if plan.rate_per_s is None else 1
    coming_s = 2.0 * plan.requests / plan.rate_per_s if plan.rate_per_s else 0.0
    own = OWN_COMMAND_LIMIT_S if plan.own_command else 0.0
    return min(LONGEST_BENCH_S, rounds * plan.request_timeout_s + coming_s + own + CALL_TIMEOUT_S)
