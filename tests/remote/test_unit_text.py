"""Command lines in the language of unit files: read back by rules of its own, they are what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.lab.units import expand, split_words
from tests.remote.workplace import loaded

systemd = loaded("parts.driver_systemd")
SERVER = ["/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m"]
HOSTILE = [
    "$(touch x)",
    "`touch x`",
    "; rm -rf /",
    "a b  c",
    "--privileged",
    "two\nlines\r\tand a tab",
    "\x1b[31mred\x1b[0m\x07",
    "100%n %i %% $HOME ${HOME} $$",
    "quotes \" and ' and \\ backslash",
    "caf\u00e9 \U0001f600",
    "",
    ";",
    "|",
    "&& true",
    "#comment",
    "\\x41",
]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_word_comes_back_as_it_was(word: str) -> None:
    line = " ".join(systemd.unit_word(each) for each in ["/bin/server", word, "last"])
    assert "\n" not in line
    assert expand(split_words(line), {"HOME": "/somewhere", "x": "y"}) == ["/bin/server", word, "last"]


@pytest.mark.parametrize("word", ["\udce9", "a\0b"])
def test_what_systemd_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(systemd.Refusal, match="no text"):
        systemd.unit_word(word)


def test_the_drop_in_has_one_line_for_each_setting_whatever_the_words_are() -> None:
    change: dict[str, Any] = {"set_env": {"A": "1\nExecStart=/bin/evil"}, "remove_env": ["B"]}
    text = systemd.drop_in("run1", ["/bin/server", *HOSTILE], "/home/ml/a.log", change["set_env"], change["remove_env"])
    names = [line.partition("=")[0] for line in text.splitlines()]
    assert names[1:] == [
        "[Service]", "ExecStart", "ExecStart", "Restart", "StandardOutput", "StandardError", "UnsetEnvironment",
        "Environment",
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/home/m l/a.log", "/home/\nx", '/home/"'])
def test_a_log_that_a_setting_cannot_name_is_refused(path: str) -> None:
    with pytest.raises(systemd.Refusal):
        systemd.drop_in("run1", SERVER, path, {}, [])


@pytest.mark.parametrize(
    ("path", "shown", "argv", "before"),
    [
        (SERVER[0], " ".join(SERVER), SERVER, ([SERVER[0]], 1)),
        ("/usr/bin/python3", "python3 " + " ".join(SERVER[1:]), SERVER, (["python3"], 1)),
        (SERVER[0], SERVER[0] + " -m sglang.launch_server $ARGS", SERVER, ([SERVER[0]], 1)),
        (
            "/usr/bin/numactl", "/usr/bin/numactl --membind=0 " + " ".join(SERVER), SERVER,
            (["/usr/bin/numactl", "--membind=0", SERVER[0]], 1),
        ),
        (
            "/opt/bin/sglang", "/opt/bin/sglang serve --port 1", ["/opt/venv/bin/python3", "/opt/bin/sglang", "serve",
            "--port", "1"], (["/opt/bin/sglang"], 2),
        ),
        ("/bin/bash", "/bin/bash -c exec " + " ".join(SERVER), SERVER, None),
        ("/bin/bash", "/bin/bash /srv/start.sh", SERVER, None),
        ("/opt/venv/bin/python3", "other " + " ".join(SERVER[1:]), SERVER, None),
        ("/usr/bin/env", "/usr/bin/env A=$(x) " + " ".join(SERVER), SERVER, None),
    ],
)  # fmt: skip
def test_the_shown_command_is_the_running_one_or_another(
    path: str, shown: str, argv: list[str], before: tuple[list[str], int] | None
) -> None:
    assert systemd.before_server(path, shown, argv) == before


def test_the_properties_that_systemctl_shows_are_read() -> None:
    text = (
        "Type=simple\nExecStart={ path=/bin/a ; argv[]=/bin/a -x ; ignore_errors=no ; start_time=[n/a] "
        "; pid=0 ; code=(null) ; status=0/0 }\nExecStart={ path=/bin/b ; argv[]=/bin/b ; ignore_errors=no ; pid=1 }\n"
        "DropInPaths=\n"
    )
    shown = systemd.shown_properties(text)
    assert shown["Type"] == "simple"
    assert shown["DropInPaths"] == ""
    assert systemd.commands_shown(shown["ExecStart"]) == [("/bin/a", "/bin/a -x"), ("/bin/b", "/bin/b")]


@pytest.mark.parametrize("name", ["--force.service", "a b.service", "x.timer", "$(touch x).service", "a\nb.service"])
def test_a_name_that_is_no_service_is_refused(name: str) -> None:
    with pytest.raises(systemd.Refusal, match="cannot be the name"):
        systemd.Systemd({"kind": "systemd", "name": name})
