"""Reading what `ssh -G` prints."""

from __future__ import annotations

import os
import pwd

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.transports.ssh_route import SshHop, hop_from_settings, notes_on, parse_settings, proxy_jumps

ACCOUNT_HOME = pwd.getpwuid(os.getuid()).pw_dir

PRINTED = f"""\
host eagle-a
user me
hostname 10.0.0.5
port 2222
addressfamily inet
batchmode no
identitiesonly no
stricthostkeychecking ask
hashknownhosts yes
serveralivecountmax 3
serveraliveinterval 0
ciphers chacha20-poly1305@openssh.com,aes128-ctr
identityfile ~/.ssh/id_rsa
identityfile ~/.ssh/id_ed25519
globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2
userknownhostsfile {ACCOUNT_HOME}/.ssh/known_hosts {ACCOUNT_HOME}/.ssh/known_hosts2
sendenv LANG
connecttimeout none
tunneldevice any:any
rekeylimit 0 0
"""


def hop(
    text: str = "", *, alias: str = "eagle-a", jumped: bool = False, environ: dict[str, str] | None = None
) -> SshHop:
    settings = {**parse_settings(PRINTED), **parse_settings(text)}
    return hop_from_settings(alias, settings, environ=environ or {}, jumped=jumped)


def test_lines_are_keywords_and_values_in_order() -> None:
    settings = parse_settings(PRINTED)
    assert settings["identityfile"] == ["~/.ssh/id_rsa", "~/.ssh/id_ed25519"]
    assert settings["hostname"] == ["10.0.0.5"]
    assert parse_settings("\n  Port 22  \nflag\n") == {"port": ["22"], "flag": [""]}


def test_a_usual_answer() -> None:
    assert hop() == SshHop(
        alias="eagle-a",
        hostname="10.0.0.5",
        port=2222,
        user="me",
        identity_files=(f"{ACCOUNT_HOME}/.ssh/id_rsa", f"{ACCOUNT_HOME}/.ssh/id_ed25519"),
        identities_only=False,
        user_known_hosts=(f"{ACCOUNT_HOME}/.ssh/known_hosts", f"{ACCOUNT_HOME}/.ssh/known_hosts2"),
        global_known_hosts=("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"),
        strict_host_key_checking="ask",
        hash_known_hosts=True,
        connect_timeout_s=15.0,
        keepalive_s=15.0,
        keepalive_count=3,
        address_family="inet",
    )


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("stricthostkeychecking true", "strict_host_key_checking", "yes"),
        ("stricthostkeychecking false", "strict_host_key_checking", "no"),
        ("stricthostkeychecking off", "strict_host_key_checking", "no"),
        ("stricthostkeychecking accept-new", "strict_host_key_checking", "accept-new"),
        ("stricthostkeychecking something-new", "strict_host_key_checking", "yes"),
        ("identitiesonly yes", "identities_only", True),
        ("connecttimeout 7", "connect_timeout_s", 7.0),
        ("serveraliveinterval 30", "keepalive_s", 30.0),
        ("hostkeyalias farm", "host_key_alias", "farm"),
        ("userknownhostsfile none", "user_known_hosts", ()),
        ("userknownhostsfile /a b/kh /c/kh ~/kh", "user_known_hosts", ("/a b/kh", "/c/kh", f"{ACCOUNT_HOME}/kh")),
        ("userknownhostsfile relative", "user_known_hosts", ("relative",)),
        ("identityfile none", "identity_files", ()),
        ("identityfile /keys/%h/%r/%p/%n/%%", "identity_files", ("/keys/10.0.0.5/me/2222/eagle-a/%",)),
        ("identityfile %d/id", "identity_files", (f"{ACCOUNT_HOME}/id",)),
        ("identityfile ${KEYS}/id", "identity_files", ("/k/id",)),
        ("identityfile ${NOT_SET}/id", "identity_files", ("${NOT_SET}/id",)),
        ("identityfile /with space/id", "identity_files", ("/with space/id",)),
        ("revokedhostkeys /etc/ssh/revoked", "revoked_host_keys", "/etc/ssh/revoked"),
        ("identityagent none", "agent", None),
        ("identityagent SSH_AUTH_SOCK", "agent", "/run/agent"),
        ("identityagent $OTHER_AGENT", "agent", "/run/other"),
        ("identityagent /run/%r.sock", "agent", "/run/me.sock"),
        ("proxycommand nc -x proxy %h %p", "proxy_command", "nc -x proxy 10.0.0.5 2222"),
        ("proxycommand none", "proxy_command", None),
    ],
)
def test_single_settings(text: str, field: str, expected: object) -> None:
    environ = {"KEYS": "/k", "SSH_AUTH_SOCK": "/run/agent", "OTHER_AGENT": "/run/other"}
    assert getattr(hop(text, environ=environ), field) == expected


def test_the_usual_agent_is_taken_from_the_environment() -> None:
    assert hop(environ={"SSH_AUTH_SOCK": "/run/agent"}).agent == "/run/agent"
    assert hop(environ={}).agent is None


def test_a_proxy_command_does_not_count_behind_jump_hosts() -> None:
    assert hop("proxycommand nc %h %p", jumped=True).proxy_command is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("proxyjump none", ()),
        ("proxyjump b", ("b",)),
        ("proxyjump me@a:22,[::1]:23", ("me@a:22", "[::1]:23")),
    ],
)
def test_jump_hosts(text: str, expected: tuple[str, ...]) -> None:
    assert proxy_jumps(parse_settings(text)) == expected


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="port in the ssh configuration is 'many'"):
        hop("port many")


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("stricthostkeychecking no", "StrictHostKeyChecking no"),
        ("stricthostkeychecking false", "StrictHostKeyChecking false"),
        ("knownhostscommand /bin/keys %H", "KnownHostsCommand"),
        ("certificatefile ~/c.pub", "CertificateFile"),
    ],
)
def test_what_is_not_followed_is_said(text: str, about: str) -> None:
    (note,) = notes_on("eagle-a", {**parse_settings(PRINTED), **parse_settings(text)})
    assert note.startswith("eagle-a: ")
    assert about in note


def test_a_usual_answer_needs_no_note() -> None:
    assert notes_on("eagle-a", parse_settings(PRINTED)) == ()


@pytest.mark.parametrize(
    ("settings", "address"),
    [({}, "h"), ({"port": 23}, "h:23"), ({"hostname": "::1"}, "[::1]"), ({"hostname": "::1", "port": 23}, "[::1]:23")],
)
def test_the_address_in_messages(settings: dict[str, object], address: str) -> None:
    assert SshHop.model_validate({"alias": "h", "hostname": "h", "user": "me", **settings}).address == address
