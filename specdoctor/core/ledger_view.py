"""The readable side of the ledger: what a run knows, and what follows from it."""

from __future__ import annotations

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.errors import LedgerError
from specdoctor.core.hypothesis import Claim, Hypothesis, Observation
from specdoctor.core.launch import ORIGINAL, LaunchChange, OtherStart
from specdoctor.core.launch_family import AS_FOUND, LaunchFamily, family_of
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import ServerRef


class ActionEntry:
    """One action: its start, and its end once there is one."""

    def __init__(self, started: ev.ActionStarted) -> None:
        self.started = started
        self.ended: ev.ActionEnded | None = None


class LedgerView:
    """What a run knows, as planners, policy, judges and renderers ask it. Only `Ledger.apply` writes the attributes."""

    def __init__(self) -> None:
        self.count = 0
        self.started: ev.RunStarted | None = None
        self.allow: Risk = Risk.READ
        self.claims: list[Claim] = []
        self.recalled: list[Claim] = []
        self.hypotheses: dict[str, Hypothesis] = {}
        self.evidence: dict[str, ev.EvidenceRecorded] = {}
        self.observations: list[ev.Observed] = []
        self.measurements: list[Measurement] = []
        self.earlier: list[Measurement] = []
        """What older logs on the host show of other days. Kept apart: no test rests on it."""
        self.bounds: list[ev.BoundComputed] = []
        self.actions: dict[str, ActionEntry] = {}
        self.relaunches: list[ev.ServerRelaunched] = []
        self.restores: list[ev.ServerRestored] = []
        self.control: ev.ControlCompared | None = None
        """The original measured after it was put back, against itself before."""
        self.server: ev.ServerSeen | None = None
        self.refusals: list[ev.MoveRefused] = []
        self.model_calls: list[ev.ModelAsked] = []
        self.proposals_refused: list[ev.ProposalRefused] = []
        self.notes: list[ev.NoteAdded] = []
        self.batches: dict[str, ev.ApprovalAsked] = {}
        self.answers: list[ev.ApprovalAnswered] = []
        self.asks: dict[str, pe.MoveAsked] = {}
        """What a person has asked for and nothing has come of yet."""
        self.asked: dict[str, pe.MoveAsked] = {}
        """Everything that a person has asked for."""
        self.priors_set: dict[str, float] = {}
        """How likely a person holds claims to be, by hypothesis."""
        self.pause: pe.PauseSet | None = None
        """The last word of a person on pausing."""
        self.verdict: ev.VerdictReached | None = None
        self.ended: ev.RunEnded | None = None
        self.released = False
        self.choices: list[ev.ExperimentChosen] = []
        self.resumes = 0
        self.changed = False
        """True while the server may not be as it was found."""
        self.current_launch: LaunchChange | None = ORIGINAL
        """What the running server was started with; None while no server runs or nobody knows."""
        self.current_server: ServerRef | None = None
        """What proves the process that serves now."""
        self.by_hand: ev.ServerRecognised | None = None
        """The launch that a person has made in our place and that runs now; the person puts the original back."""
        self._changed_before = False
        self._refusals_before = 0
        self._relaunches_before = 0
        self._actions_before = 0
        self._answers_before = 0
        self._restores_before = 0
        self._model_calls_before = 0
        self._proposals_before = 0
        self.guard_acted_at: float | None = None
        """When a guard on the host last acted, as far as this run has taken note of it."""
        self.down_since: float | None = None
        """When the last start was given up that came to nothing, while nothing has come up since."""
        self.between_s = 0.0
        """Seconds without a server between starts that came to nothing and the next one."""
        self._last_end: float | None = None
        self.first_at = 0.0
        self.last_at = 0.0

    @property
    def settings(self) -> RunSettings:
        if self.started is None:
            raise LedgerError("the run has not started")
        return self.started.settings

    @property
    def run(self) -> str:
        if self.started is None:
            raise LedgerError("the run has not started")
        return self.started.run

    @property
    def restarts(self) -> int:
        """Every start that specdoctor made, the restoring ones included; those under way count too.

        A run that was killed right after an outcome was told is told it again: an action is one start.
        """
        made = {r.outcome.action for r in self.relaunches if r.outcome.status != "refused"}
        made |= {r.outcome.action for r in self.restores if r.started}
        return len(made | {a.started.action for a in self.unsettled()})

    @property
    def downtime_s(self) -> float:
        """Seconds without a server: what the host measured of each start, what lay between, and what goes on still."""
        told = sum(r.outcome.downtime_s for r in self.relaunches) + sum(r.outcome.downtime_s for r in self.restores)
        still = max(0.0, self.last_at - self.down_since) if self.down_since is not None else 0.0
        return told + self.between_s + still

    @property
    def still_down(self) -> bool:
        """Whether the last start came to nothing, and nothing is known to serve since."""
        return self.down_since is not None

    @property
    def others(self) -> OtherStart | None:
        """Who else started the server while this run restarted it, or took its port; the newest who did the former."""
        told = [r.outcome.other for r in self.relaunches] + [r.outcome.other for r in self.restores]
        seen = [other for other in told if other is not None]
        return max(reversed(seen), key=lambda other: other.same, default=None)

    @property
    def restarting_since(self) -> float | None:
        """When the restart or restoration began that is under way; None where none is."""
        begun = [a.started.at for a in self.open_actions() if a.started.what in ("relaunch", "restore")]
        return max(begun, default=None)

    @property
    def restored(self) -> bool | None:
        """None: nothing was ever changed. True: the original is back, proved equal, and not seen to be slower.

        Where somebody else starts it too, nobody can tell what will run.
        """
        if self.others is not None and self.others.same:
            return False
        if not self.changed and all(r.outcome.status == "refused" for r in self.relaunches):
            return None
        return not self.changed and (self.control is None or self.control.equal is not False)

    @property
    def restore_failed(self) -> bool:
        """Whether our last try to put the original back did not succeed; a resumed run may try again."""
        tried = self.restores[self._restores_before :]
        back = bool(tried) and (tried[-1].outcome.proved or tried[-1].outcome.left_to_others)
        return bool(tried) and not back and tried[-1].by != "guard"

    @property
    def reading_tried(self) -> bool:
        """Whether the host was read since the run was last taken up: a run that found no server looks again then."""
        return any(a.started.what == "snapshot" for a in list(self.actions.values())[self._actions_before :])

    @property
    def paused(self) -> bool:
        return self.pause is not None and self.pause.paused

    def open_actions(self) -> list[ActionEntry]:
        return [a for a in self.actions.values() if a.ended is None]

    def unsettled(self) -> list[ActionEntry]:
        """Restarts and restorations without an end, and those whose end the link was too broken to tell."""
        told = {r.outcome.action for r in self.relaunches} | {r.outcome.action for r in self.restores}
        return [
            a
            for name, a in self.actions.items()
            if a.started.what in ("relaunch", "restore")
            and (a.ended is None or (a.ended.outcome == "unknown" and name not in told))
        ]

    def by_key(self, key: str) -> Hypothesis | None:
        return next((h for h in self.hypotheses.values() if h.key == key), None)

    def measured(self, launch_key: str, *, concurrency: int | None = None) -> Measurement | None:
        """The latest bench of a launch at a concurrency (any if None)."""
        for m in reversed(self.measurements):
            if m.launch_key == launch_key and m.source in ("bench", "prompts") and concurrency in (None, m.concurrency):
                return m
        return None

    def baseline(self, concurrency: int) -> Measurement | None:
        """The latest benchmark at a concurrency of a launch that differs from the original in no speculation alone."""
        for m in reversed(self.measurements):
            off = not m.spec.on and m.source == "bench" and m.concurrency == concurrency
            if off and self.family(m.launch_key, on=False).as_found:
                return m
        return None

    def family(self, launch_key: str, *, on: bool) -> LaunchFamily:
        """What a launch changes beside the draft length; nothing for the original and for one that is not on record."""
        for launch in self.relaunches:
            if launch.change.key == launch_key:
                return family_of(launch.change, on=on)
        return AS_FOUND

    def settled(self, change: LaunchChange) -> bool:
        """Whether a launch needs no further try: it failed or was measured. An interrupted one may be made again."""
        unmade = ("refused", "undone")
        tried = [r for r in self.relaunches if r.change.key == change.key and r.outcome.status not in unmade]
        return bool(tried) and (tried[-1].outcome.status != "ready" or self.measured(change.key) is not None)

    def cut_off(self, change: LaunchChange) -> int:
        """How often this launch was up and is not any more, without a measurement, since the run was last taken up."""
        made = [r for r in self.relaunches[self._relaunches_before :] if r.change.key == change.key]
        running = self.current_launch is not None and self.current_launch.key == change.key
        up = sum(r.outcome.status == "ready" for r in made) - running
        return 0 if self.measured(change.key) is not None else up

    def refused_starts(self, change: LaunchChange) -> list[ev.ServerRelaunched]:
        """The host's refusals to make this launch, one after the other up to now, since the run was last taken up."""
        tried = [r for r in self.relaunches[self._relaunches_before :] if r.change.key == change.key]
        made = [i for i, r in enumerate(tried, 1) if r.outcome.status != "refused"]
        return tried[made[-1] if made else 0 :]

    def notes_by(self, author: str) -> list[ev.NoteAdded]:
        """The remarks of one author."""
        return [n for n in self.notes if n.by == author]

    def observed(self, cause: str | None = None) -> list[Observation]:
        return [o.observation for o in self.observations if cause is None or o.observation.cause == cause]

    def next_id(self, prefix: str) -> str:
        """The next free id of a kind: H (hypothesis), E (evidence), A (action), M (measurement), B (batch),
        Q (what a person asks for)."""
        sizes = {
            "H": len(self.hypotheses),
            "E": len(self.evidence),
            "A": len(self.actions),
            "M": len(self.measurements) + len(self.earlier),
            "B": len(self.batches),
            "Q": len(self.asked),
        }
        return f"{prefix}{sizes[prefix] + 1}"

    def granted(self, risk: Risk) -> bool:
        """Whether a tier is allowed without another question."""
        if risk <= self.allow:
            return True
        return any(
            a.granted
            and (
                (a.scope == "run" and self.batches[a.batch].risk >= risk)
                or (a.scope == "kind" and self.batches[a.batch].risk is risk)
            )
            for a in self._standing_answers
        )

    def denied(self, risk: Risk) -> bool:
        """Whether somebody said no to this tier or a lower one, and it still holds."""
        return any(not a.granted and self.batches[a.batch].risk <= risk for a in self._standing_answers)

    @property
    def standing_refusals(self) -> list[ev.MoveRefused]:
        """Refusals that still hold: a resume that says anew what is allowed lets everything be proposed again."""
        return self.refusals[self._refusals_before :]

    @property
    def model_tokens(self) -> int:
        """Tokens of the language model so far, prompts and answers."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.model_calls)

    @property
    def model_cost(self) -> float | None:
        """What the language model cost so far; None where nobody named its prices."""
        costs = [call.cost for call in self.model_calls]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def model_words(self) -> str:
        """What the language model took, in words; empty where none was asked."""
        if not self.model_calls:
            return ""
        about = "about " if any(call.counted == "estimated" for call in self.model_calls) else ""
        cost = f", cost {self.model_cost:.4g}" if self.model_cost is not None else ""
        return f"{about}{self.model_tokens} tokens in {len(self.model_calls)} calls{cost}"

    @property
    def model_calls_now(self) -> list[ev.ModelAsked]:
        """Questions to the language model since the run was last taken up."""
        return self.model_calls[self._model_calls_before :]

    @property
    def proposals_refused_now(self) -> list[ev.ProposalRefused]:
        """Refused proposals since the run was last taken up."""
        return self.proposals_refused[self._proposals_before :]

    @property
    def _standing_answers(self) -> list[ev.ApprovalAnswered]:
        return self.answers[self._answers_before :]
