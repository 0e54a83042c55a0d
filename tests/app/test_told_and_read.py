"""What a symptom says and the files contradict; whether a server runs, by what was read of it."""

from __future__ import annotations

import pytest

from specdoctor.assembly.judging import triaged

TABLE = {"t.csv": "mode,throughput (tok/s)\nbaseline,150\neagle3,200\n"}
LAUNCH = "python -m sglang.launch_server --model-path m/x --speculative-algorithm EAGLE3 --speculative-num-steps 3\n"
LOG = "[2026-11-29 18:00:00] Decode batch, #running-req: 1, #token: 9, gen throughput (token/s): 9.5, #queue-req: 0\n"


@pytest.mark.parametrize(
    ("symptom", "said"),
    [
        ("slower with speculation than without", "told that it is slower, read 1.33 times"),
        ("80 tok/s instead of 150 tok/s", "told 80 tok/s"),
        ("80 tok/s with EAGLE, 150 tok/s without", "told 80 tok/s with speculation, read 200 [t.csv:3]"),
        ("90 tok/s without, 205 tok/s with it", "told 90 tok/s without speculation, read 150 [t.csv:2]"),
    ],
)
def test_what_the_files_contradict_is_said(symptom: str, said: str) -> None:
    assert any(said in text for text in triaged(TABLE, symptom=symptom).contradicted)


@pytest.mark.parametrize(
    "symptom",
    ["", "is it fine?", "only 200 tok/s with EAGLE, 150 tok/s without", "small speed-up", "204 tok/s with it"],
)
def test_what_they_do_not_contradict_is_not(symptom: str) -> None:
    assert triaged(TABLE, symptom=symptom).contradicted == ()


def test_a_launch_line_alone_is_no_running_server() -> None:
    assert triaged({"launch.sh": LAUNCH}, symptom="").state is None
    assert triaged({"launch.sh": LAUNCH, "server.log": LOG}, symptom="").state == "served"
