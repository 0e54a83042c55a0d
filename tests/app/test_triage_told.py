"""Figures that a person typed: shown with unit and place, reckoned with, and never taken for read."""

from __future__ import annotations

import pytest

from specdoctor.analysis.symptom import claims_of
from specdoctor.app.triage import TriageDocument
from specdoctor.assembly import judging

LAUNCH = (
    "python3 -m sglang.launch_server --model-path /m/big --speculative-algorithm EAGLE3 "
    "--speculative-draft-model-path /m/head --speculative-num-steps 1 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 2\n"
)
NOTE = "Hello,\n\nwe got 56 tok/s, baseline 90.\nThe acceptance length is about 1.6.\n"


def triaged(files: dict[str, str], symptom: str = "") -> TriageDocument:
    return judging.triaged(files, symptom=symptom)


def test_a_note_is_told_with_its_place_and_is_no_fact() -> None:
    found = triaged({"launch.sh": LAUNCH, "note.txt": NOTE})
    assert [(t.value, t.unit, t.role, t.where) for t in found.told] == [
        (56.0, "tok/s", "with speculation", "note.txt:3"),
        (90.0, "tok/s", "baseline", "note.txt:3"),
        (1.6, "tokens/cycle", "with speculation", "note.txt:4"),
    ]
    assert not {"throughput_tok_s", "baseline_tok_s", "accept_length", "speedup"} & set(found.facts)
    assert found.told_sums[0].startswith("56 tok/s is 0.62 times the 90 tok/s")
    assert "2.57 baseline steps" in found.told_sums[1]
    assert "1 draft step gives at most 2: it can never pay" in found.told_sums[1]
    assert all(text.endswith("if the figures are as typed") for text in found.told_sums)


def test_a_symptom_is_told_too_and_stands_before_notes() -> None:
    found = triaged({"launch.sh": LAUNCH, "note.txt": NOTE}, "60 tok/s with it")
    assert next((t.value, t.where) for t in found.told) == (60.0, "symptom")
    assert found.told_sums[0].startswith("60 tok/s is 0.67 times")


def test_several_figures_of_one_kind_are_not_reckoned_with() -> None:
    note = "with spec: 56 tok/s\nwith spec, second run: 70 tok/s\nbaseline: 90 tok/s\n"
    assert triaged({"launch.sh": LAUNCH, "note.txt": note}).told_sums == ()


def test_sums_give_way_to_figures_that_were_read() -> None:
    table = "config,accept_length,throughput_tok_s\nbase,,90\neagle3,1.6,50\n"
    found = triaged({"launch.sh": LAUNCH, "note.txt": NOTE, "bench.csv": table})
    assert (found.facts["throughput_tok_s"], found.told_sums) == (50.0, ())
    assert any("told 56 tok/s with speculation, read 50" in text for text in found.contradicted)


@pytest.mark.parametrize(
    "text",
    [
        "- without spec: 90 tok/s\n- with eagle3: 56 tok/s",
        "baseline 90 tok/s -> eagle3 56 tok/s",
        "went from 90 t/s to 56 t/s after enabling EAGLE3",
        "without: 90 tok/s\nwith: 56 tok/s",
    ],
)
def test_sides_by_heading_arrow_and_change(text: str) -> None:
    assert {(c.value, c.role) for c in claims_of(text)} == {(90.0, "baseline"), (56.0, "with speculation")}


def test_lines_of_a_log_in_a_mail_are_not_told() -> None:
    mail = "It is 7.9 t/s without and 5.6 t/s with.\n\n  eval time = 53571 ms / 300 tokens (20.88 tokens per second)\n"
    assert {t.value for t in triaged({"mail.txt": mail}).told} == {7.9, 5.6}


def test_a_typed_baseline_stands_beside_a_speed_that_was_read() -> None:
    table = "config,accept_length,throughput_tok_s\neagle3,1.6,50\n"
    found = triaged({"launch.sh": LAUNCH, "bench.csv": table}, "100 tok/s without")
    assert found.told_sums == (
        "50 tok/s, as read, is 0.50 times the 100 tok/s without speculation, if the figures are as typed",
    )
