"""The contract of a host over real sshd's: behind a jump host, forced, without SFTP, with a banner, one session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from specdoctor.core.errors import TargetError
from specdoctor.core.via import parse_via
from specdoctor.transports.via import ViaHost
from tests.e2e.reach import CLIENTS, Sshds, reached
from tests.transports.conftest import SHIMS
from tests.transports.host_contract import HostContract, Subject
from tests.transports.ssh_servers import why_no_sshd

pytestmark = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "sshd is there")

FORCED = 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
BANNER = "Authorised use only.\nEverything is logged; $(touch /tmp/never) `id`\n"
PATH_WITH_SHIMS = f"SetEnv PATH={SHIMS}:/usr/local/bin:/usr/bin:/bin SHLVL=5"


def jump(sshds: Sshds) -> None:
    sshds.named("gate", sshds.start())
    sshds.named("target", sshds.start(), ProxyJump="gate")


def forced(sshds: Sshds) -> None:
    sshds.named("target", sshds.start(forced=FORCED))


def without_sftp(sshds: Sshds) -> None:
    sshds.named("target", sshds.start("Subsystem none /nowhere"))


def banner(sshds: Sshds) -> None:
    text = sshds.home.folder / "banner"
    text.write_text(BANNER)
    sshds.named("target", sshds.start(f"Banner {text}"))


def one_session(sshds: Sshds) -> None:
    sshds.named("target", sshds.start("MaxSessions 1"))


def shims(sshds: Sshds) -> None:
    sshds.named("target", sshds.start(PATH_WITH_SHIMS))


CONDITIONS: dict[str, Callable[[Sshds], None]] = {
    "jump host": jump,
    "forced command": forced,
    "no SFTP": without_sftp,
    "banner": banner,
    "MaxSessions 1": one_session,
}
CASES = [(condition, client, "") for condition in CONDITIONS for client in CLIENTS]
CASES += [("docker", "paramiko", "docker:app"), ("kubectl", "openssh", "kubectl:lab/app/server")]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case[:2]))
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    condition, client, via = request.param
    with ExitStack() as stack:
        sshds = Sshds(tmp_path_factory.mktemp("reach"), stack)
        CONDITIONS.get(condition, shims)(sshds)
        host = stack.enter_context(reached(sshds.home, "target", client))
        yield Subject(
            ViaHost(host, parse_via(via)) if via else host,
            big_bytes=2_000_000,
            one_at_a_time=condition == "MaxSessions 1",
        )


class TestHost(HostContract):
    pass


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("command", "said"), [("echo only this", "only this"), ("/usr/sbin/nologin", "currently not available")]
)
def test_a_forced_command_that_runs_something_else_is_told_apart(
    client: str, command: str, said: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        sshds = Sshds(tmp_path, stack)
        sshds.named("target", sshds.start(forced=command))
        host = stack.enter_context(reached(sshds.home, "target", client))
        with pytest.raises(TargetError) as caught:
            host.run(("cat", "/etc/hostname"))
        assert "the host did not run `cat` (1 argument) but something else" in caught.value.message
        assert said in caught.value.message
