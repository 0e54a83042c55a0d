"""A secret in what a person types goes nowhere: not to the database, the transcript or the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.app.attending import attend
from specdoctor.app.investigation import start
from specdoctor.core import wishes
from specdoctor.core.ledger import Ledger
from specdoctor.core.typed_secrets import redact_typed
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World
from specdoctor.planners.llm_briefs import briefs
from specdoctor.store.runs import SqliteStore
from specdoctor.store.transcript import TranscriptWriter
from tests.app.investigating import run_of, settings_for
from tests.app.test_attending import WORLD, Script, kept
from tests.core.secret_samples import PLAIN, SECRETS


def any_time(ledger: Ledger) -> bool:
    return True


@pytest.mark.slow
def test_no_secret_that_is_typed_is_stored_or_sent_and_plain_words_are(tmp_path: Path) -> None:
    others = "\n".join([*PLAIN, *(text.replace(secret, "") for text, secret in SECRETS.items())])
    samples = {text: secret for text, secret in SECRETS.items() if len(secret) > 4 and secret not in others}
    assert len(samples) > 80
    requests: list[wishes.Request] = []
    for number, text in enumerate([*samples, *PLAIN]):
        claim = wishes.ClaimWish(text=text, cause="WIRE-1")
        kinds = (wishes.Note(text=text), wishes.Told(text=text), wishes.Asked(text=f"/add {text}", wish=claim))
        requests.append(kinds[number % 3])
    desk = Script([(any_time, request) for request in requests])
    world = World.from_yaml(WORLD)
    run = run_of(SimulatedHost(world))
    run.desk, desk.run = desk, run
    told = redact_typed("\n".join([*PLAIN, *samples]))
    start(run, settings_for(world).model_copy(update={"symptom": told}), by="ann@desk")
    attend(run)
    database, writer = tmp_path / "runs.db", TranscriptWriter(tmp_path)
    store = SqliteStore(database)
    for event in kept(run):
        store.append("7f3c", event)
        writer.append("7f3c", event)
    store.close()
    writer.close()
    places = {
        "database": b"".join(path.read_bytes() for path in tmp_path.glob("runs.db*")).decode(errors="replace"),
        "transcript": (tmp_path / "7f3c" / "events.jsonl").read_text(),
        "model": briefs(run.briefing, []) + told,
    }
    for text, secret in samples.items():
        assert not [place for place, said in places.items() if secret in said], text
    for text in PLAIN:
        assert text in told
        if '"' not in text:
            assert text in places["transcript"], text
