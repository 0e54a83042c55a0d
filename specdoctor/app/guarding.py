"""What the guard on the host did while nobody heard from us becomes part of the run."""

from __future__ import annotations

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.launch import GuardStory, LaunchOutcome, RestoreOutcome
from specdoctor.core.operations import Progress

LOOK_S = 1.0
ACTION = "guard"


def take_note(run: Run) -> bool:
    """Look at the host; record, once, what its guard did. True when there was something new.

    A guard that is at work is waited for: until it is done nobody can say what runs.
    """
    story = run.operations.state(run.id).guard
    while story is not None and story.acting:
        run.progress(ACTION, Progress(phase="the guard on the host is putting the original back"))
        run.clock.sleep(LOOK_S)
        story = run.operations.state(run.id).guard
    if story is None or story.acted_at is None or story.acted_at == run.ledger.guard_acted_at:
        return False
    _record(run, story)
    return True


def news(run: Run) -> GuardStory | None:
    """What the guard on the host has done that this run has not taken note of yet; None where it did nothing."""
    story = run.operations.state(run.id).guard
    if story is None or story.acted_at is None or story.acted_at == run.ledger.guard_acted_at:
        return None
    return story


def undid(run: Run, outcome: LaunchOutcome) -> LaunchOutcome:
    """A launch that came up, and that the guard undid before anybody here heard of it, ends as undone."""
    story = news(run) if outcome.status == "ready" else None
    if story is None:
        return outcome
    took_over = "put the original back" if story.phase == "restored" else "took over"
    why = f"it came up; then nobody was in touch for {story.quiet_s:.0f} s: the guard {took_over}"
    return outcome.model_copy(update={"status": "undone", "server": None, "reason": why})


def _record(run: Run, story: GuardStory) -> None:
    outcome = _outcome(story)
    evidence = run.record(
        action=None,
        source="guard",
        summary=f"after {story.quiet_s:.0f} s without a word from us: {' | '.join(text for _, text in story.story)}",
        artefact="guard.log",
        content=story.log or None,
        data={"phase": story.phase, "reason": story.reason, "equal": dict(outcome.equal)},
    )
    started = outcome.status in ("restored", "failed", "timeout")
    run.emit(
        ev.ServerRestored(outcome=outcome, evidence=evidence, started=started, by="guard", acted_at=story.acted_at)
    )


def _outcome(story: GuardStory) -> RestoreOutcome:
    """The end that the guard came to, as a restoration: one that left the port alone has restored nothing."""
    if story.outcome is not None and story.phase in ("restored", "nothing-to-do"):
        return story.outcome
    reason = story.reason or ("the guard was lost while it put the original back" if story.phase == "acting" else "")
    status = story.outcome.status if story.outcome is not None and story.phase == "failed" else "refused"
    return RestoreOutcome(action=ACTION, status=status, server=None, reason=reason)
