"""A link that breaks and a host too busy to answer in time are borne, within bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specdoctor.core.errors import CommandTimeout, ConnectionLost, SpecdoctorError
from specdoctor.operations.patience import TIME_OUTS_BORNE, Patience


class Clock:
    """Passes when it is slept on."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> float:
        return self.passed_s

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds


def _after(*failures: SpecdoctorError) -> Callable[[], str]:
    waiting = list(failures)

    def ask() -> str:
        if waiting:
            raise waiting.pop(0)
        return "answered"

    return ask


def test_a_busy_host_is_asked_again_and_that_is_told() -> None:
    told: list[str] = []
    ask = _after(*[CommandTimeout("late")] * TIME_OUTS_BORNE)
    assert Patience(Clock()).bear(ask, on_progress=lambda progress: told.append(progress.phase)) == "answered"
    assert told == ["the host is slow to answer; asking again"] * TIME_OUTS_BORNE


def test_a_host_that_hangs_is_given_up() -> None:
    with pytest.raises(CommandTimeout):
        Patience(Clock()).bear(_after(*[CommandTimeout("late")] * (TIME_OUTS_BORNE + 1)))
    with pytest.raises(CommandTimeout):
        Patience(Clock()).bear(_after(CommandTimeout("late")), time_outs=0)


@pytest.mark.parametrize("failure", [CommandTimeout("late"), ConnectionLost("gone")])
def test_what_may_have_arrived_is_asked_about_before_it_is_given_again(failure: SpecdoctorError) -> None:
    given: list[str] = []

    def give() -> str:
        given.append("order")
        raise failure

    assert Patience(Clock()).bear(give, again=lambda: "found") == "found"
    assert given == ["order"]


def test_a_lost_link_is_borne_for_its_time() -> None:
    clock = Clock()
    assert Patience(clock).bear(_after(*[ConnectionLost("gone")] * 5)) == "answered"
    with pytest.raises(ConnectionLost):
        Patience(clock, 1.0).bear(_after(*[ConnectionLost("gone")] * 50))
