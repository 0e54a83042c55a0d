"""Which listeners of one port are in each other's way."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tests.remote.workplace import loaded

PROCFS = loaded("parts.procfs")


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("127.0.0.1", "0.0.0.0", True),
        ("0.0.0.0", "10.1.2.3", True),
        ("::", "127.0.0.1", True),
        ("::1", "127.0.0.1", False),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("::ffff:127.0.0.1", "127.0.0.2", False),
    ],
)
def test_addresses_that_cannot_both_be_taken(one: str, other: str, clash: bool) -> None:
    assert PROCFS.clash(one, other) is clash
    assert PROCFS.clash(other, one) is clash


def test_a_port_is_held_where_its_address_is_needed() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listening:
        port = listening.getsockname()[1]
        assert PROCFS.port_is_held(port)
        assert PROCFS.port_is_held(port, ["127.0.0.2"])
        assert not PROCFS.port_is_held(port, ["127.0.0.1"])
        stats = PROCFS.all_stats()
        assert os.getpid() in PROCFS.holders_of_port(port, stats, ["0.0.0.0"])
        assert PROCFS.holders_of_port(port, stats, ["127.0.0.1"]) == []


SHARES = """
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("listens", flush=True)
sys.stdin.read()
"""


def test_whoever_shares_port_and_address_is_seen() -> None:
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        own.bind(("127.0.0.1", 0))
        own.listen()
        port = own.getsockname()[1]
        assert PROCFS.listens_beside([os.getpid()], port) == []
        words = [sys.executable, "-c", SHARES, str(port)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            (seen,) = PROCFS.listens_beside([os.getpid()], port)
            assert seen.address == "127.0.0.1"
            assert PROCFS.listens_beside([os.getpid(), other.pid], port) == []
            other.communicate()
