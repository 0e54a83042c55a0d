"""The guard itself: what a test can reach, and what stops it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.network_guard import NetworkForbidden, is_loopback

ELSEWHERE = "192.0.2.1"  # set aside for documentation; belongs to nobody


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.10", "::1", "localhost", b"127.0.0.1", "::ffff:127.0.0.1"], ids=str
)
def test_loopback_is_local(host: object) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [ELSEWHERE, "10.0.0.1", "0.0.0.0", "::", "fe80::1%eth0", "::ffff:192.0.2.1", "example.com", "", None],
    ids=str,
)
def test_everything_else_is_not(host: object) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["tcp", "udp"])
def test_connecting_elsewhere_is_forbidden(method: str, kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET, kind) as sock, pytest.raises(NetworkForbidden, match=r"192\.0\.2\.1"):
        getattr(sock, method)((ELSEWHERE, 9))


def test_connecting_elsewhere_over_ipv6_is_forbidden() -> None:
    with socket.socket(socket.AF_INET6) as sock, pytest.raises(NetworkForbidden):
        sock.connect(("2001:db8::1", 9, 0, 0))


def test_datagrams_elsewhere_are_forbidden() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(NetworkForbidden):
            sock.sendto(b"x", (ELSEWHERE, 9))
        with pytest.raises(NetworkForbidden):
            sock.sendto(b"x", 0, (ELSEWHERE, 9))
        with pytest.raises(NetworkForbidden):
            sock.sendmsg([b"x"], [], 0, (ELSEWHERE, 9))


@pytest.mark.parametrize("url", [f"http://{ELSEWHERE}/", "http://example.com/"])
def test_a_library_is_stopped_too(url: str) -> None:
    with pytest.raises(NetworkForbidden):
        urllib.request.urlopen(url, timeout=1)


def test_asyncio_is_stopped_too() -> None:
    with pytest.raises(NetworkForbidden):
        asyncio.run(asyncio.open_connection(ELSEWHERE, 9))


@pytest.mark.parametrize("function", ["getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"])
def test_looking_up_a_name_is_forbidden(function: str) -> None:
    arguments = ("example.com", 80) if function == "getaddrinfo" else ("example.com",)
    with pytest.raises(NetworkForbidden):
        getattr(socket, function)(*arguments)


def test_a_reserved_name_fails_like_an_unknown_one() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("no-such-host.invalid", 22)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_can_be_reached(host: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1]), timeout=5) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"


def test_unix_sockets_can_be_reached(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)
        assert client.getpeername() == path


LIVE_TEST = """
import socket
import pytest
from tests.network_guard import NetworkForbidden

def try_elsewhere():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:  # connecting a datagram socket sends nothing
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            pass

@pytest.mark.live
def test_marked():
    try_elsewhere()

def test_unmarked_after_it():
    with pytest.raises(NetworkForbidden):
        try_elsewhere()
"""


WITHOUT = [each for name in ("cacheprovider", "xdist", "hypothesispytest") for each in ("-p", f"no:{name}")]


@pytest.mark.parametrize(
    ("options", "expected"), [((), "1 passed, 1 skipped"), (("--live",), "2 passed")], ids=["by default", "when asked"]
)
def test_live_tests_run_only_when_asked_and_lift_the_guard(
    tmp_path: Path, pytestconfig: pytest.Config, options: tuple[str, ...], expected: str
) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    root = pytestconfig.rootpath
    for name in ("conftest.py", "network_guard.py"):
        (tests / name).write_text((root / "tests" / name).read_text())
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text())
    (tests / "test_live.py").write_text(LIVE_TEST)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *WITHOUT, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert expected in run.stdout, run.stdout + run.stderr
    assert run.returncode == 0
