"""What may stand for a target, and what is refused."""

from __future__ import annotations

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.transports.connect import connect
from specdoctor.transports.local import LocalHost
from specdoctor.transports.ssh_destination import SshDestination, parse_destination

GOOD = {
    "eagle-a": SshDestination(host="eagle-a"),
    "me@eagle-a": SshDestination(host="eagle-a", user="me"),
    "eagle-a:2222": SshDestination(host="eagle-a", port=2222),
    "me@10.0.0.5:2222": SshDestination(host="10.0.0.5", user="me", port=2222),
    "ssh://eagle-a": SshDestination(host="eagle-a"),
    "ssh://eagle-a/": SshDestination(host="eagle-a"),
    "SSH://me@eagle-a:22": SshDestination(host="eagle-a", user="me", port=22),
    "ssh://me@[2001:db8::7]:2222": SshDestination(host="2001:db8::7", user="me", port=2222),
    "[2001:db8::7]": SshDestination(host="2001:db8::7"),
    "2001:db8::7": SshDestination(host="2001:db8::7"),
    "::1": SshDestination(host="::1"),
    "ssh://[fe80::1%25eth0]": SshDestination(host="fe80::1%eth0"),
    "ssh://domain%2Bme@host": SshDestination(host="host", user="domain+me"),
    "me@corp.example@gateway": None,
    "gpu_box-1.cluster": SshDestination(host="gpu_box-1.cluster"),
}


@pytest.mark.parametrize(("text", "expected"), [(text, want) for text, want in GOOD.items() if want])
def test_a_destination_is_read(text: str, expected: SshDestination) -> None:
    assert parse_destination(text) == expected


@pytest.mark.parametrize("want", [want for want in GOOD.values() if want and "%" not in want.host])
def test_a_destination_written_out_is_read_as_the_same(want: SshDestination) -> None:
    assert parse_destination(str(want)) == want


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ssh://", "the host is empty"),
        ("ssh://me@", "the host is empty"),
        ("ssh://@host", "the user is empty"),
        ("ssh://-oProxyCommand=id", "starts with a dash"),
        ("ssh://-l@host", "starts with a dash"),
        ("-F", "starts with a dash"),
        ("ssh://[-x]", "starts with a dash"),
        ("ssh://host:0", "the port is '0'"),
        ("ssh://host:65536", "the port is '65536'"),
        ("ssh://host:ssh", "the port is 'ssh'"),
        ("ssh://host:", "the port is ''"),
        ("ssh://host:٢٢", "the port is"),
        ("ssh://host/path", "contains '/'"),
        ("ssh://a b", "contains ' '"),
        ("ssh://a;id", "contains ';'"),
        ("ssh://$(id)", "contains '$'"),
        ("ssh://a`id`", "contains '`'"),
        ("ssh://a'b", 'contains "\'"'),
        ("ssh://host\n", "contains '\\n'"),
        ("ssh://me%0A@host", "contains '\\n'"),
        ("ssh://%2dl@host", "starts with a dash"),
        ("ssh://*", "contains '*'"),
        ("ssh://a::b", "the port is ':b'"),
    ],
)
def test_what_cannot_be_a_target_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_destination(text)
    assert why in caught.value.message
    assert "ssh://eagle-a" in caught.value.next_step


def test_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        connect("ssh://me:hunter2@host")
    assert "hunter2" not in caught.value.message + caught.value.tried + caught.value.next_step
    assert "password" in caught.value.message


def test_this_machine_is_local() -> None:
    assert isinstance(connect("local:"), LocalHost)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("", "names no host"),
        ("-oProxyCommand=id", "names no host"),
        ("eagle-a", "write ssh://eagle-a"),
        ("me@eagle-a:22", "write ssh://me@eagle-a:22"),
        ("local", "written local:"),
        ("local://x", "local:// is no way"),
        ("http://host:30000", "http:// is no way to a host"),
        ("ssh:host", "write ssh://"),
    ],
)
def test_other_targets_are_refused_with_examples(target: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        connect(target)
    assert why in caught.value.message
    assert "ssh://me@[2001:db8::7]:22" in caught.value.next_step
    assert "local:" in caught.value.next_step
