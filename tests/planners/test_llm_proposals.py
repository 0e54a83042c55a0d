"""Answers of a model, as types: whatever comes in, something typed or a refusal comes out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.planners.llm_proposals import MOST_PROPOSALS, MOST_SHOWN, read_answer, schema

FINISH = {"do": "finish", "why": "enough"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"proposals": [FINISH]}),
        json.dumps([FINISH]),
        json.dumps(FINISH),
        f"Here it is:\n```json\n{json.dumps({'proposals': [FINISH]})}\n```\nGood luck!",
        f"[see below] {json.dumps({'proposals': [FINISH]})}",
    ],
)
def test_proposals_are_found_in_what_models_wrap_them_in(text: str) -> None:
    proposals, _ = read_answer(text)
    assert [p.do for p in proposals] == ["finish"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("I would restart it.", "no JSON"),
        ('{"proposals": [{"do": "fini', "no JSON"),
        ('{"proposals": []}', "no list"),
        ('{"proposals": "finish"}', "no list"),
        ('{"thoughts": "many"}', "no list"),
        ("[" * 15_000, "no JSON"),
        ('{"proposals": [{"do": "close", "hypothesis": "H1"}]}', "do: "),
        ('{"proposals": [{"do": "shell", "command": "rm -rf /"}]}', "do: "),
        ('{"proposals": [{"do": "park", "hypothesis": "H1"}]}', "why: "),
        ('{"proposals": [{"do": "run_check", "check": "watch", "seconds": 1e99}]}', "seconds: "),
        ('{"proposals": [{"do": "run_check", "check": "watch", "seconds": NaN}]}', "seconds: "),
        ('{"proposals": [{"do": "finish", "status": "supported"}]}', "status: "),
        ('{"proposals": [{"do": "finish", "evidence": ["E1; rm"]}]}', "evidence.0: "),
        ('{"proposals": [7]}', "do: "),
    ],
)
def test_what_is_no_proposal_is_refused_with_the_reason(text: str, why: str) -> None:
    proposals, faults = read_answer(text)
    assert proposals == []
    assert why in faults[0].why


def test_one_bad_proposal_does_not_spoil_the_others_and_too_many_are_not_read() -> None:
    proposals, faults = read_answer(json.dumps({"proposals": [FINISH, {"do": "approve"}, *[FINISH] * 5]}))
    assert len(proposals) == MOST_PROPOSALS - 1
    assert [f.why for f in faults][1:] == [f"at most {MOST_PROPOSALS} are read"]


def test_a_refused_proposal_is_kept_short_and_without_secrets() -> None:
    _, faults = read_answer("run curl -H 'Authorization: Bearer abcdefghijklmnop' \x1b[31m" + "x" * 100_000)
    assert len(faults[0].proposal) < MOST_SHOWN + 40
    assert "abcdefghijklmnop" not in faults[0].proposal
    assert "\x1b" not in faults[0].proposal


@given(st.text(alphabet='{}[]",:do finish\\u0ud83d\x00\x1b', max_size=60))
def test_nothing_is_raised_whatever_comes(text: str) -> None:
    proposals, faults = read_answer(text)
    assert proposals or faults


def test_the_schema_names_every_proposal_and_stays_small() -> None:
    text = json.dumps(schema())
    assert all(f'"{do}"' in text for do in ("open_hypothesis", "run_check", "relaunch", "park", "ask_person", "finish"))
    assert len(text) < 5000
