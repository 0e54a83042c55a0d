"""Servers that docker or systemd keep: restarted through their keeper, and afterwards as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.kept import files_of, kept_things, surroundings
from tests.e2e.practice import Practice

ASKED = ("--symptom", "slower with EAGLE-3 than without", "--requests", "4", "--allow", "restart", "--json")


@pytest.mark.parametrize("world", ["in-docker", "under-systemd"])
def test_a_kept_server_is_restarted_and_comes_back_as_it_was(world: str, tmp_path: Path) -> None:
    practice = Practice(world, tmp_path / "host").await_up()
    try:
        client = Client(tmp_path / "client")
        before = (surroundings(practice), files_of(practice), kept_things(practice, world))
        pid, home = practice.running().pid, practice.files_at_home()
        ended = client.run("investigate", *practice.target, *ASKED)
        document = ended.document
        assert document["cost"]["restarts"] >= 2, ended.err
        assert document["restored"] is True, ended.err
        assert practice.running().pid != pid
        assert surroundings(practice) == before[0]
        assert files_of(practice) == before[1]
        assert kept_things(practice, world) == before[2]
        assert practice.files_at_home() == home
    finally:
        practice.stop()
