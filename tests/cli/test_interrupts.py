"""Signals while a run is driven: said, raised, and never in the middle of an event."""

from __future__ import annotations

import os
import signal
import time

import pytest

from specdoctor.cli.interrupts import LeftAtOnce, interrupts


def signalled(number: signal.Signals) -> None:
    """Send a signal to this process and wait; a handler may leave by an exception."""
    os.kill(os.getpid(), number)
    time.sleep(1.0)


def nothing() -> None:
    """A function that no signal lands in."""


def test_the_first_says_what_happens_and_the_second_how_to_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    with interrupts(
        first=lambda: "putting it back", then=lambda: "left at once", whole=nothing.__code__, together_s=0.0
    ):
        with pytest.raises(KeyboardInterrupt):
            signalled(signal.SIGINT)
        with pytest.raises(LeftAtOnce):
            signalled(signal.SIGTERM)
    assert capfd.readouterr().err == "\nputting it back\n\nleft at once\n"


def test_a_second_one_is_not_taken_for_the_first_while_that_is_still_on_its_way() -> None:
    handled: list[str] = []

    def interrupted_while_cleaning_up() -> None:
        try:
            try:
                signalled(signal.SIGINT)
            finally:
                signalled(signal.SIGINT)
        except KeyboardInterrupt:
            handled.append("putting the server back")

    at_once = interrupts(first=lambda: "", then=lambda: "", whole=nothing.__code__, together_s=0.0)
    with at_once, pytest.raises(LeftAtOnce):
        interrupted_while_cleaning_up()
    assert handled == []


def test_one_that_is_sent_twice_is_one(capfd: pytest.CaptureFixture[str]) -> None:
    with interrupts(first=lambda: "putting it back", then=lambda: "left at once", whole=nothing.__code__):
        with pytest.raises(KeyboardInterrupt):
            signalled(signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert capfd.readouterr().err == "\nputting it back\n"


def test_a_signal_in_the_middle_of_an_event_waits_for_its_end() -> None:
    finished: list[str] = []

    def emit() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        finished.append("written")

    def emit_and_go_on() -> None:
        emit()
        time.sleep(5.0)
        finished.append("gone on")

    with interrupts(first=lambda: "stopping", then=lambda: "", whole=emit.__code__), pytest.raises(KeyboardInterrupt):
        emit_and_go_on()
    assert finished == ["written"]


def test_the_handlers_of_before_are_back_afterwards() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    with interrupts(first=lambda: "", then=lambda: "", whole=nothing.__code__):
        assert signal.getsignal(signal.SIGINT) != before[signal.SIGINT]
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_hang_up_that_is_ignored_stays_ignored_as_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts(first=lambda: "", then=lambda: "", whole=nothing.__code__):
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_is_raised_also_where_nothing_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("specdoctor.cli.interrupts._STDERR", writer)
    with (
        interrupts(first=lambda: "putting it back", then=lambda: "", whole=nothing.__code__),
        pytest.raises(KeyboardInterrupt),
    ):
        signalled(signal.SIGHUP)
    os.close(writer)
