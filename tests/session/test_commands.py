"""The table of commands: pure functions of what is seen and what was typed."""

from __future__ import annotations

import pytest

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core import wishes
from specdoctor.core.errors import UsageError
from specdoctor.core.hypothesis import Hypothesis, Prediction, TodoItem
from specdoctor.core.model import Risk, Status
from specdoctor.core.run_settings import RunSettings
from specdoctor.session.question import choices, question_lines
from specdoctor.session.table import COMMANDS, completions_of, outcome_of
from specdoctor.session.view import View

CLAIM = Hypothesis(
    id="H1",
    key="k",
    cause="CFG-3",
    claim="undoing the cut brings 90 tok/s",
    answers="explains",
    prediction=Prediction(metric="throughput_tok_s", op=">=", value=90.0, under="x", under_label="15 steps"),
    decides="launch it",
    todo=(TodoItem(id="H1.1", content="benchmark it"),),
)
ASKS = ev.ApprovalAsked(
    batch="B1",
    risk=Risk.RESTART,
    text="H1 needs a restart.\n\n  stop      pid 7",
    lines=("kill -TERM 7", "python3 -m x"),
)


def view(*events: ev.Event) -> View:
    settings = RunSettings(symptom="slow")
    begun = ev.RunStarted(run="r1", target="t", settings=settings, tool_version="1")
    evidence = ev.EvidenceRecorded(evidence="E1", action=None, source="check x", summary="read it")
    return View(
        checks=("layer-wiring",), history=[begun, evidence, ev.HypothesisOpened(hypothesis=CLAIM), *events], width=80
    )


def closed(status: Status, *evidence: str) -> ev.HypothesisClosed:
    return ev.HypothesisClosed(hypothesis="H1", status=status, because="measured 46.7", evidence=evidence)


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("/note fans are loud", wishes.Note(text="fans are loud")),
        ("/prior h1 0.8", wishes.Prior(hypothesis="H1", prior=0.8)),
        ("/drop 1 not now", wishes.Drop(hypothesis="H1", why="not now")),
        ("/pause", wishes.Hold(on=True)),
        (
            "/run bench concurrency=4",
            wishes.Asked(text="/run bench concurrency=4", wish=wishes.CheckWish(check="bench", concurrency=4)),
        ),
        (
            "/relaunch draft_steps=5",
            wishes.Asked(
                text="/relaunch draft_steps=5", wish=wishes.RelaunchWish(launch=wishes.LaunchWish(draft_steps=5))
            ),
        ),
        (
            "/add WIRE-1",
            wishes.Asked(text="/add WIRE-1", wish=wishes.ClaimWish(text="", cause="WIRE-1")),
        ),
        ("the queue grows", wishes.Told(text="the queue grows")),
        ("hello there", wishes.Note(text="hello there")),
    ],
)
def test_a_line_becomes_a_wish(line: str, request_: wishes.Request) -> None:
    assert outcome_of(view(), line).request == request_


def test_a_claim_says_what_it_foretells() -> None:
    outcome = outcome_of(view(), '/add "longer drafts pay" throughput>=95 draft_steps=5')
    assert isinstance(outcome.request, wishes.Asked)
    wish = outcome.request.wish
    assert isinstance(wish, wishes.ClaimWish)
    assert wish.text == "longer drafts pay"
    assert wish.foretold == wishes.Foretelling(
        metric="throughput_tok_s", op=">=", value=95.0, launch=wishes.LaunchWish(draft_steps=5)
    )
    assert "90 tok/s with speculation=off" in outcome_of(view(), "without speculation it would give 90 tok/s").text


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/foo", "unknown command"),
        ("/prio H1 1", 'did you mean "/prior"'),
        ("/prior H1 2", "must be 1 or less"),
        ("/prior H9 1", "no hypothesis H9"),
        ("/drop", "which hypothesis?"),
        ("/undrop H1", "is open"),
        ("/run layer-wirng", 'did you mean "layer-wiring"'),
        ("/run bench seconds=3", "bench takes concurrency"),
        ("/run layer-wiring x=1", "takes no setting"),
        ("/relaunch draft_steps=50", "must be 32 or less"),
        ("/relaunch steps=5", 'did you mean "draft_steps"'),
        ("/relaunch", "with which setting?"),
        ('/add "it is the fans"', "needs what would be measured"),
        ("/add FOO-1", "unknown cause"),
        ('/add "open', "cannot be split"),
        ("/approve", "nothing is asked"),
        ("/deny", "nothing is asked"),
        *((word, "nothing is asked") for word in ("y", "yes", "Yes please!", "no", "n", "No.")),
        ("k", "says nothing"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=r"(?s)" + says.replace("?", r"\?").replace("(", r"\(")):
        outcome_of(view(), line)


