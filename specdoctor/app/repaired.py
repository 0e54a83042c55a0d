"""What the repair of a drafter's wiring is expected to bring, from a test of it alone and the cycles measured here."""

from __future__ import annotations

from specdoctor.analysis.after_repair import Expected, best, expected
from specdoctor.app.run import Run
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.drafter.in_scene import alone_as_trained


def after_repair(run: Run) -> tuple[tuple[str, str], ...]:
    """A line with throughput by chain length, where the accept length is explained by files that a repair changes."""
    ledger = run.ledger
    repaired = any(
        h.answers == "explains"
        and h.about == "accept_length"
        and h.status is Status.SUPPORTED
        and str(h.cause).startswith("WIRE-")
        for h in ledger.hypotheses.values()
    )
    tested = alone_as_trained(run.scene) if run.scene is not None and repaired else None
    measured = _chains(ledger) if ledger.settings.concurrency == 1 else []
    if tested is None or not measured:
        return ()
    found = expected(tested.conditional, {m.spec.draft_steps: m.step for m in measured if m.step is not None})
    fastest = best(found)
    asked = {m.spec.draft_steps for m in measured} | {fastest.steps}
    words = ", ".join(_words(one, one is fastest and len(found) > 1) for one in found if one.steps in asked)
    off = ledger.baseline(1)
    without = f"; without speculation {off.throughput.with_unit()}" if off is not None and off.throughput else ""
    basis = f"acceptance of the drafter alone fed {', '.join(tested.states)} ({tested.where}), over the measured cycle"
    return (("expected", f"after the repair: {words}{without}; {basis}"),)


def _words(one: Expected, fastest: bool) -> str:
    steps = "1 step" if one.steps == 1 else f"{one.steps} steps"
    mark = "best, " if fastest else ""
    return f"{one.throughput.with_unit()} at {steps} ({mark}accept length {one.accept_length:.2f})"


def _chains(ledger: Ledger) -> list[Measurement]:
    """Benchmarks of chains for one client, the newest of each length last."""
    return [
        m
        for m in ledger.measurements
        if m.source == "bench" and m.concurrency == 1 and m.spec.on and m.spec.topk == 1 and m.step is not None
    ]
