"""The fall-back probe: run by real shells, read into the same Facts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.core.facts import Facts
from specdoctor.operations.programs import shell_probe
from specdoctor.operations.shell_facts import read_shell_facts
from tests.remote.workplace import Workplace, children, opened

SHELLS = [command for command in (["sh"], ["bash"], ["busybox", "sh"]) if shutil.which(command[0])]
KEY = "k3y-Very-Private"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    yield from opened(tmp_path)


def answer(place: Workplace, shell: list[str], *logs: str, keep: int = 100_000) -> str:
    pids = [pid for server in place.servers for pid in (server.pid, *children(server.pid))]
    place.proc_view(*pids)
    command = [*shell, "-c", shell_probe(), "specdoctor-probe", str(keep), *logs]
    run = subprocess.run(command, capture_output=True, env=place.surroundings(), timeout=30, check=True)
    assert run.stderr == b""
    return run.stdout.decode()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_finds_the_server_and_tells_no_secret(place: Workplace, shell: list[str]) -> None:
    server = place.start("--api-key", KEY, f"--hf-token={KEY}2", "--max-total-tokens", "5", env={"HF_TOKEN": KEY + "3"})
    with server.log.open("a") as log:
        log.write(f"it is {KEY} and {KEY}3\n")

    text = answer(place, shell)

    assert KEY not in text
    facts = read_shell_facts(text)
    launcher = next(process for process in facts.processes if process.pid == server.pid)
    assert launcher.argv == (*server.argv[:6], "***", "--hf-token=***", "--max-total-tokens", "5")
    assert launcher.start_ticks == server.ref["start_ticks"]
    assert launcher.started_at == pytest.approx(facts.taken_at, abs=60)
    assert launcher.cwd == str(place.root)
    assert launcher.stdout == str(server.log)
    assert launcher.env["HF_TOKEN"] == "***"
    assert "PYTHONPATH" in launcher.env_names
    assert {process.pid for process in facts.processes} == {server.pid, *children(server.pid)}
    assert facts.logs[0].path == str(server.log)
    assert "it is *** and ***" in facts.logs[0].text
    assert "api_key='***'" in facts.logs[0].text
    assert facts.host.boot_id
    assert facts.host.mem_total_kb
    assert "no Python" in facts.problems[0]
    assert not facts.host.runs_programs
    assert len(facts.problems) == 1


def test_a_long_log_is_cut(place: Workplace) -> None:
    log = place.root / "old.log"
    log.write_text("".join(f"line {number}\tof many\r\n" for number in range(1000)))
    facts = read_shell_facts(answer(place, ["sh"], str(log), keep=500))
    assert facts.logs[0].head.startswith("line 0\tof many\r\nline 1\t")
    assert facts.logs[0].tail.endswith("line 999\tof many\r\n")
    assert facts.logs[0].size == log.stat().st_size
    assert facts.logs[0].gap_bytes == pytest.approx(log.stat().st_size - 1000, abs=10)


def test_noise_before_it_and_a_cut_end_are_noticed(place: Workplace) -> None:
    text = answer(place, ["sh"])
    facts = read_shell_facts("Welcome!\nsomething\tstrange\n" + text[: text.index("loadavg")])
    assert facts.host.hostname
    assert any("cut off" in problem for problem in facts.problems)


def test_nonsense_is_no_crash() -> None:
    facts = read_shell_facts("specdoctor.shell/1\nprocess\t7\nstat\tgarbage\nlog\tp\nhead\tx\nend\tok\n")
    assert facts.processes == ()
    assert facts.logs[0].head == "x\n"
    assert Facts.model_validate_json(facts.model_dump_json(by_alias=True)) == facts
