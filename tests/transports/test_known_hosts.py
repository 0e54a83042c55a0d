"""known_hosts files: which lines are about a host, and whether a key fits."""

from __future__ import annotations

import base64
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from specdoctor.transports.ssh_known_hosts import (
    HostKey,
    KeyStatus,
    KnownHosts,
    append_key,
    known_hosts_for,
    known_hosts_line,
    lookup_name,
    parse_known_hosts,
    parse_public_key,
)
from specdoctor.transports.ssh_route import SshHop
from tests.transports.conftest import Keys


def made_up(key_type: str, content: bytes) -> HostKey:
    name = key_type.encode()
    return HostKey(key_type=key_type, blob=len(name).to_bytes(4, "big") + name + content)


RED = made_up("ssh-ed25519", b"red")
BLUE = made_up("ssh-ed25519", b"blue")
WIDE = made_up("ssh-rsa", b"wide")


def line(names: str, key: HostKey, marker: str = "") -> str:
    return f"{marker} {names} {key.key_type} {base64.b64encode(key.blob).decode()} comment\n".lstrip()


def known(text: str, *, name: str = "eagle-a", bare_name: str | None = None) -> KnownHosts:
    return KnownHosts(name=name, bare_name=bare_name, entries=parse_known_hosts(text, file="kh"))


@pytest.mark.parametrize(
    ("names", "name", "fits"),
    [
        ("eagle-a", "eagle-a", True),
        ("Eagle-A", "eagle-a", True),
        ("eagle-b,eagle-a,10.0.0.1", "eagle-a", True),
        ("eagle-*", "eagle-a", True),
        ("eagle-?", "eagle-a", True),
        ("*,!eagle-a", "eagle-a", False),
        ("!eagle-a,*", "eagle-a", False),
        ("eagle", "eagle-a", False),
        ("[eagle-a]:2222", "[eagle-a]:2222", True),
        ("[eagle-a]:2222", "eagle-a", False),
        ("[eagle-a]:*", "[eagle-a]:2222", True),
        ("eagle-a", "[eagle-a]:2222", False),
        ("|1|broken", "eagle-a", False),
        ("|1|!!|!!", "eagle-a", False),
    ],
)
def test_which_lines_are_about_a_host(names: str, name: str, fits: bool) -> None:
    (entry,) = parse_known_hosts(line(names, RED), file="kh")
    assert entry.names(name) is fits


@pytest.mark.parametrize(
    ("text", "key", "status", "number"),
    [
        (line("eagle-a", RED), RED, "known", 1),
        (line("eagle-b", RED), RED, "unknown", None),
        ("", RED, "unknown", None),
        ("# comment\n\n" + line("eagle-a", RED), BLUE, "changed", 3),
        (line("eagle-a", BLUE) + line("eagle-a", RED), RED, "known", 2),
        (line("eagle-a", WIDE), RED, "unknown", None),
        (line("eagle-a", RED) + line("*", RED, "@revoked"), RED, "revoked", 2),
        (line("eagle-b", RED, "@revoked") + line("eagle-a", RED), RED, "known", 2),
        (line("*", WIDE, "@cert-authority"), WIDE, "unknown", None),
        (line("eagle-a", RED, "@future-marker"), RED, "unknown", None),
        ("eagle-a ssh-ed25519\n" + "eagle-a ssh-ed25519 ???\n" + line("eagle-a", RED), RED, "known", 3),
        ("eagle-a ssh-rsa " + base64.b64encode(RED.blob).decode() + "\n", RED, "unknown", None),
    ],
)
def test_whether_a_key_fits(text: str, key: HostKey, status: KeyStatus, number: int | None) -> None:
    finding = known(text).find(key)
    assert finding.status == status
    assert (finding.entry.line if finding.entry else None) == number


def test_keys_of_other_types_and_authorities_are_told() -> None:
    finding = known(line("eagle-a", WIDE) + line("eagle-*", WIDE, "@cert-authority")).find(RED)
    assert [other.place for other in finding.others] == ["kh line 1"]
    assert finding.authority is not None
    assert finding.authority.line == 2


