from __future__ import annotations

import shlex

from specdoctor.core.events import VerdictReached
from specdoctor.core.ledger import fold
from specdoctor.render.verdict import verdict_text
from tests.render.snapshots import check_snapshot
from tests.render.story import story


def reached(**changes: object) -> VerdictReached:
    verdict = fold(story()).verdict
    assert verdict is not None
    return verdict.model_copy(update=changes)


def test_the_verdict_in_eight_lines() -> None:
    text = verdict_text(reached())
    check_snapshot("verdict.txt", text)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(verdict_text(reached(), width=200).splitlines()) == 8


def test_evidence_stands_at_the_right_edge_or_on_a_line_of_its_own() -> None:
    lines = verdict_text(
        reached(lines=(("loses", "fast  E3 E9"), ("because", "x" * 70 + "  E1"))), width=80
    ).splitlines()
    assert lines[0].endswith("E3 E9")
    assert len(lines[0]) == 80
    assert lines[2] == "E1".rjust(80)


def test_a_launch_line_under_what_to_do_now_is_one_command_when_pasted() -> None:
    advice = reached().recommendation
    assert advice is not None
    text = verdict_text(reached(lines=(("do now", f"{advice.launch} [90 tok/s, measured E7]"), ("cost", "none"))))
    first, *pasted, last = text.splitlines()
    assert first == "do now  start it with the next line [90 tok/s, measured E7]"
    assert shlex.split("\n".join(pasted).replace("\\\n", " ")) == shlex.split(advice.launch)
    assert last == "cost    none"


def test_a_verdict_without_lines_shows_its_headline() -> None:
    assert verdict_text(reached(lines=(), headline="not enough evidence")) == "verdict  not enough evidence"


def test_control_characters_are_stripped() -> None:
    assert verdict_text(reached(lines=(("verdict", "a\x1b[31mb\u202ec"),))) == "verdict  abc"


def test_a_folder_that_the_launch_needs_is_made_by_a_command_of_its_own() -> None:
    advice = reached().recommendation
    assert advice is not None
    first = "mkdir /models/head-corrected && ln -s /models/head/* /models/head-corrected/"
    text = verdict_text(
        reached(
            recommendation=advice.model_copy(update={"first": first}),
            lines=(("do now", f"{first}; then: {advice.launch} [90 tok/s, measured E7]"), ("cost", "none")),
        ),
        width=90,
    )
    lines = text.splitlines()
    assert " ".join(" ".join(lines[:2]).split()).startswith("do now make the folder with the first command, then start")
    assert first in lines
    pasted = "\n".join(lines[lines.index(first) + 1 : -1])
    assert shlex.split(pasted.replace("\\\n", " ")) == shlex.split(advice.launch)
