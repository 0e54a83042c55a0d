"""One investigation as a list of events: the draft tokens were cut from 16 to 2, and undoing that did not help.

Figures are made up but consistent: 56.8 tok/s with the cut, 90.1 without speculation, 46.7 with all 15 steps.
"""

from __future__ import annotations

import hashlib

from specdoctor.core import events as ev
from specdoctor.core.conclusions import CauseNamed, Recommendation
from specdoctor.core.estimate import Estimate, Unit
from specdoctor.core.hypothesis import Claim, Hypothesis, Observation, Prediction, TodoItem, TodoStatus
from specdoctor.core.launch import LaunchChange, LaunchOutcome, RestoreOutcome
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk, Role, Status, Verdict
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import Rewrite, ServerRef, Source, SpecSetting

START = 1_740_146_400.0
ORIGINAL_SERVER = ServerRef(pid=4121, start_ticks=88_120, port=30000)
CUT = SpecSetting(algorithm="EAGLE3", draft_steps=1, topk=1, draft_tokens=2)
UNCUT = SpecSetting(algorithm="EAGLE3", draft_steps=15, topk=1, draft_tokens=16)
NO_SPEC = LaunchChange(
    label="no speculation",
    remove_flags=("--speculative-algorithm", "--speculative-num-steps", "--speculative-num-draft-tokens"),
)
FIFTEEN = LaunchChange(label="15 steps", set_flags={"--speculative-num-steps": ("15",)})
LOG = b"[2025-02-21 14:02:11] speculative_num_draft_tokens is adjusted to speculative_num_steps + 1\n"

CUT_SOURCES = (
    Source(where="/proc/4121/cmdline", key="speculative_num_draft_tokens", quote="--speculative-num-draft-tokens 16"),
    Source(where="server.log", line=41, key="speculative_num_draft_tokens", quote="speculative_num_draft_tokens=2"),
)
REWRITE = Rewrite(
    key="speculative_num_draft_tokens",
    asked="16",
    effective="2",
    kind="rewritten",
    cause="CFG-3",
    rule="with topk 1 the draft tokens are the draft steps + 1",
    logged=LOG.decode().strip(),
    sources=CUT_SOURCES,
)


def estimate(value: float, low: float, high: float, unit: Unit, estimator: str, n: int = 12) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit=unit, estimator=estimator, n=n)


def measurement(
    name: str,
    launch: LaunchChange,
    spec: SpecSetting,
    evidence: str,
    *,
    speed: tuple[float, float, float],
    accept: tuple[float, float, float] | None,
    step: tuple[float, float, float],
) -> Measurement:
    return Measurement(
        id=name,
        launch=launch.label,
        launch_key=launch.key,
        spec=spec,
        concurrency=1,
        source="bench",
        requests=12,
        throughput=estimate(*speed, "tok/s", "decode speed per request, bootstrap over prompts"),
        accept_length=estimate(*accept, "tokens/cycle", "sum of tokens over sum of forwards") if accept else None,
        step=estimate(*step, "ms", "median gap between chunks"),
        prompt_set="builtin",
        evidence=evidence,
    )


def hypothesis(name: str, cause: str | None, claim: str, **more: object) -> Hypothesis:
    fields: dict[str, object] = {"answers": "exists", "prediction": None, **more}
    return Hypothesis.model_validate({"id": name, "key": f"key-{name}", "cause": cause, "claim": claim, **fields})


