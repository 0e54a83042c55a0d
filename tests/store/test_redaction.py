from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from specdoctor.core import events as ev
from specdoctor.core.events import Event, event_from_json, event_to_json
from specdoctor.core.model import Risk
from specdoctor.core.redact import MASK
from specdoctor.store.redaction import Redactor
from tests.render.strategies import events

SECRET = "hunter2-long"


def started(**move: object) -> ev.ActionStarted:
    return ev.ActionStarted.model_validate({"action": "A1", "what": "relaunch", "risk": Risk.RESTART, "move": move})


def written(event: Event, *known: str) -> str:
    return event_to_json(Redactor(known).event(event))


@pytest.mark.parametrize(
    "event",
    [
        ev.NoteAdded(text=f"started with --api-key {SECRET} today", by="planner"),
        ev.NoteAdded(text=f'["python3", "--api-key", "{SECRET}", "--port", "1"]', by="planner"),
        ev.NoteAdded(text=f"['--admin-api-key', '{SECRET}']", by="planner"),
        ev.NoteAdded(text=f"http://me:{SECRET}@host/", by="planner"),
        started(argv=["python3", "--api-key", SECRET, "--port", "30000"]),
        started(argv=["python3", f"--api-key={SECRET}"]),
        started(env={"HF_TOKEN": SECRET, "PATH": "/bin"}),
        started(set_flags={"--api-key": [SECRET]}),
        started(nested={"deep": [{"api_key": {"value": SECRET}}]}),
    ],
)
def test_secrets_go_by_their_shape_or_name(event: Event) -> None:
    line = written(event)
    assert SECRET not in line
    assert MASK in line


@pytest.mark.parametrize("secret", [SECRET, 'qu"ote\\back', "ünïcode-key", "with space&sign", "it's"])
def test_a_known_value_goes_wherever_it_stands(secret: str) -> None:
    redactor = Redactor([secret])
    for text in (f"log line {secret} end", json.dumps({"x": secret}), json.dumps({"x": secret}, ensure_ascii=False)):
        assert redactor.text(text).count(MASK) == 1
        assert secret not in redactor.text(text)
    assert secret not in redactor.content(f"a\nb {secret}\n".encode()).decode()


@pytest.mark.parametrize(
    "document",
    [
        {"log": f"start --api-key {SECRET}", "next": "x y"},
        {"log": f"HF_TOKEN={SECRET}", "n": [1, 2.5, None, True]},
        {"argv": ["python3", "--api-key", SECRET, "--port", "1"]},
        {"env": {"HF_TOKEN": SECRET}, "text": "naïve \u2028 \ud800"},
        [{"server_args": {"api_key": SECRET, "port": 1}}],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_artefact_stays_json(document: object, indent: int | None) -> None:
    redactor = Redactor()
    written = redactor.content(json.dumps(document, indent=indent).encode())
    assert SECRET.encode() not in written
    assert json.loads(written) == json.loads(json.dumps(document).replace(SECRET, MASK))
    two_lines = redactor.content((json.dumps(document) + "\n").encode() * 2)
    assert [json.loads(line) for line in two_lines.splitlines()] == [json.loads(written)] * 2


def test_json_without_a_secret_keeps_its_bytes() -> None:
    content = b'{ "a" : 1.50,\n "b": "--port 1" , "c": "na\xc3\xafve"}\n'
    assert Redactor(["other-secret"]).content(content) == content


def test_words_of_closed_lists_stay_whatever_the_secrets_are() -> None:
    event = ev.ActionEnded(action="A1", outcome="done", summary="it is done", duration_s=1.0)
    line = written(event, "done", "action.ended")
    assert event_from_json(line) == event.model_copy(update={"summary": f"it is {MASK}"})


def test_what_is_no_secret_stays() -> None:
    event = started(argv=["--speculative-num-draft-tokens", "16", "--tokenizer-path", "/models/a"], needs_api_key=True)
    assert written(event) == event_to_json(event)


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    content = bytes(range(256)) * 4
    assert Redactor(["secret"]).content(content) == content
    assert Redactor(["secret"]).content(b"\xff secret \xfe") == f"\udcff {MASK} \udcfe".encode(errors="surrogateescape")


@settings(max_examples=60)
@given(events)
def test_a_redacted_event_is_still_an_event_and_redacting_twice_changes_nothing(event: Event) -> None:
    redactor = Redactor(["done", "open", SECRET])
    once = redactor.event(event)
    assert event_from_json(event_to_json(once)) == once
    assert redactor.event(once) == once
