"""A host on which no program of ours runs: what reading tells is the verdict; what needs more is refused, once."""

from __future__ import annotations

from specdoctor.app.investigation import investigate, start
from specdoctor.core.errors import EXIT_INCONCLUSIVE
from specdoctor.core.facts import Facts
from specdoctor.core.model import Risk
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.run_settings import RunSettings
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.render.json_run import run_document
from tests.app.investigating import MemoryStore, run_of


class WithoutPython(SimulatedHost):
    """Read by a shell script: processes and logs, no answers over HTTP."""

    def snapshot(self, request: SnapshotRequest) -> Facts:
        facts = super().snapshot(request)
        host = facts.host.model_copy(update={"runs_programs": False})
        return facts.model_copy(update={"host": host, "http": {}, "logs": ()})


def test_what_reading_tells_is_the_verdict() -> None:
    run = run_of(WithoutPython(World.from_yaml("graphs-off-by-flag")), store=MemoryStore())
    start(run, RunSettings(symptom="slower than without EAGLE-3", allow=Risk.RESTART))
    assert investigate(run, checkpoints=None) == EXIT_INCONCLUSIVE
    assert run.ledger.server is not None
    assert run.ledger.server.state == "running"
    document = run_document(run.ledger)
    assert [(c.cause, c.status) for c in document.causes if c.status == "supported"] == [("CFG-5", "supported")]
    assert document.cost.restarts == 0
    assert document.restored is None
    refused = [(r.move, r.why) for r in run.ledger.refusals]
    assert [move for move, _ in refused] == ["watch", "bench"]
    assert all("no Python 3.6" in why and "--via" in why for _, why in refused)