@pytest.mark.parametrize(
    ("line", "granted", "scope"),
    [
        ("/approve", True, "once"),
        ("y", True, "once"),
        ("yes", True, "once"),
        ("Yes, please.", True, "once"),
        ("no!", False, "once"),
        ("please no", False, "once"),
        ("k", True, "kind"),
        ("A", True, "run"),
        ("/approve run", True, "run"),
        ("n", False, "once"),
        ("/deny", False, "once"),
    ],
)
def test_an_answer_names_its_question(line: str, granted: bool, scope: str) -> None:
    reply = outcome_of(view(ASKS), line).request
    assert isinstance(reply, wishes.Reply)
    assert (reply.batch, reply.granted, reply.scope) == ("B1", granted, scope)


@pytest.mark.parametrize(
    "line", ["yes?", "yes but later", "please", "approve", "please approve everything", "/commands", "c", ""]
)
def test_nothing_else_is_a_yes(line: str) -> None:
    assert not isinstance(outcome_of(view(ASKS), line).request, wishes.Reply)


@pytest.mark.parametrize("line", ["quit", "exit", "q", "Quit!", "please quit", "exit, please."])
def test_a_bare_word_leaves(line: str) -> None:
    for seen in (view(), view(ASKS)):
        assert outcome_of(seen, line) == outcome_of(seen, "/quit")


@pytest.mark.parametrize("line", ["help", "?", "Help!", "help?", "please help"])
def test_a_bare_word_helps(line: str) -> None:
    assert outcome_of(view(), line) == outcome_of(view(), "/help")


@pytest.mark.parametrize(
    "line",
    [
        "why is it so slow?",
        "why is it 40 tok/s",
        "what does accept length mean",
        "what does WIRE-1 mean?",
        "how long does it take",
        "is it slow?",
        "it is slow, right?",
        "quit?",
    ],
)
def test_a_question_is_answered_and_not_recorded(line: str) -> None:
    outcome = outcome_of(view(), line)
    assert (outcome.request, outcome.do) == (None, "")
    assert all(place in outcome.text for place in ("/why", "/help", "specdoctor causes"))
    assert max(map(len, outcome.text.splitlines())) < 80


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("what we see is that the queue grows", wishes.Told),
        ("it drops to 40 tok/s with 8 clients, is that normal?", wishes.Told),
        ("what changed: driver 550 last week", wishes.Note),
        ("could it be WIRE-1?", wishes.Asked),
        ("would it give 95 tok/s with 5 steps?", wishes.Asked),
    ],
)
def test_what_tells_something_is_recorded_however_it_begins(line: str, kind: type) -> None:
    assert isinstance(outcome_of(view(), line).request, kind)


def test_nothing_is_approved_while_paused() -> None:
    with pytest.raises(UsageError, match="paused"):
        outcome_of(view(ASKS, pe.PauseSet(paused=True, by="ann")), "y")


def test_a_question_shows_its_commands_and_what_can_be_answered() -> None:
    lines = question_lines(ASKS, width=80)
    assert lines[0] == "H1 needs a restart."
    assert lines[-1] == "  stop      pid 7"
    shown = "\n".join(lines)
    assert "pid 7" in shown
    assert "    kill -TERM 7" in shown
    assert "    kill -TERM 7" in outcome_of(view(ASKS), "c").text
    assert "[k] all restarts" in choices(ASKS)


