"""Routes: jump hosts followed to their end, by the real ssh client and by the plain reader."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.transports.ssh_config import MAX_HOPS, SettingsOf, plain_reader, resolve_route, walk_route
from specdoctor.transports.ssh_destination import SshDestination, parse_destination
from specdoctor.transports.ssh_route import Settings, SshRoute

needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh client on this machine")


def answering(entries: dict[str, dict[str, str]]) -> SettingsOf:
    """Settings as a client would answer them; what a destination says itself comes first."""

    def settings_of(destination: SshDestination) -> Settings:
        found = {"user": "me", **entries.get(destination.host, {})}
        if destination.user:
            found["user"] = destination.user
        if destination.port:
            found["port"] = str(destination.port)
        return {keyword: [value] for keyword, value in found.items()}

    return settings_of


def walk(target: str, entries: dict[str, dict[str, str]]) -> SshRoute:
    return walk_route(parse_destination(target), answering(entries), environ={})


def aliases(route: SshRoute) -> list[str]:
    return [hop.alias for hop in route.hops]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({}, ["t"]),
        ({"t": {"proxyjump": "a"}}, ["a", "t"]),
        ({"t": {"proxyjump": "a,b,c"}}, ["a", "b", "c", "t"]),
        ({"t": {"proxyjump": "c"}, "c": {"proxyjump": "b"}, "b": {"proxyjump": "a"}}, ["a", "b", "c", "t"]),
        # As with ssh: jump hosts given for t win over b's own, and a's own count because it is reached first.
        ({"t": {"proxyjump": "a,b"}, "b": {"proxyjump": "z"}, "a": {"proxyjump": "y"}}, ["y", "a", "b", "t"]),
        ({"t": {"proxyjump": "none"}}, ["t"]),
    ],
)
def test_the_order_of_hops(entries: dict[str, dict[str, str]], expected: list[str]) -> None:
    assert aliases(walk("t", entries)) == expected


def test_each_hop_has_its_own_settings() -> None:
    route = walk("root@t", {"t": {"proxyjump": "you@a:2200", "hostname": "10.1.1.1"}, "a": {"hostname": "a.example"}})
    assert [(hop.hostname, hop.port, hop.user) for hop in route.hops] == [
        ("a.example", 2200, "you"),
        ("10.1.1.1", 22, "root"),
    ]
    assert route.target.alias == "t"


@pytest.mark.parametrize(
    ("entries", "chain"),
    [
        ({"t": {"proxyjump": "t"}}, "t via t"),
        ({"t": {"proxyjump": "a"}, "a": {"proxyjump": "t"}}, "t via a via t"),
        ({"t": {"proxyjump": "a"}, "a": {"proxyjump": "b"}, "b": {"proxyjump": "a"}}, "t via a via b via a"),
        ({"t": {"proxyjump": "a"}, "a": {"hostname": "T"}}, "t via a"),
    ],
)
def test_a_circle_of_jump_hosts_is_refused(entries: dict[str, dict[str, str]], chain: str) -> None:
    with pytest.raises(UsageError) as caught:
        walk("t", entries)
    assert caught.value.message == f"t: the jump hosts lead in a circle: {chain}"
    assert caught.value.next_step


def test_a_way_that_never_ends_is_refused() -> None:
    entries = {f"h{number}": {"proxyjump": f"h{number + 1}"} for number in range(100)}
    with pytest.raises(UsageError, match=f"more than {MAX_HOPS} jump hosts"):
        walk("h0", entries)


@pytest.mark.parametrize("jump", ["-oProxyCommand=id", "a;id", "$(id)"])
def test_a_jump_host_that_is_no_name_is_refused(jump: str) -> None:
    with pytest.raises(UsageError):
        walk("t", {"t": {"proxyjump": jump}})


def test_notes_of_all_hops_are_kept() -> None:
    no = {"stricthostkeychecking": "no"}
    route = walk("t", {"t": {"proxyjump": "a", **no}, "a": no})
    assert [note.split(":")[0] for note in route.notes] == ["t", "a"]


CONFIG = """\
Include included
Host bastion
  HostName bastion.example
  Port 2200
Host gpu-*
  ProxyJump ops@bastion,middle
  StrictHostKeyChecking accept-new
Match host gpu-1.inside exec "true"
  User matched
Host middle
  User between
  UserKnownHostsFile "{folder}/with space/kh" {folder}/kh2
Host circle
  ProxyJump circle2
Host circle2
  ProxyJump circle
Host proxied
  ProxyCommand nc %h %p
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(CONFIG.format(folder=tmp_path).replace("Include included", f"Include {tmp_path}/included"))
    (tmp_path / "included").write_text("Host gpu-1\n  HostName gpu-1.inside\n  IdentityFile /keys/%n\n")
    return str(path)


@needs_ssh
def test_the_ssh_client_is_asked(config: str, tmp_path: Path) -> None:
    route = resolve_route("gpu-1", config_file=config, environ={})
    assert [(hop.alias, hop.hostname, hop.port, hop.user) for hop in route.hops] == [
        ("bastion", "bastion.example", 2200, "ops"),
        ("middle", "middle", 22, "between"),
        ("gpu-1", "gpu-1.inside", 22, "matched"),
    ]
    assert route.hops[1].user_known_hosts == (f"{tmp_path}/with space/kh", f"{tmp_path}/kh2")
    assert route.target.identity_files == ("/keys/gpu-1",)
    assert route.target.strict_host_key_checking == "accept-new"
    assert route.config_file == config


@needs_ssh
def test_what_the_destination_says_wins(config: str) -> None:
    target = resolve_route("me@bastion:23", config_file=config, environ={}).target
    assert (target.user, target.port, target.hostname) == ("me", 23, "bastion.example")


@needs_ssh
def test_ipv6_and_proxy_commands(config: str) -> None:
    assert resolve_route("ssh://[::1]:23", config_file=config, environ={}).target.address == "[::1]:23"
    assert resolve_route("proxied", config_file=config, environ={}).target.proxy_command == "nc proxied 22"


@needs_ssh
def test_a_circle_in_a_real_configuration_is_refused(config: str) -> None:
    with pytest.raises(UsageError, match="circle via circle2 via circle"):
        resolve_route("circle", config_file=config, environ={})


@needs_ssh
@pytest.mark.parametrize(("text", "says"), [("Host x\n  Port many\n", "line 2"), (None, "open user config")])
def test_a_configuration_ssh_cannot_read_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "bad"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError) as caught:
        resolve_route("x", config_file=str(path), environ={})
    assert says in caught.value.message
    assert caught.value.tried == "ssh -G x"


def test_the_plain_reader_without_a_client(config: str) -> None:
    route = walk_route(SshDestination(host="gpu-2"), plain_reader(config), environ={})
    assert [(hop.alias, hop.hostname, hop.port) for hop in route.hops] == [
        ("bastion", "bastion.example", 2200),
        ("middle", "middle", 22),
        ("gpu-2", "gpu-2", 22),
    ]
    assert route.hops[0].user == "ops"
    assert route.target.strict_host_key_checking == "accept-new"
    assert [Path(path).name for path in route.target.user_known_hosts] == ["known_hosts", "known_hosts2"]


def test_without_a_client_the_user_is_told(config: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    route = resolve_route("bastion", config_file=config, environ={})
    assert route.target.address == "bastion.example:2200"
    assert "Include" in route.notes[0]


def test_the_plain_reader_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        plain_reader(str(tmp_path / "none"))
    (tmp_path / "bad").write_text("Host\n  ???\n")
    with pytest.raises(UsageError):
        plain_reader(str(tmp_path / "bad"))
