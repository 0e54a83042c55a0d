"""What is left of a server's past on its host: rotated and packed logs, boots, when packages were put in place."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.remote.test_probe import install, probe
from tests.remote.workplace import PYTHONS, Workplace, loaded

START = "[2026-02-21 10:00:00] server_args=ServerArgs(model_path='/m')\n"
LINE = "[2026-02-21 10:00:0{0}] Decode batch, #running-req: 1, #token: 90, token usage: 0.00, gen throughput 90.0\n"


@pytest.mark.parametrize("python", PYTHONS)
def test_logs_beside_the_present_one_are_read_where_asked_for(place: Workplace, python: str) -> None:
    server = place.start()
    folder = server.log.parent
    text = START + "".join(LINE.format(n) for n in range(5))
    (folder / f"{server.log.name}.1").write_text(text)
    (folder / f"{server.log.name}.2.gz").write_bytes(gzip.compress(text.replace("02-21", "02-20").encode()))
    (folder / f"{server.log.name}.3.gz").write_bytes(b"\x1f\x8b broken")
    (folder / "notes.txt").write_text("nothing of a server\n")
    os.utime(folder / f"{server.log.name}.1", (1_771_668_000, 1_771_668_000))

    assert probe(place, python).older_logs == ()
    found = {Path(log.path).name: log for log in probe(place, python, history=True).older_logs}

    assert set(found) == {f"{server.log.name}.1", f"{server.log.name}.2.gz"}
    assert found[f"{server.log.name}.1"].text == text
    assert found[f"{server.log.name}.1"].mtime == 1_771_668_000
    assert "2026-02-20" in found[f"{server.log.name}.2.gz"].text


def test_a_long_one_is_cut_at_line_ends(tmp_path: Path) -> None:
    parts = loaded("parts.older_logs")
    present, older = tmp_path / "server.log", tmp_path / "server.log.1"
    present.write_text(START)
    lines = [f"line {n} of a long log, Decode batch\n" for n in range(40_000)]
    older.write_text(START + "".join(lines))
    (log,) = parts.older_logs([(str(present), str(present), os.getpid())])
    shown = log["head"].splitlines(keepends=True) + log["tail"].splitlines(keepends=True)
    assert shown[0] == START
    assert set(shown[1:]) <= set(lines)
    assert shown[-1] == lines[-1]
    assert log["gap_bytes"] > 0
    assert len(log["head"]) + len(log["tail"]) < 400_000


def test_boots_are_read_from_the_log_in_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_VAR", str(tmp_path))
    parts = loaded("parts.older_logs")
    (tmp_path / "log").mkdir()

    def record(kind: int, at: int) -> bytes:
        blank = (b"~", b"~~", b"reboot", b"6.8.0")
        return bytes(parts.UTMP.pack(kind, 0, *blank, 0, 0, 0, at, 0, b"", b""))

    (tmp_path / "log" / "wtmp").write_bytes(record(2, 1_770_000_000) + record(7, 1_770_000_500))
    (tmp_path / "log" / "wtmp.1").write_bytes(record(2, 1_760_000_000))
    (tmp_path / "log" / "wtmp.2.gz").write_bytes(b"\x1f\x8b not whole records")
    assert parts.boots() == [1_760_000_000.0, 1_770_000_000.0]


def test_packages_tell_when_they_were_put_in_place(place: Workplace) -> None:
    folder = install(place.root / "site", "sglang", "0.5.17", {})
    os.utime(folder, (1_771_000_000, 1_771_000_000))
    server = place.start(env={"PYTHONPATH": f"{Path(__file__).parent / 'fakes'}:{place.root / 'site'}"})
    (package,) = [p for p in probe(place).packages[server.argv[0]] if p.name == "sglang"]
    assert package.installed_at == 1_771_000_000