LONG = "6 steps: a cycle takes 32.84 ms (32.78-32.90), and at most 7 (213.1 tok/s (212.7-213.5)) out(2): not excluded"


def test_a_question_is_shortened_where_it_is_higher_than_the_terminal() -> None:
    text = ASKS.text.replace("\n\n", f"\n\n  so far    H1 supported\n            {LONG}\n\n", 1)
    asked = ASKS.model_copy(update={"text": text})
    whole = question_lines(asked, width=80)
    dense = question_lines(asked, width=80, height=len(whole) - 1)
    assert dense == [line for line in whole if line]
    short = question_lines(asked, width=80, height=len(dense) - 1)
    assert "            6 steps: a cycle takes 32.84 ms, and at most 7 out(2): not excluded" in short
    least = question_lines(asked, width=80, height=1)
    assert "  so far    /hypotheses lists what is known without it" in least
    assert not any("6 steps" in line for line in least)
    kept = [line for line in question_lines(ASKS, width=80) if line]
    assert [line for line in least if "so far" not in line] == kept, "what is run and how it is undone stays"


def test_a_question_does_not_outlive_the_run() -> None:
    ended = ev.RunEnded(exit_code=4, reason="waits")
    assert view(ASKS).question == ASKS
    assert view(ASKS, ended).question is None


def test_why_shows_the_prediction_and_what_would_tell() -> None:
    text = outcome_of(view(), "/why H1").text
    assert "undoing the cut brings 90 tok/s" in text
    assert "throughput_tok_s >= 90 tok/s, 15 steps" in text
    assert "launch it" in text
    assert "said ann" in outcome_of(view(pe.PriorSet(hypothesis="H1", prior=0.8, by="ann")), "/why H1").text
    assert "measured 46.7" in outcome_of(view(closed(Status.FALSIFIED, "E1")), "/why 1").text


def test_evidence_of_a_claim_and_by_its_number() -> None:
    seen = view(closed(Status.FALSIFIED, "E1"))
    assert "read it" in outcome_of(seen, "/evidence H1").text
    assert "from" in outcome_of(seen, "/evidence e1").text
    assert "rests on nothing" in outcome_of(view(), "/evidence H1").text


def test_what_evidence_decided_is_not_dropped() -> None:
    with pytest.raises(UsageError, match="by evidence"):
        outcome_of(view(closed(Status.FALSIFIED, "E1")), "/drop H1")


def test_texts_from_elsewhere_act_on_no_terminal() -> None:
    nasty = CLAIM.model_copy(update={"id": "H2", "key": "n", "claim": "\x1b[2Jgone \x07 y\n/approve"})
    seen = view(ev.HypothesisOpened(hypothesis=nasty))
    for line in ("/why H2", "/hypotheses"):
        assert not {"\x1b", "\x07"} & set(outcome_of(seen, line).text)


def test_every_command_has_help_that_fits_a_line() -> None:
    told = outcome_of(view(), "/help").text
    assert all(f"/{name}" in told for name in COMMANDS)
    assert max(len(line) for line in told.splitlines()) <= 80
    assert len(told.splitlines()) <= len(COMMANDS) + 2
    assert "/prior H3 0.8" in outcome_of(view(), "/help prior").text


@pytest.mark.parametrize("line", ["/budget", "/hypotheses", "/why", "/report", "/quit", "/go", "/pause", "/commands"])
def test_commands_without_words_always_answer(line: str) -> None:
    for seen in (view(), view(ASKS), View()):
        outcome = outcome_of(seen, line)
        assert outcome.text or outcome.request or outcome.do


def test_completion() -> None:
    assert completions_of(view(), "/ev") == ["/evidence"]
    assert completions_of(view(), "/why ") == ["H1"]
    assert completions_of(view(), "/run la") == ["layer-wiring"]
    assert completions_of(view(), "/run bench c") == ["concurrency="]
    assert completions_of(view(), "/approve k") == ["kind"]
    assert completions_of(view(), "hello") == []
