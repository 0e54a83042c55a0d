"""Ways in that do not work each give one clear message; a way through two other hosts works."""

from __future__ import annotations

import logging
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from specdoctor.lab.host import PracticeHost
from specdoctor.lab.jump_host import JumpHost
from tests.e2e.client import Client, Ended
from tests.e2e.practice import Practice
from tests.lab.host_world import small_world

MOST_LINES = 12


def key_line() -> str:
    """A public key nobody uses, as known_hosts files write one."""
    return " ".join(asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().split()[:2])


def config_with(lab: Practice, folder: Path, **changes: str) -> Path:
    """The practice host's SSH configuration with some keywords set to something else."""
    lines = lab.config.read_text().splitlines()
    kept = [line for line in lines if line.split()[0] not in changes]
    path = folder / "changed_config"
    path.write_text("\n".join([*kept, *(f"  {name} {value}" for name, value in changes.items())]) + "\n")
    return path


def refused(client: Client, config: Path) -> Ended:
    """An investigation that does not get in: one short message, and no run."""
    ended = client.run("investigate", "ssh://lab", "--ssh-config", str(config), "--symptom", "slow", within_s=60.0)
    assert ended.code == 5, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert len(ended.lines) <= MOST_LINES, ended.err
    assert client.transcripts == []
    return ended


def test_a_changed_host_key(lab: Practice, client: Client, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{lab.ssh_port} {key_line()}\n")
    ended = refused(client, config_with(lab, tmp_path, UserKnownHostsFile=str(known)))
    assert f"lab: host key has changed ({known} line 1, ED25519)" in ended.err
    assert ended.err.count("SHA256:") == 2
    assert "ssh-keygen -R" in ended.err


def test_a_changed_host_key_is_refused_even_if_new_ones_are_accepted(
    lab: Practice, client: Client, tmp_path: Path
) -> None:
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{lab.ssh_port} {key_line()}\n")
    config = config_with(lab, tmp_path, UserKnownHostsFile=str(known))
    ended = client.run("doctor", "ssh://lab", "--ssh-config", str(config), "--accept-new-host-key")
    assert ended.code == 5, ended.err
    assert "host key has changed" in ended.err
    assert known.read_text().count("\n") == 1


def test_an_unknown_host_key(lab: Practice, client: Client, tmp_path: Path) -> None:
    config = config_with(lab, tmp_path, UserKnownHostsFile=str(tmp_path / "none"))
    ended = refused(client, config)
    assert "lab: host key is not known" in ended.err
    assert ended.err.count("SHA256:") == 1
    assert "--accept-new-host-key" in ended.err
    assert not (tmp_path / "none").exists()


def test_an_unknown_host_key_is_accepted_when_somebody_says_so(lab: Practice, client: Client, tmp_path: Path) -> None:
    known = tmp_path / "known"
    config = config_with(lab, tmp_path, UserKnownHostsFile=str(known))
    first = client.run("doctor", "ssh://lab", "--ssh-config", str(config), "--accept-new-host-key")
    assert first.code == 0, first.err
    assert str(known) in first.err
    again = client.run("doctor", "ssh://lab", "--ssh-config", str(config))
    assert again.code == 0, again.err


def test_a_refused_key(lab: Practice, client: Client, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(stranger)
    stranger.chmod(0o600)
    ended = refused(client, config_with(lab, tmp_path, IdentityFile=str(stranger)))
    assert "refused" in ended.err
    assert str(stranger) in ended.err


def test_a_closed_port(lab: Practice, client: Client, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    ended = refused(client, config_with(lab, tmp_path, Port=str(port)))
    assert f"no connection to 127.0.0.1:{port}: nothing listens there" in ended.err


@pytest.fixture
def two_hops(lab: Practice, tmp_path: Path) -> Iterator[Path]:
    """A configuration with two more hosts in front of the practice host, each with keys of its own."""
    with (
        JumpHost(state_dir=tmp_path / "first", user="gate") as first,
        PracticeHost(small_world(), state_dir=tmp_path / "second", user="hop") as second,
    ):
        blocks = [
            block_of(first.ssh_config, alias="first"),
            block_of(second.ssh_config, alias="second"),
            lab.config.read_text().rstrip() + "\n  ProxyJump first,second\n",
        ]
        config = tmp_path / "jump_config"
        config.write_text("\n".join(blocks))
        yield config


def block_of(config: Path, *, alias: str) -> str:
    first_line, _, rest = config.read_text().partition("\n")
    assert first_line.startswith("Host ")
    return f"Host {alias}\n{rest}"


def test_two_jumps(two_hops: Path, lab: Practice, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="asyncssh")
    ended = client.run("doctor", "ssh://lab", "--ssh-config", str(two_hops), "--json")
    assert ended.code == 0, ended.err
    assert ended.document["servers"] == 1
    accepted = [r.getMessage() for r in caplog.records if "Accepted direct TCP connection request" in r.getMessage()]
    ports = [int(message.rpartition("port ")[2]) for message in accepted]
    assert len(ports) == 2
    assert ports[-1] == lab.ssh_port


@pytest.mark.skipif(shutil.which("ssh") is None, reason="the OpenSSH client is not installed")
def test_the_system_client_goes_the_same_way(two_hops: Path, client: Client) -> None:
    assert client.shell(f"ssh -F {two_hops} lab hostname").out == "eagle-a\n"
