"""A recalled figure that an older log of the host shows: dated, told by its state, and only then more than a memory."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from specdoctor.analysis.dated import CHANGED, LAST_LINE, LOG, dated_by
from specdoctor.analysis.recall import place_recalled, read_recall
from specdoctor.core.estimate import Estimate
from specdoctor.core.measurement import Measurement
from specdoctor.core.server import SpecSetting

NOW = datetime(2026, 3, 10, tzinfo=UTC).timestamp()
RESTART = ("the container", datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp())


def logged(
    value: float, last_line: str, *, spec: bool = True, changed: str = "", name: str = "sglang.log.1"
) -> Measurement:
    facts = {LOG: name, LAST_LINE: last_line, CHANGED: changed}
    return Measurement(
        id="M1",
        launch="logged",
        launch_key="earlier",
        spec=SpecSetting(algorithm="EAGLE3", draft_steps=2) if spec else SpecSetting(),
        concurrency=1,
        source="earlier",
        requests=14,
        throughput=Estimate(
            value=value, low=value - 0.7, high=value + 0.7, unit="tok/s", estimator="decode lines", n=14
        ),
        fingerprint={k: v for k, v in facts.items() if v},
        evidence="E2",
    )


def test_a_log_from_before_the_start_dates_the_figure_and_its_state() -> None:
    (claim,) = read_recall("spec=94", "before 25 Feb")
    dated = dated_by(claim, [logged(93.8, "2026-02-21 10:00:00")], began=RESTART, before=None)
    assert dated is not None
    assert dated.agrees
    assert dated.state == "earlier"
    assert dated.words == (
        "the log of 21 Feb 2026 (sglang.log.1) shows 93.8 tok/s (93.1-94.5) over 14 clean decode lines, "
        "before the container was started"
    )
    placed = place_recalled(claim, measured=(93.0, 92.0, 95.0), state_began=RESTART, now=NOW, dated=dated)
    assert placed.status == "other-state"


def test_a_log_of_the_present_state_leaves_it_open() -> None:
    (claim,) = read_recall("spec=94", "last week")
    dated = dated_by(claim, [logged(93.8, "2026-03-08 10:00:00")], began=RESTART, before=None)
    placed = place_recalled(claim, measured=(60.0, 59.0, 61.0), state_began=RESTART, now=NOW, dated=dated)
    assert placed.status == "open"
    assert "after the container was started" in placed.why


@pytest.mark.parametrize(
    ("last_line", "changed", "state"),
    [
        ("2026-03-05 03:00:00", "", "unclear"),  # its zone may be any
        ("2026-03-05 18:00:00", "", "unclear"),
        ("2026-03-05 18:00:00", "2026-03-05 10:00:00 UTC", "earlier"),  # written at UTC+8
        ("2026-03-06 04:00:00", "2026-03-06 04:00:00 UTC", "present"),
    ],
)
def test_stamps_name_no_zone(last_line: str, changed: str, state: str) -> None:
    (claim,) = read_recall("spec=94", "")
    dated = dated_by(claim, [logged(93.8, last_line, changed=changed)], began=RESTART, before=None)
    assert dated is not None
    assert dated.state == state


def test_another_role_and_a_later_log_date_nothing() -> None:
    (claim,) = read_recall("baseline=94", "")
    assert dated_by(claim, [logged(93.8, "2026-02-21 10:00:00")], began=RESTART, before=None) is None
    off = logged(93.8, "2026-03-08 10:00:00", spec=False)
    before = datetime(2026, 2, 25, tzinfo=UTC).timestamp()
    assert dated_by(claim, [off], began=RESTART, before=before) is None


def test_a_log_that_shows_another_figure_does_not_bear_it_out() -> None:
    (claim,) = read_recall("spec=94", "before 25 Feb")
    logs = [logged(93.8, "2026-02-20 10:00:00", name="a"), logged(70.0, "2026-02-22 10:00:00", name="b")]
    best = dated_by(claim, logs, began=RESTART, before=None)
    assert best is not None
    assert best.log == "a"
    other = dated_by(claim, logs[1:], began=None, before=None)
    assert other is not None
    assert not other.agrees
    placed = place_recalled(claim, measured=None, state_began=None, now=NOW, dated=other)
    assert placed.status == "open"
    assert ", not 94; nothing like it was measured" in placed.why
