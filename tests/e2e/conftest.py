"""Practice hosts and clients for one test or one file; all of it over real SSH, in processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.practice import SCALE, Practice

TEST_S = 300
LabUp = Callable[..., Practice]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TEST_S))


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "client")


@pytest.fixture
def other(tmp_path: Path) -> Client:
    """Somebody else, with a home of their own."""
    return Client(tmp_path / "other")


@pytest.fixture(scope="module")
def hosts_of_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Practice]]:
    """The practice hosts that the tests of one file have started, by world."""
    hosts: dict[str, Practice] = {}
    yield hosts
    for host in hosts.values():
        host.stop()


@pytest.fixture
def lab_up(hosts_of_file: dict[str, Practice], tmp_path_factory: pytest.TempPathFactory) -> LabUp:
    """The practice host of a world: that of an earlier test of the file if it is as it was, else a new one.

    `scale` stretches or shortens its time; one file takes a world at one scale.
    """

    def up(world: str, *, scale: float = SCALE) -> Practice:
        host = hosts_of_file.get(world)
        if host is not None and not host.as_started():
            host.stop()
            host = None
        if host is None:
            host = Practice(world, tmp_path_factory.mktemp(Path(world).stem) / "host", scale=scale)
            hosts_of_file[world] = host
            host.await_up()
        return host

    return up


@pytest.fixture
def lab(lab_up: LabUp) -> Practice:
    """The host of the first world."""
    return lab_up("kimi-k2.5-eagle3")
