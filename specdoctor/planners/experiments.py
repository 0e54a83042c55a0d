"""Launches that would decide something: the baseline, and each remedy."""

from __future__ import annotations

from specdoctor.analysis.symptom import Symptom
from specdoctor.core.engine import Engine
from specdoctor.core.errors import EngineError
from specdoctor.core.hypothesis import Hypothesis, Remedy
from specdoctor.core.install import install_change
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen, Status
from specdoctor.core.moves import Note
from specdoctor.core.ports import Briefing, Scene
from specdoctor.core.server import SpecSetting
from specdoctor.keepers.lines import container_lines
from specdoctor.planners.corrections import corrected_change
from specdoctor.planners.idle_positions import KEY as IDLE
from specdoctor.planners.idle_positions import shorter_chain
from specdoctor.planners.starts import next_start

OFF = SpecSetting()
OLD_NEW = "explains:VER-1:other-install"
LOSSY = "symptom:answers"


class Experiment(Frozen):
    """A launch that would decide something: the change, the hypotheses it tests, and why it comes next."""

    change: LaunchChange
    hypotheses: tuple[str, ...]
    why: str


def baseline_change(briefing: Briefing) -> LaunchChange | None:
    """The launch without speculation; None when none is in force, or no flag can take it away."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None or scene.view.spec is None or not scene.view.spec.on:
        return None
    try:
        return engine.change_spec(scene.view, OFF, label="without speculation")
    except EngineError:
        return None


def other_install_change(briefing: Briefing) -> LaunchChange | None:
    """The launch from the other installation that the target file names; None without one, and where the server is in
    no container that could be made from another image.
    """
    scene, other = briefing.scene, briefing.ledger.settings.other_install
    if scene is None or other is None or not scene.view.argv:
        return None
    if other.image is not None and scene.view.keeper.through.kind not in ("docker", "podman"):
        return None
    return install_change(other, argv=scene.view.argv, env=scene.view.env)


def remedy_change(briefing: Briefing, remedy: Remedy) -> LaunchChange | None:
    """The launch change of a remedy; None when no flag can make it."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return None
    if remedy.setting is not None:
        try:
            return engine.change_spec(scene.view, remedy.setting, label=remedy.label)
        except EngineError:
            return None
    change = engine.change_flags(label=remedy.label, set_flags=remedy.set_flags, remove_flags=remedy.remove_flags)
    return change.model_copy(update={"remove_env": remedy.remove_env})


def pending_experiments(briefing: Briefing, symptom: Symptom) -> list[Experiment]:
    """Launches still worth making, the one that decides most first: the baseline, then each remedy."""
    ledger = briefing.ledger
    out: list[Experiment] = []
    again = next_start(ledger)
    if again is not None:
        out.append(Experiment(change=again[0], hypotheses=(again[1],), why="is each start of it equally fast?"))
        return [e for e in out if not ledger.settled(e.change)]
    slower = ledger.by_key("symptom:slower")
    change = baseline_change(briefing)
    if slower is not None and slower.status is Status.OPEN and change is not None:
        out.append(
            Experiment(change=change, hypotheses=(slower.id,), why="is it slower at all, in this state of the system?")
        )
    lossy = ledger.by_key(LOSSY)
    if lossy is not None and lossy.status is Status.OPEN and change is not None:
        out.append(Experiment(change=change, hypotheses=(lossy.id,), why="does it answer the same without?"))
    if slower is None and symptom.asks_about_speed:
        return []
    for o in ledger.observed():
        if o.stance != "supports" or not o.binds or o.remedy is None:
            continue
        hypothesis = ledger.by_key(f"explains:{o.cause}:{o.remedy.label}")
        remedy = remedy_change(briefing, o.remedy)
        if hypothesis is None or hypothesis.status is not Status.OPEN or remedy is None:
            continue
        if slower is not None and slower.status is Status.FALSIFIED and _reached(ledger, hypothesis):
            continue
        why = f"does undoing it remove the symptom? ({o.claim})"
        out.append(Experiment(change=remedy, hypotheses=(hypothesis.id,), why=why))
    corrected = corrected_change(briefing)
    if corrected is not None:
        why = "does it come right with the drafter's config.json corrected?"
        out.append(Experiment(change=corrected[0], hypotheses=corrected[1], why=why))
    idle, shorter = ledger.by_key(IDLE), shorter_chain(briefing)
    if idle is not None and idle.status is Status.OPEN and shorter is not None:
        out.append(Experiment(change=shorter, hypotheses=(idle.id,), why="is a chain of those that pay faster?"))
    out += _rivals(briefing)
    other, old_new = other_install_change(briefing), ledger.by_key(OLD_NEW)
    if other is not None and old_new is not None and old_new.status is Status.OPEN:
        why = f"is the engine that runs slower than the other one, in this state of the system? ({other.label})"
        out.append(Experiment(change=other, hypotheses=(old_new.id,), why=why))
    return [e for e in out if not ledger.settled(e.change)]


def as_ranked(ledger: Ledger, experiments: list[Experiment]) -> list[Experiment]:
    """By what a person holds for likely, where they said so (else even chances); what tests the symptom stays first."""
    if not ledger.priors_set:
        return experiments

    def rank(experiment: Experiment) -> float:
        tested = [ledger.hypotheses[h] for h in experiment.hypotheses if h in ledger.hypotheses]
        if any(h.answers == "symptom" for h in tested):
            return -2.0
        return -max((ledger.priors_set.get(h.id, 0.5) for h in tested), default=0.5)

    return sorted(experiments, key=rank)


def _rivals(briefing: Briefing) -> list[Experiment]:
    """Launches that rivals predict something of, as far as they were put on the list for it."""
    out: list[Experiment] = []
    for o in briefing.ledger.observed():
        hypothesis = briefing.ledger.by_key(o.rival_key) if o.stance == "suggests" else None
        if hypothesis is None or hypothesis.status is not Status.OPEN or hypothesis.prediction is None:
            continue
        change = remedy_change(briefing, o.remedy) if o.remedy is not None else None
        if change is not None and change.key == hypothesis.prediction.under:
            why = f"does undoing it bring back what is lost? ({o.claim})"
            out.append(Experiment(change=change, hypotheses=(hypothesis.id,), why=why))
    return out


def would_launch(briefing: Briefing) -> list[Note]:
    """The launches that could be tested here, as lines to read: the baseline, then each remedy."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return []
    changes = [baseline_change(briefing)]
    changes += [
        remedy_change(briefing, o.remedy) for o in briefing.ledger.observed() if o.binds and o.remedy is not None
    ]
    known = {c.key: c for c in changes if c is not None}
    return [_would_start(scene, engine, change) for change in known.values()]


def _would_start(scene: Scene, engine: Engine, change: LaunchChange) -> Note:
    """A launch and, where it is a container of its own, how that is made and how the original comes back."""
    lines = container_lines(scene, engine, change) or (engine.paste_line(scene.view, change),)
    back = f"; the way back: {lines[1]}" if len(lines) > 1 else ""
    return Note(text=f"dry run, would then start ({change.label}): {lines[0]}{back}", lines=lines)


def _reached(ledger: Ledger, hypothesis: Hypothesis) -> bool:
    """Whether the server as found already gives what undoing the fault was to bring: then nothing asks for it."""
    prediction = hypothesis.prediction
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    if prediction is None or prediction.value is None or now is None or now.throughput is None:
        return False
    if not prediction.value_from.startswith("typed"):
        return False
    return now.throughput.high >= prediction.value
