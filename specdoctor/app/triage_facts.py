"""All facts that files give, each from the best source that gives it, and those that follow from others."""

from __future__ import annotations

from collections.abc import Iterator

from specdoctor.app.facts_counters import answer_facts, counted_facts, gauge_facts, pass_facts
from specdoctor.app.facts_log import AT_LOAD, acceptance_facts, load_facts, speed_facts, whole_log_facts
from specdoctor.app.facts_models import model_facts
from specdoctor.app.facts_setting import capture_facts, logged_capture_facts, setting_facts
from specdoctor.app.facts_tables import table_facts
from specdoctor.app.triage_fact import Fact, Facts
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView

FROM_ONE_LOAD = (
    "throughput_tok_s", "baseline_tok_s", "baseline_step_ms", "speedup", "step_ratio", "accept_length", "step_ms",
)  # fmt: skip
"""Figures that mean something beside each other only: a table's pair goes before the log's own traffic."""

APART = 0.25
"""Relative gap between a step and accept length / throughput beyond what the choice of means explains (heuristic)."""


def facts_of(scene: Scene) -> tuple[Fact, ...]:
    """What the files give, by name. What they cannot give is absent."""
    view, material = scene.view, scene.material
    tabled = tuple(table_facts(scene))
    found = Facts()
    found.add(model_facts(view, material))
    found.add(setting_facts(view))
    found.add(load_facts(view))
    if any(fact.name == "speedup" for fact in tabled) and not _plain(view):
        found.add(fact for fact in tabled if fact.name in FROM_ONE_LOAD)
    found.add(counted_facts(material))
    found.add(acceptance_facts(view))
    found.add(speed_facts(view))
    found.add(tabled)
    found.add(answer_facts(material))
    found.add(gauge_facts(material))
    found.add(pass_facts(material))
    if not _plain(view):
        found.add(_beside(scene, found))
    if not _plain(view):
        found.add(_derived(found))
    running = found.number("running_requests_max")
    found.add(capture_facts(view, int(running) if running is not None else None))
    if found.get("capture_max") is None:
        found.add(logged_capture_facts(scene))
    found.add(whole_log_facts(view))
    return found.all()


def _beside(scene: Scene, found: Facts) -> Iterator[Fact]:
    """The baseline by the log of a server without speculation, at the same number of running requests or not at all."""
    at = found.number("measured_at_running_requests")
    for other in scene.others:
        if other.log is None or _drafts(other):
            continue
        speeds = {fact.name: fact for fact in speed_facts(other, int(at) if at is not None else None)}
        if "throughput_tok_s" not in speeds:
            continue
        for name, ours in (("throughput_tok_s", "baseline_tok_s"), ("step_ms", "baseline_step_ms")):
            if name in speeds:
                yield speeds[name].model_copy(update={"name": ours})
        return


def _plain(view: ServerView) -> bool:
    """Whether the server is known not to speculate: then it is no arm of a comparison."""
    return view.spec is not None and not view.spec.on and not _drafts(view)


def _drafts(view: ServerView) -> bool:
    told = view.spec is not None and view.spec.on
    return told or (view.log is not None and any(w.accept_length is not None for w in view.log.decode))


def _derived(found: Facts) -> Iterator[Fact]:
    """What follows from the rest: the strict rate, the step, the baseline's step, gain and break-even."""
    yield from _rate(found)
    yield from _step(found)
    base = found.number("baseline_tok_s")
    if base and found.number("baseline_step_ms") is None and _one_request(found):
        yield Fact(name="baseline_step_ms", value=round(1000 / base, 4), estimator="1000 / baseline tok/s, one request")
    now = found.number("throughput_tok_s")
    if base and now:
        yield Fact(name="speedup", value=round(now / base, 4), estimator="throughput / baseline")
    step, plain = found.number("step_ms"), found.number("baseline_step_ms")
    if step and plain and not _of_two_servers(found):
        yield Fact(name="step_ratio", value=round(step / plain, 4), estimator="step / baseline step")
        yield Fact(name="break_even_accept_length", value=round(step / plain, 4), estimator="step / baseline step")


def _rate(found: Facts) -> Iterator[Fact]:
    length, steps = found.number("accept_length"), found.number("draft_steps")
    if length is not None and length >= 1 and steps:
        words = "(accept length - 1) / draft steps"
        yield Fact(name="draft_acceptance_rate", value=round((length - 1) / steps, 4), estimator=words)


def _step(found: Facts) -> Iterator[Fact]:
    at_load = found.number(AT_LOAD)
    length = at_load if at_load is not None else found.number("accept_length")
    speed = found.number("throughput_tok_s")
    if length and speed and _one_request(found):
        words = "accept length / throughput, one request"
        yield Fact(name="step_ms", value=round(1000 * length / speed, 4), estimator=words)


def _of_two_servers(found: Facts) -> bool:
    """Whether throughput and step contradict each other: one of them is of another server or load."""
    length, speed, step = (found.number(name) for name in ("accept_length", "throughput_tok_s", "step_ms"))
    if not length or not speed or not step or not _one_request(found):
        return False
    return abs(1000 * length / speed - step) > APART * step


def _one_request(found: Facts) -> bool:
    """Whether the speed is of one request at a time: nothing says that more ran."""
    at = found.number("measured_at_running_requests")
    most = found.number("running_requests_max")
    return (at if at is not None else most if most is not None else 1.0) <= 1.0
