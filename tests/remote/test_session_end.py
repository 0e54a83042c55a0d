"""Where logind ends what a login leaves running, no guard is trusted to survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdoctor.remote.parts import guard
from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.session_end import ends_with_session

SESSION = "0::/user.slice/user-1000.slice/session-c7.scope\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOST_ETC", str(tmp_path / "etc"))
    monkeypatch.setenv("HOST_USR", str(tmp_path / "usr"))
    monkeypatch.setenv("HOST_RUN", str(tmp_path / "run"))
    (tmp_path / "etc" / "systemd" / "logind.conf.d").mkdir(parents=True)
    (tmp_path / "run" / "systemd" / "logind.conf.d").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("main", "drop_in", "user", "cgroup", "ends"),
    [
        ("[Login]\nKillUserProcesses=yes\n", "", "ann", SESSION, True),
        ("[Login]\nKillUserProcesses=yes\n", "", "root", SESSION, False),
        ("[Login]\nKillUserProcesses=yes\nKillExcludeUsers=ann bob\n", "", "ann", SESSION, False),
        ("[Login]\nKillUserProcesses=yes\nKillExcludeUsers=\n", "", "root", SESSION, True),
        ("[Login]\nKillUserProcesses=yes\nKillOnlyUsers=bob\n", "", "ann", SESSION, False),
        ("[Login]\nKillUserProcesses=yes\nKillOnlyUsers=ann\n", "", "ann", SESSION, True),
        ("[Login]\nKillUserProcesses=no\n", "", "ann", SESSION, False),
        ("[Login]\nKillUserProcesses=yes\n", "[Login]\nKillUserProcesses=no\n", "ann", SESSION, False),
        ("[Login]\n#KillUserProcesses=no\n", "[Login]\nKillUserProcesses=on\n", "ann", SESSION, True),
        ("[Login]\n#KillUserProcesses=yes\n", "", "ann", SESSION, True),
        ("[Login]\n#KillUserProcesses=no\n", "", "ann", SESSION, False),
        ("[Login]\nKillUserProcesses=yes\n", "", "ann", "0::/system.slice/ssh.service\n", False),
        ("[Login]\nKillUserProcesses=yes\n", "", "ann", "", False),
    ],
)
def test_what_logind_does_at_the_end_of_a_session(
    main: str, drop_in: str, user: str, cgroup: str, ends: bool, files: Path
) -> None:
    (files / "etc" / "systemd" / "logind.conf").write_text(main)
    (files / "run" / "systemd" / "logind.conf.d" / "50-site.conf").write_text(drop_in)
    assert bool(ends_with_session(user, cgroup)) == ends


def test_a_drop_in_of_the_administrator_stands_over_one_of_the_same_name_below_run(files: Path) -> None:
    (files / "run" / "systemd" / "logind.conf.d" / "10.conf").write_text("[Login]\nKillUserProcesses=yes\n")
    (files / "etc" / "systemd" / "logind.conf.d" / "10.conf").write_text("[Login]\n")
    assert ends_with_session("ann", SESSION) == ""


def test_without_any_file_nothing_is_ended(files: Path) -> None:
    assert ends_with_session("ann", SESSION) == ""


def test_where_it_would_be_ended_no_guard_is_posted(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "etc" / "systemd" / "logind.conf").write_text("[Login]\nKillUserProcesses=yes\n")
    monkeypatch.setattr(guard, "_own_name", lambda: "ann")
    monkeypatch.setattr(guard, "_own_cgroup", lambda: SESSION)
    with pytest.raises(Refusal, match="KillUserProcesses=yes") as refused:
        guard.post_guard(str(files), {}, {})
    assert refused.value.kind == "no-guard"
