"""What stands in the question before a restart."""

from __future__ import annotations

import re

from specdoctor.core.model import Risk
from specdoctor.core.ports import Answer
from tests.app.investigating import Scripted, simulated


def test_the_question_before_a_restart_says_what_it_costs_and_what_is_known_without() -> None:
    asking = Scripted([Answer(granted=True, by="test"), Answer(granted=False, by="test")])
    run, _ = simulated("kimi-k2.5-eagle3", allow=Risk.LOAD, approver=asking, grace_s=90.0, requests=4, recorded=False)
    text = asking.asked[0].text
    assert asking.asked[0].risk is Risk.RESTART
    down = next(line for line in text.splitlines() if line.startswith("  down"))
    assert re.search(r"2 restarts: this one and the one that puts it back, about [\d.]+ (s|min) \(its last start", down)
    assert re.search(r"; about [\d.]+ (s|min) in all$", down)
    assert f"specdoctor/{run.id}/way_back.json" in text
    assert "a guard restores it after 90 s of silence" in text
    assert re.search(r"traffic   no request of others seen \((just now|\d+ s ago)\)", text)
    known, last = text.split("  so far    ")[1].split("\n\n")
    assert "CFG-3" in known or "draft" in known
    assert "of 3 restarts used" in text
    labels = [line.split()[0] for line in last.splitlines() if line.startswith("  ")]
    assert labels[-5:] == ["stop", "start", "down", "budget", "way"]
    assert "(its last start here)" in asking.asked[-1].text
