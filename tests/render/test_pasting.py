"""The commands of a dry run under its verdict."""

from __future__ import annotations

import pytest

from specdoctor.core.events import NoteAdded, RunStarted
from specdoctor.core.ledger import fold
from specdoctor.core.run_settings import RunSettings
from specdoctor.render.pasting import dry_run_text


@pytest.mark.parametrize(("dry", "said"), [(True, "what would be done:\n\nstop it\n\nstart it"), (False, "")])
def test_the_commands_of_a_dry_run_stand_together_and_each_once(dry: bool, said: str) -> None:
    started = RunStarted(at=1.0, run="r", target="t", settings=RunSettings(dry_run=dry), tool_version="1")
    note = NoteAdded(at=2.0, text="dry run", by="rules", lines=("stop it", "start it"))
    assert dry_run_text(fold([started, note, note]), width=80) == said
