"""A server that the service manager keeps: its unit, drop-ins, and what systemctl and journalctl say."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specdoctor.lab.boot import boot
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.units import UnitFault, split_words
from tests.lab.host_world import eventually, run_on, small_world, text_on

DROP_IN = """[Service]
ExecStart=
ExecStart={line} "--served-model-name=a b" --api-key 100%%
Restart=no
"""


def service(folder: Path, **more: Any) -> PracticeHost:
    world = small_world(keeper={"kind": "systemd", "restart_s": 0.5, **more})
    return PracticeHost(world, state_dir=folder, time_scale=0.1)


def shown(host: PracticeHost, name: str, *, user: str = "") -> str:
    return text_on(host, f"systemctl {user} show sglang.service --property={name} --value").strip()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PracticeHost]:
    """A host whose unit root alone may command; nothing runs."""
    with service(tmp_path_factory.mktemp("closed") / "host", access="root") as host:
        (host.state_dir / "etc/systemd/system").mkdir(parents=True)
        (host.state_dir / "etc/systemd/system/sglang.service").write_text("[Service]\nExecStart=/bin/true\n")
        yield host


def test_a_unit_is_kept_and_told_of(tmp_path: Path) -> None:
    with service(tmp_path / "host") as host:
        first = boot(host, wait_s=20).pid
        told = text_on(host, "systemctl show sglang.service --property=Id,Restart,FragmentPath,ActiveState,MainPID")
        assert told.splitlines() == [
            "Id=sglang.service",
            "Restart=always",
            "FragmentPath=/etc/systemd/system/sglang.service",
            "ActiveState=active",
            f"MainPID={first}",
        ]
        proc = host.state_dir / "proc" / str(first)
        assert (proc / "cgroup").read_text() == "0::/system.slice/sglang.service\n"
        assert (proc / "stat").read_text().split(") ")[1].split()[1] == "1"
        assert "ready to roll" in text_on(
            host, "journalctl --no-pager --lines=20000 --output=cat --unit=sglang.service"
        )
        assert "StandardOutput=journal" in text_on(host, "systemctl cat sglang")
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: shown(host, "MainPID") not in ("0", str(first)))
        assert shown(host, "NRestarts") == "1"


def test_a_drop_in_is_obeyed_once_it_has_been_read(tmp_path: Path) -> None:
    with service(tmp_path / "host", output="append:{log}", scope="user") as host:
        pid = boot(host, wait_s=20).pid
        cgroup = (host.state_dir / "proc" / str(pid) / "cgroup").read_text()
        assert cgroup == "0::/user.slice/user-1000.slice/user@1000.service/app.slice/sglang.service\n"
        assert shown(host, user="--user", name="MainPID") == str(pid)
        assert run_on(host, "systemctl status sglang").returncode == 4
        line = shown(host, user="--user", name="ExecStart").split("argv[]=")[1].split(" ; ")[0]
        folder = host.state_dir / "files/run/user/1000/systemd/user/sglang.service.d"
        assert host.environment["HOST_RUN"] == str(host.state_dir / "files/run")
        folder.mkdir(parents=True)
        (folder / "50-test.conf").write_text(DROP_IN.format(line=line))
        early = run_on(host, "systemctl --user stop sglang.service")
        assert (early.returncode, b"changed on disk" in early.stderr) == (0, True)
        text_on(host, "systemctl --user daemon-reload && systemctl --user start sglang.service")
        pid = shown(host, user="--user", name="MainPID")
        words = (host.state_dir / "proc" / pid / "cmdline").read_text().split("\0")[:-1]
        assert words[-3:] == ["--served-model-name=a b", "--api-key", "100%"]
        assert (
            shown(host, user="--user", name="DropInPaths")
            == "/run/user/1000/systemd/user/sglang.service.d/50-test.conf"
        )
        text_on(host, "systemctl --user stop sglang.service")
        assert run_on(host, "systemctl --user is-active sglang").returncode == 3
        (folder / "50-test.conf").unlink()
        text_on(host, "systemctl --user daemon-reload && systemctl --user restart sglang.service")
        assert "--api-key" not in shown(host, user="--user", name="ExecStart")
        assert shown(host, user="--user", name="Restart") == "always"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("systemctl stop nobody", 5, "Failed to stop nobody.service: Unit nobody.service not loaded."),
        ("systemctl start nobody", 5, "Failed to start nobody.service: Unit nobody.service not found."),
        ("systemctl stop sglang", 1, "Failed to stop sglang.service: Interactive authentication required."),
        ("sudo -n systemctl stop sglang", 1, "ml is not in the sudoers file."),
        ("systemctl cat nobody", 1, "No files found for nobody.service."),
        ("systemctl frob sglang", 1, "Unknown command verb 'frob'."),
        ("systemctl --foo show sglang", 1, "systemctl: unrecognized option '--foo'"),
    ],
)
def test_systemctl_refuses_as_systemctl_does(closed: PracticeHost, command: str, code: int, words: str) -> None:
    result = run_on(closed, command)
    assert result.returncode == code
    assert words in result.stderr.decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("\"a b\" 'c d' e", ["a b", "c d", "e"]),
        (r'"say \"hi\"" a\x20b', ['say "hi"', "a b"]),
        ('--x="y z"', ["--x=y z"]),
        ('""', [""]),
    ],
)
def test_words_of_a_unit(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_an_open_quote_is_a_fault() -> None:
    with pytest.raises(UnitFault, match="Unbalanced quoting"):
        split_words('a "b')
