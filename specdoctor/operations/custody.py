"""Looking at what runs have left on a host, and putting a server back without the run that changed it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from specdoctor.core.custody import Leftovers, LeftRun
from specdoctor.core.errors import EXIT_OUTSIDE, PolicyError, TargetError
from specdoctor.core.host import Host
from specdoctor.core.launch import ReadyRules, RestoreOrder, RestoreOutcome
from specdoctor.core.operations import Clock, OnProgress
from specdoctor.operations.conversation import Conversation, Document, Refused
from specdoctor.operations.last_word import last_word
from specdoctor.operations.patience import Patience
from specdoctor.operations.restoring import await_restore
from specdoctor.operations.waits import CALL_TIMEOUT_S, Order

Answer = TypeVar("Answer")
SILENCE_LOOK_S = 2.0


class Custody:
    """What can be done about leftovers over any `Host`. Nothing here keeps in touch with a guard by looking."""

    def __init__(self, host: Host, *, clock: Clock, interpreter: str | None = None, target: str) -> None:
        self._host = host
        self._clock = clock
        self._patience = Patience(clock)
        self._talk = Conversation(host, interpreter=interpreter, target=target)
        self.target = target

    def look(self) -> Leftovers:
        """One remote command; changes nothing."""
        document = self._asked({"cmd": "survey"})
        try:
            return Leftovers.model_validate(document)
        except ValidationError as failure:
            raise TargetError(
                f"what {self.target} tells of its runs has another form than expected: {failure}",
                tried="look at what runs have left there",
                next_step="use the same version of specdoctor throughout, or report this as a bug",
            ) from failure

    def restore(self, run: str | None, on_progress: OnProgress) -> tuple[str, RestoreOutcome]:
        """Put back what a run changed (the only one if None); the run and the outcome.

        Raises PolicyError while somebody steers that run, or when it is not clear which one is meant. Where the
        original is not back, the host is told that nobody goes on with it.
        """
        order = self._order_of(self._asked({"cmd": "order-by-hand", "run": run}))
        params: Document = {"cmd": "restore", "order": order.model_dump(mode="json")}

        def give() -> Document:
            return self._talk.ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S)

        waiting = Order(self._talk, self._clock, order.run, order.action, None, self._patience)
        said = "putting it back by hand was given up"
        try:
            outcome = await_restore(waiting, give, order, on_progress)
            said = "" if outcome.proved else f"putting it back by hand: {outcome.reason or outcome.status}"
        finally:
            if said:
                with suppress(TargetError):
                    last_word(self._talk, order.run, exit_code=EXIT_OUTSIDE, words=said)
        return order.run, outcome

    def await_silence(self, left: LeftRun, *, at_least_s: float) -> None:
        """Wait until nobody was in touch for a run for so long. Raises PolicyError where somebody is, meanwhile."""
        silent_s = left.silent_s
        while silent_s is not None and silent_s < at_least_s:
            self._clock.sleep(SILENCE_LOOK_S)
            again = self.look().of(left.run)
            if again is None:
                return
            if again.silent_s is not None and again.silent_s < silent_s:
                who = f" by {again.who}" if again.who else ""
                raise PolicyError(
                    f"run {left.run} is at work{who}: in touch {again.silent_s:.0f} s ago",
                    tried=f"remove what it left on {self.target}",
                    next_step="wait for its end, or stop it where it was begun",
                )
            silent_s = again.silent_s

    def release(self, run: str) -> tuple[str, ...]:
        """Remove everything that a run left; refused while the server is not the original."""
        removed = self._asked({"cmd": "release", "run": run}).get("removed")
        return tuple(str(path) for path in removed) if isinstance(removed, list) else ()

    def close(self) -> None:
        self._host.close()

    def _order_of(self, document: Document) -> RestoreOrder:
        wanted: dict[str, JsonValue] = {k: document[k] for k in RestoreOrder.model_fields if k in document}
        rules = wanted.pop("rules", None)
        return RestoreOrder.model_validate({**wanted, "rules": ReadyRules.model_validate(rules)})

    def _asked(self, params: Document) -> Document:
        return self._translated(
            lambda: self._patience.bear(lambda: self._talk.ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S))
        )

    def _translated(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except Refused as refusal:
            raise refusal.as_error(f"look after what runs have left on {self.target}") from refusal
