"""What a replay never read is not known, and its run's exit code is the command's."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.planning import playbook_at
from specdoctor.core.errors import HostUnreachable
from specdoctor.core.facts import Facts, LeaseFacts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.expectations import Outcome, outcomes
from specdoctor.planners.playbook import PlaybookPlanner
from tests.app.investigating import run_of
from tests.replays.test_playbooks import PLAYBOOKS, settings_of

SHIPPED = sorted(PLAYBOOKS.glob("*.yaml"))


class Elsewhere(SimulatedHost):
    """A host without any server."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        return super().snapshot(request).model_copy(update={"processes": (), "logs": ()})


class Held(SimulatedHost):
    """A host whose server another run holds."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        lease = LeaseFacts(run="1543", port=30000, who="ml@laptop", user="ml")
        return super().snapshot(request).model_copy(update={"leases": (lease,)})


class Gone(SimulatedHost):
    """A host that is out of reach once it was read."""

    def watch(self, *_: object, **__: object) -> object:  # type: ignore[override]
        raise HostUnreachable("no route to host")


def replayed(path: Path, host: SimulatedHost) -> tuple[Run, tuple[Outcome, ...]]:
    playbook = playbook_at(path)
    run = run_of(host, planner=PlaybookPlanner(playbook))
    start(run, settings_of(playbook, None))
    code = investigate(run, checkpoints=None)
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == code
    return run, outcomes(playbook, run.ledger)


@pytest.mark.parametrize("host", [Elsewhere, Held])
def test_nothing_read_meets_nothing(host: type[SimulatedHost]) -> None:
    run, found = replayed(PLAYBOOKS / "read-only-checkup.yaml", host(World.from_yaml("healthy"), seed=1))
    assert {o.met for o in found} == {None}
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == 5
    for path in SHIPPED:
        assert {o.met for o in outcomes(playbook_at(path), run.ledger)} <= {None}, path


BOOK = """\
title: Told and not told
steps:
  - check: [effective-arguments, answers]
  - watch: 1
expect:
  - {cause: CFG-1, status: absent}
  - {cause: CORR-4, status: [absent, suspected]}
  - {cause: ENV-5, status: absent}
  - {verdict: not-enough-evidence}
"""


def test_absent_is_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    run, found = replayed(path, SimulatedHost(World.from_yaml("healthy"), seed=1))
    assert [o.met for o in found] == [True, None, None, True]
    assert found[0].evidence
    assert found[1].because == "no answer of the server was given"
    assert found[2].because == "nothing that could show it was read"
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == 3


def test_a_run_cut_short_keeps_what_was_read_and_knows_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    path.write_text(BOOK)
    run, found = replayed(path, Gone(World.from_yaml("healthy"), seed=1))
    assert [o.met for o in found] == [True, None, None, None]
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == 5


def test_the_run_ends_with_the_code_of_its_expectations() -> None:
    run, found = replayed(
        PLAYBOOKS / "eagle3-slower-than-baseline.yaml", SimulatedHost(World.from_yaml("healthy"), seed=3)
    )
    assert any(o.met is False for o in found)
    assert run.ledger.ended is not None
    assert run.ledger.ended.exit_code == 1


def test_what_was_measured_is_not_named_as_missing() -> None:
    run, _ = replayed(PLAYBOOKS / "draft-length-sweep.yaml", SimulatedHost(World.from_yaml("healthy"), seed=3))
    assert run.ledger.baseline(1) is not None
    assert run.ledger.measured("original", concurrency=1) is not None
    assert run.ledger.verdict is not None
    assert not any("a benchmark of" in text for text in run.ledger.verdict.missing)