class _Timeline:
    """Collects events, each some seconds after the one before."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.at = START

    def add(self, event: ev.Event, *, after_s: float = 1.0) -> None:
        self.at += after_s
        self.events.append(event.model_copy(update={"at": self.at}))

    def act(self, action: str, what: str, risk: Risk, *, hypotheses: tuple[str, ...] = (), why: str = "") -> None:
        move = {"kind": what} | ({"change": FIFTEEN.model_dump(mode="json")} if action == "A5" else {})
        self.add(
            ev.ActionStarted(action=action, what=what, risk=risk, move=move, why=why, hypotheses=hypotheses)  # type: ignore[arg-type]  # plain JSON
        )

    def end(self, action: str, summary: str, took_s: float, *evidence: str) -> None:
        self.add(
            ev.ActionEnded(action=action, outcome="done", summary=summary, duration_s=took_s, evidence=evidence),
            after_s=took_s,
        )

    def record(self, evidence: str, action: str | None, source: str, summary: str, **more: object) -> None:
        fields = {"evidence": evidence, "action": action, "source": source, "summary": summary, **more}
        self.add(ev.EvidenceRecorded.model_validate(fields), after_s=0.1)


def _reading(t: _Timeline) -> None:
    t.add(
        ev.RunStarted(
            run="7f3c",
            target="eagle-a",
            settings=RunSettings(symptom="56.8 tok/s with EAGLE-3, 90 without", allow=Risk.LOAD),
            tool_version="0.1.0",
        ),
        after_s=0.0,
    )
    t.add(
        ev.ClaimStated(claim=Claim(metric="throughput_tok_s", value=90.0, role="baseline", text="90 tok/s without")),
    )
    t.act("A1", "snapshot", Risk.READ, why="read everything once")
    t.record(
        "E1",
        "A1",
        "probe of eagle-a",
        "1 server, 1 log, 2 configs",
        artefact="E1/server.log",
        sha256=hashlib.sha256(LOG).hexdigest(),
        data={"rewrites": [REWRITE.model_dump(mode="json")]},
    )
    t.end("A1", "1 server, 1 log, 2 configs", 3.2, "E1")
    t.add(
        ev.ServerSeen(
            engine="sglang",
            ref=ORIGINAL_SERVER,
            state="running",
            version="0.5.12",
            version_range=None,
            summary="Kimi-K2.5 + its EAGLE-3 drafter",
            evidence="E1",
        )
    )
    t.record("E2", None, "check effective-config", "16 draft tokens asked, 2 in force")
    t.add(
        ev.Observed(
            evidence="E2",
            observation=Observation(
                check="effective-config",
                cause="CFG-3",
                stance="supports",
                claim="16 draft tokens were asked for, 2 are in force",
                binds=True,
                sources=CUT_SOURCES,
            ),
        )
    )


def _hypotheses(t: _Timeline) -> None:
    t.add(
        ev.HypothesisOpened(
            hypothesis=hypothesis(
                "H1",
                "CFG-3",
                "undoing the cut to 2 draft tokens brings >= 90 tok/s",
                answers="explains",
                prediction=Prediction(
                    metric="throughput_tok_s",
                    op=">=",
                    value=90.0,
                    under=FIFTEEN.key,
                    under_label=FIFTEEN.label,
                    value_from="typed",
                ),
                priority="high",
                todo=(TodoItem(id="T1", content="restart with 15 steps and measure"),),
            )
        )
    )
    t.add(
        ev.HypothesisOpened(
            hypothesis=hypothesis(
                "H2",
                "WIRE-1",
                "the drafter is fed other states than it was trained on",
                decides="the drafter's training config",
                todo=(
                    TodoItem(id="T1", content="read the configs of drafter and target", status=TodoStatus.COMPLETED),
                    TodoItem(id="T2", content="find what it was trained on"),
                    TodoItem(id="T3", content="compare with what 0.5.12 captures"),
                ),
            )
        )
    )
    t.add(
        ev.HypothesisOpened(
            hypothesis=hypothesis(
                "H3",
                "TRAIN-3",
                "it never learnt to draft from its own output",
                decides="running the drafter alone on stored states",
                todo=(TodoItem(id="T1", content="run the drafter alone on stored states"),),
            )
        )
    )
    t.add(ev.TodoChanged(hypothesis="H2", todo="T2", status=TodoStatus.IN_PROGRESS))
    t.record("E3", None, "arithmetic", "one step gives at most 71 tok/s")
    t.add(
        ev.BoundComputed(
            evidence="E3",
            basis="typed",
            about="1 step",
            text="one step can give at most 71 tok/s, below 90",
            assumptions=("a cycle takes at least 28.2 ms",),
            metric="throughput_tok_s",
            low=35.5,
            value=56.8,
            high=71.0,
            claim=90.0,
            refuted=False,
        )
    )


def _measuring(t: _Timeline) -> None:
    t.act("A2", "watch", Risk.READ)
    t.record("E4", "A2", "watched for 5 s", "no request of others", data={"foreign_requests": 0})
    t.end("A2", "no request of others in 5 s", 5.0, "E4")
    t.act("A3", "bench", Risk.LOAD, why="the symptom, measured")
    t.record("E5", "A3", "bench of the launch as found", "56.8 tok/s, accept length 1.60")
    t.add(
        ev.Measured(
            measurement=measurement(
                "M1",
                LaunchChange(label="as found"),
                CUT,
                "E5",
                speed=(56.8, 55.9, 57.7),
                accept=(1.6, 1.57, 1.63),
                step=(28.2, 28.0, 28.4),
            )
        )
    )
    t.end("A3", "56.8 tok/s", 62.0, "E5")
    t.add(ev.MoveRefused(move="relaunch", why="a restart needs a yes: allow it with --allow restart, or answer y"))
    t.add(ev.ApprovalAsked(batch="B1", risk=Risk.RESTART, text="H1 needs one restart of the server on eagle-a."))
    t.add(ev.ApprovalAnswered(batch="B1", granted=True, scope="run", by="user"), after_s=20.0)
    for action, change, spec, down_s in (
        ("A4", NO_SPEC, SpecSetting(), 231.0),
        ("A5", FIFTEEN, UNCUT, 242.0),
    ):
        evidence = "E6" if action == "A4" else "E8"
        t.act(action, "relaunch", Risk.RESTART, hypotheses=("H1",), why=f"measure {change.label}")
        t.record(evidence, action, "start of the server", f"ready with {change.label}", artefact=f"{evidence}.log")
        t.add(
            ev.ServerRelaunched(
                change=change,
                spec=spec,
                outcome=LaunchOutcome(
                    action=action,
                    status="ready",
                    server=ServerRef(pid=5000, start_ticks=99_000, port=30000),
                    stop_s=9.0,
                    start_s=down_s - 9.0,
                    downtime_s=down_s,
                ),
                evidence=evidence,
            ),
            after_s=down_s,
        )
        t.end(action, f"ready with {change.label}", down_s, evidence)
        bench = "E7" if action == "A4" else "E9"
        t.record(bench, None, f"bench of {change.label}", "12 requests")
        t.add(
            ev.Measured(
                measurement=measurement(
                    "M2" if action == "A4" else "M3",
                    change,
                    spec,
                    bench,
                    speed=(90.1, 89.2, 91.0) if action == "A4" else (46.7, 45.9, 47.4),
                    accept=None if action == "A4" else (1.9, 1.85, 1.95),
                    step=(11.1, 11.0, 11.2) if action == "A4" else (40.7, 40.2, 41.2),
                )
            ),
            after_s=60.0,
        )


def _ending(t: _Timeline) -> None:
    t.add(ev.TodoChanged(hypothesis="H1", todo="T1", status=TodoStatus.COMPLETED))
    t.add(
        ev.HypothesisClosed(
            hypothesis="H1",
            status=Status.FALSIFIED,
            because="46.7 tok/s (45.9-47.4) at 15 steps lies below 90",
            evidence=("E9",),
        )
    )
    t.act("A6", "restore", Risk.RESTART, why="put the original back")
    t.record("E10", "A6", "comparison with the record", "argv, env, cwd and affinity equal")
    t.add(
        ev.ServerRestored(
            outcome=RestoreOutcome(
                action="A6",
                status="restored",
                server=ServerRef(pid=6000, start_ticks=120_000, port=30000),
                equal={"argv": True, "env": True, "cwd": True, "affinity": True},
                start_s=221.0,
                downtime_s=230.0,
            ),
            evidence="E10",
        ),
        after_s=230.0,
    )
    t.end("A6", "restored and compared equal", 230.0, "E10")
    t.add(ev.HostReleased(removed=("way-back.json",)))
    t.add(
        ev.VerdictReached(
            verdict=Verdict.CAUSE,
            headline="the cut to 2 draft tokens is real, and is not why it is slow",
            causes=(
                CauseNamed(
                    cause="CFG-3",
                    status="supported",
                    role=Role.PRESENT,
                    claim="16 draft tokens were asked for, 2 are in force",
                    evidence=("E2",),
                ),
                CauseNamed(
                    cause="WIRE-1",
                    status="suspected",
                    role=Role.EXPLAINS,
                    claim="the drafter is fed other states than it was trained on",
                    decides="the drafter's training config",
                ),
            ),
            ruled_out=("CFG-3 as the explanation",),
            missing=("what the drafter was trained on: read its training config",),
            recommendation=Recommendation(
                launch="python3 -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp 8 --port 30000 "
                "--trust-remote-code --mem-fraction-static 0.85",
                rollback="python3 -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp 8 --port 30000 "
                "--speculative-algorithm EAGLE3 --speculative-num-steps 1 --speculative-num-draft-tokens 16",
                expected={"throughput_tok_s": 90.1, "interval": [89.2, 91.0]},
                basis="measured",
                why="without speculation it was 1.59 times as fast",
            ),
            lines=(
                ("verdict", "the cut to 2 draft tokens is real, and is not why it is slow"),
                ("loses", "56.8 tok/s (1.60 tokens a cycle, 28.2 ms) against 90.1 without  E5 E7"),
                ("because", "not decided: the drafter is fed other states than it was trained on (WIRE-1)"),
                ("ruled out", "the cut to 2 draft tokens: 46.7 tok/s with 15 steps, 90 predicted  E9"),
                ("not known", "why a cycle takes 2.5 baseline steps; would tell: the drafter's training config"),
                (
                    "do now",
                    "start without speculation:  python3 -m sglang.launch_server --model-path /models/Kimi-K2.5",
                ),
                ("then", "read what the drafter was trained on, and compare"),
                ("cost", "3 restarts, 11:43 down; the server is as it was (argv, env, cwd, affinity)"),
            ),
        )
    )
    t.add(ev.RunEnded(exit_code=1, reason="a cause was named"))


def story() -> list[ev.Event]:
    """The whole investigation."""
    timeline = _Timeline()
    for chapter in (_reading, _hypotheses, _measuring, _ending):
        chapter(timeline)
    return timeline.events


def until(kind: str, *, nth: int = 1) -> list[ev.Event]:
    """The story up to and including the nth event of a kind."""
    events = story()
    found = [i for i, e in enumerate(events) if e.kind == kind]
    return events[: found[nth - 1] + 1]
