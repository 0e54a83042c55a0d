from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import specdoctor
from specdoctor.core.errors import StoreError
from specdoctor.store.runs import SqliteStore

HOLDER = """
import sys, time
from pathlib import Path
from specdoctor.store.lock import run_lock
with run_lock(Path(sys.argv[1]), run="7f3c"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "runs.db")


def hold(path: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(specdoctor.__file__).parents[1])}
    command = [sys.executable, "-c", HOLDER, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_run_has_one_driver_and_a_killed_one_frees_it(store: SqliteStore, tmp_path: Path) -> None:
    process = hold(tmp_path / "runs.db.locks" / "7f3c.lock")
    try:
        with pytest.raises(StoreError) as raised, store.lock("7f3c"):
            pass
        assert f"already driven by process {process.pid}" in raised.value.message
        assert f"kill {process.pid}" in raised.value.next_step
        assert store.driven("7f3c")
        assert not store.driven("81aa")
        with store.lock("81aa"):
            pass
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    left = tmp_path / "runs.db.locks" / "7f3c.lock"
    assert left.exists()
    assert not store.driven("7f3c")
    left.write_text(f'{{"pid": {os.getpid()}, "since": 0}}')
    assert not store.driven("7f3c"), "the number belongs to another process by now"
    with store.lock("7f3c"):
        assert str(os.getpid()) in (tmp_path / "runs.db.locks" / "7f3c.lock").read_text()


def test_the_lock_holds_within_one_process_too_and_leaves_nothing(store: SqliteStore, tmp_path: Path) -> None:
    with store.lock("7f3c"), pytest.raises(StoreError, match="already driven"), store.lock("7f3c"):
        pass
    with store.lock("7f3c"):
        pass
    assert list((tmp_path / "runs.db.locks").iterdir()) == []


def test_a_lock_that_cannot_be_made_says_why(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "runs.db.locks").write_text("")
    with pytest.raises(StoreError, match="cannot lock run 7f3c"), store.lock("7f3c"):
        pass


def test_a_run_id_cannot_lead_out_of_the_lock_folder(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="run id"):
        store.lock("../x")
