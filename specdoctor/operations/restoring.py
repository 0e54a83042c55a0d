"""Waiting for a restoration, whoever ordered it."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from specdoctor.core.errors import TargetError
from specdoctor.core.launch import RestoreOrder, RestoreOutcome
from specdoctor.core.operations import OnProgress, Progress
from specdoctor.operations.conversation import Document, Refused
from specdoctor.operations.waits import POLL_S, Order

AGAIN = ("busy", "unrecorded")
BUSY = "something else is under way on the host, perhaps its guard; waiting for its end"


def await_restore(
    waiting: Order, give: Callable[[], Document], order: RestoreOrder, on_progress: OnProgress
) -> RestoreOutcome:
    """Give a restoration and wait for its end; for as long as a start may take also for what is under way instead."""
    since = waiting.clock.now()
    while True:
        try:
            outcome = waiting.wait(give, on_progress)
        except Refused as refusal:
            waited_s = waiting.clock.now() - since
            if refusal.kind not in AGAIN or waited_s > order.ready_timeout_s + order.stop_timeout_s:
                return RestoreOutcome(action=order.action, status="refused", server=None, reason=refusal.message)
            on_progress(
                Progress(phase=BUSY if refusal.kind == "busy" else refusal.message, done=round(waited_s), unit="s")
            )
            waiting.clock.sleep(POLL_S)
        else:
            return _read({"action": order.action, **outcome, "log": waiting.log})


def _read(document: Document) -> RestoreOutcome:
    try:
        return RestoreOutcome.model_validate(document)
    except ValidationError as failure:
        raise TargetError(
            f"the outcome of a restoration has another form than expected: {failure}",
            tried="read what the lifecycle program answered",
            next_step="use the same version of specdoctor throughout, or report this as a bug",
        ) from failure
