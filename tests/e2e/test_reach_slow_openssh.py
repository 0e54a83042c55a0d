"""The contract of a host over a slow and lossy line, by the system's client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.reach import slow_subject
from tests.transports.host_contract import HostContract, Subject
from tests.transports.ssh_servers import why_no_sshd

pytestmark = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "sshd is there")


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with ExitStack() as stack:
        yield slow_subject("openssh", tmp_path_factory.mktemp("slow"), stack)


class TestHost(HostContract):
    pass
