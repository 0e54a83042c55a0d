"""What the repair of a drafter's wiring is expected to bring, from a test of it alone and the cycles measured here."""

from __future__ import annotations

from specdoctor.analysis.after_repair import Expected, best, chains, expected
from specdoctor.app.run import Run
from specdoctor.core.conclusions import ExpectedAfterRepair
from specdoctor.core.model import Status
from specdoctor.drafter.in_scene import alone_as_trained
from specdoctor.drafter.reported import Alone


def after_repair(run: Run) -> tuple[ExpectedAfterRepair, ...]:
    """Chain lengths that were measured, and the best between them; nothing where no file that a repair changes explains
    the accept length, or no test of the drafter alone lies with it.
    """
    found, _ = _expected(run)
    if not found:
        return ()
    asked = {*chains(run.ledger), best(found).steps}
    return tuple(
        ExpectedAfterRepair(steps=one.steps, accept_length=one.accept_length, throughput=one.throughput)
        for one in found
        if one.steps in asked
    )


def after_repair_line(run: Run) -> tuple[tuple[str, str], ...]:
    """The same as a line of the verdict."""
    told = after_repair(run)
    _, tested = _expected(run)
    if not told or tested is None:
        return ()
    fastest = max(told, key=lambda one: one.throughput.value)
    words = ", ".join(_words(one, one is fastest and len(told) > 1) for one in told)
    off = run.ledger.baseline(1)
    without = f"; without speculation {off.throughput.with_unit()}" if off is not None and off.throughput else ""
    basis = f"acceptance of the drafter alone fed {', '.join(tested.states)} ({tested.where}), over the measured cycle"
    return (("expected", f"after the repair: {words}{without}; {basis}"),)


def _expected(run: Run) -> tuple[tuple[Expected, ...], Alone | None]:
    ledger = run.ledger
    repaired = any(
        h.answers == "explains"
        and h.about == "accept_length"
        and h.status is Status.SUPPORTED
        and str(h.cause).startswith("WIRE-")
        for h in ledger.hypotheses.values()
    )
    tested = alone_as_trained(run.scene) if run.scene is not None and repaired else None
    if tested is None or ledger.settings.concurrency != 1:
        return (), tested
    return expected(tested.conditional, chains(ledger)), tested


def _words(one: ExpectedAfterRepair, fastest: bool) -> str:
    steps = "1 step" if one.steps == 1 else f"{one.steps} steps"
    mark = "best, " if fastest else ""
    return f"{one.throughput.with_unit()} at {steps} ({mark}accept length {one.accept_length:.2f})"