def test_key_types_in_the_order_of_the_files() -> None:
    text = line("eagle-a", WIDE) + line("eagle-b", BLUE) + line("eagle-a", RED) + line("eagle-a", BLUE)
    assert known(text).key_types() == ("ssh-rsa", "ssh-ed25519")


def test_a_name_without_port_counts_only_for_the_same_key() -> None:
    hosts = known(line("eagle-a", RED), name="[eagle-a]:2222", bare_name="eagle-a")
    assert hosts.find(RED).status == "known"
    assert hosts.find(BLUE).status == "unknown"
    with_port = known(line("eagle-a", RED) + line("[eagle-a]:2222", BLUE), name="[eagle-a]:2222", bare_name="eagle-a")
    assert with_port.find(RED).status == "changed"


def hop(**settings: object) -> SshHop:
    return SshHop.model_validate({"alias": "a", "hostname": "Eagle-A.example", "user": "me", **settings})


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "eagle-a.example"),
        ({"port": 2222}, "[eagle-a.example]:2222"),
        ({"port": 2222, "host_key_alias": "Farm"}, "farm"),
        ({"hostname": "::1", "port": 2222}, "[::1]:2222"),
    ],
)
def test_what_a_host_is_recorded_as(settings: dict[str, object], name: str) -> None:
    assert lookup_name(hop(**settings)) == name


def test_all_files_count_and_missing_ones_are_empty(tmp_path: Path) -> None:
    (tmp_path / "user").write_text(line("eagle-a.example", RED))
    (tmp_path / "global").write_text(line("eagle-a.example", BLUE))
    hosts = known_hosts_for(
        hop(
            user_known_hosts=(str(tmp_path / "user"), str(tmp_path / "none")),
            global_known_hosts=(str(tmp_path / "global"),),
        )
    )
    assert hosts.find(RED).status == "known"
    found = hosts.find(BLUE)
    assert found.entry is not None
    assert found.entry.file == str(tmp_path / "global")


@pytest.mark.parametrize("hashed", [False, True])
def test_a_written_line_is_read_again(hashed: bool) -> None:
    text = known_hosts_line("[eagle-a]:2222", RED, hashed=hashed)
    assert ("eagle-a" in text) is not hashed
    assert known(text, name="[eagle-a]:2222").find(RED).status == "known"
    assert known(text, name="eagle-b").find(RED).status == "unknown"


def test_appending_makes_the_file_private_and_keeps_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "new" / "known_hosts"
    append_key(str(file), "one\n")
    append_key(str(file), "two\n")
    assert file.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.write_text("no line end")
    append_key(str(file), "three\n")
    assert file.read_text() == "no line end\nthree\n"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_openssh_agrees_on_fingerprints_and_hashes(keys: Keys, tmp_path: Path) -> None:
    for pair in (keys.host, keys.host_ecdsa, keys.host_rsa):
        shown = subprocess.run(
            ["ssh-keygen", "-lf", f"{pair.path}.pub"], capture_output=True, text=True, check=True
        ).stdout
        assert pair.public.fingerprint in shown
        assert f"({pair.public.kind})" in shown
    file = tmp_path / "known_hosts"
    file.write_text(f"eagle-a {keys.host.public_line}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], capture_output=True, check=True)
    hashed = file.read_text()
    assert hashed.startswith("|1|")
    assert known(hashed).find(keys.host.public).status == "known"
    file.write_text(known_hosts_line("eagle-z", keys.host.public, hashed=True))
    found = subprocess.run(["ssh-keygen", "-F", "eagle-z", "-f", str(file)], capture_output=True, check=False)
    assert found.returncode == 0


def test_what_is_no_public_key() -> None:
    assert parse_public_key([]) is None
    assert parse_public_key(["ssh-rsa", base64.b64encode(RED.blob).decode()]) is None
