"""Looking at a server once: log in, one snapshot, the server in it. Nothing is stored and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.cli.output import on_terminal, say

if TYPE_CHECKING:
    from specdoctor.cli.targets import Target
    from specdoctor.core.facts import Facts
    from specdoctor.core.operations import Operations
    from specdoctor.core.ports import Scene
    from specdoctor.core.reach import SshTransport


@dataclass(frozen=True)
class Look:
    """What one snapshot showed."""

    named: Target
    operations: Operations
    facts: Facts

    @property
    def target(self) -> str:
        return self.operations.target

    def scene(self) -> Scene:
        """The server under study. Raises TargetError when there is none, or several and no port chooses."""
        from specdoctor.assembly.judging import scene_of

        return scene_of(self.facts, target=self.target, port=self.named.server_port, engine=self.named.engine)


@contextmanager
def look(
    wanted: str | None,
    targets_file: Path | None,
    *,
    server_port: int | None,
    logs: Sequence[str],
    accept_new: bool,
    ssh_config: Path | None,
    ssh_transport: SshTransport | None,
    via: str | None,
    sudo: bool,
    interpreter: str | None,
) -> Iterator[Look]:
    """Log in and take one snapshot; the connection stays open inside."""
    from specdoctor.assembly.connections import connect_operations
    from specdoctor.cli.passphrase import ask_passphrase
    from specdoctor.cli.targets import resolve
    from specdoctor.core.operations import SnapshotRequest

    target = resolve(wanted, targets_file)
    over = {
        "server_port": server_port,
        "interpreter": interpreter,
        "ssh_config": str(ssh_config) if ssh_config else None,
        "ssh_transport": ssh_transport,
        "via": via,
        "sudo": sudo or None,
    }
    target = target.model_copy(update={k: v for k, v in over.items() if v is not None})
    say(f"specdoctor: logging in to {target.transport}")
    operations = connect_operations(
        target.transport,
        ssh_config=Path(target.ssh_config) if target.ssh_config else None,
        ssh_transport=target.ssh_transport or "auto",
        via=target.via,
        sudo=bool(target.sudo),
        accept_new=accept_new,
        interpreter=target.interpreter,
        ask_passphrase=ask_passphrase if on_terminal() else None,
        on_notice=say,
    )
    try:
        request = SnapshotRequest(
            ports=(target.server_port,) if target.server_port else (),
            logs=(*target.logs, *logs),
            files=target.config_files,
        )
        yield Look(named=target, operations=operations, facts=operations.snapshot(request))
    finally:
        operations.close()
