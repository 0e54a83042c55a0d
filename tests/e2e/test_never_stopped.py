"""A run that was killed before it stopped anything: restore says so and takes its files away."""

from __future__ import annotations

from tests.e2e.client import Client, started, under_way
from tests.e2e.practice import Practice, check_put_back

ASKED = ("--symptom", "EAGLE-3 makes it slower than without speculation", "--allow", "restart", "--requests", "6")


def test_restore_has_nothing_to_do_after_a_kill_before_any_stop(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    command = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: under_way(events) == "bench" and started(events, "relaunch") == 0, command)
    refused = client.run("restore", *lab.target)
    assert refused.code == 4, refused.err
    assert "is at work" in refused.err
    assert command.process.poll() is None
    command.kill()
    restored = client.run("restore", *lab.target)
    assert restored.code == 0, restored.err
    assert "nothing to restore: run" in restored.out
    assert "has never stopped a server; removed:" in restored.out
    check_put_back(lab, found, files)
    again = client.run("restore", *lab.target)
    assert (again.code, "nothing to restore" in again.out) == (0, True)
