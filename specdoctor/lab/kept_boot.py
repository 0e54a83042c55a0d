"""Starts a world's server under its keeper, as somebody once did: `docker run -d`, or a unit and `systemctl start`."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from specdoctor.lab.containers import container_id, image_id
from specdoctor.lab.errors import LabError
from specdoctor.lab.keeper import Record, change_record, start_kept
from specdoctor.lab.shims.docker_create import given_of, make_container, words_of
from specdoctor.lab.shims.systemctl import launch as start_unit
from specdoctor.lab.units import Manager
from specdoctor.lab.world_keeper import ContainerKeeper, SystemdKeeper

if TYPE_CHECKING:
    from specdoctor.lab.host import PracticeHost

UNIT = """[Unit]
Description=SGLang inference server
After=network-online.target

[Service]
Type=simple
User={user}
WorkingDirectory={cwd}
{environment}ExecStart={exec_start}
Restart={restart}
RestartSec={restart_s}
StandardOutput={output}
StandardError=inherit
{lines}
[Install]
WantedBy=multi-user.target
"""
_NEEDS_QUOTES = frozenset(" \t\"'\\;#")


def prepare_keeper(host: PracticeHost) -> None:
    """Put down what the keeper's tools know before anything runs: images, folders for units."""
    keeper = host.world.keeper
    known = {}
    if isinstance(keeper, ContainerKeeper):
        known[keeper.image] = {
            "id": image_id(keeper.image),
            "env": keeper.image_env,
            "entrypoint": list(keeper.entrypoint),
            "workdir": host.expand(host.world.launch.cwd),
        }
    (host.state_dir / "images.json").write_text(json.dumps(known), encoding="utf-8")
    (host.state_dir / "files/run/systemd/system").mkdir(parents=True, exist_ok=True)
    (host.state_dir / "etc/systemd/system").mkdir(parents=True, exist_ok=True)


def start_container(host: PracticeHost, keeper: ContainerKeeper, argv: Sequence[str]) -> Record:
    """Run the world's container."""
    facts = host.facts["keeper"]
    facts["mounts"] = [
        {**mount, "source": host.expand(mount["source"]), "target": host.expand(mount["target"])}
        for mount in facts["mounts"]
    ]
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    record = make_container(
        host.state_dir,
        keeper.kind,
        given_of(keeper.kind, words_of(facts, env=env, command=list(argv))),
        base_env=host.environment,
        workdir=host.expand(host.world.launch.cwd),
        identity=container_id(host.facts),
    )
    change_record(host.state_dir, record["name"], delay_s=keeper.start_s * host.time_scale)
    return _started(host, record["name"])


def start_service(host: PracticeHost, keeper: SystemdKeeper, argv: Sequence[str]) -> Record:
    """Write the world's unit and start it."""
    manager = Manager(host.state_dir, keeper.scope, host.home)
    folder = manager.folders[0][0]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / keeper.unit).write_text(unit_text(host, keeper, argv), encoding="utf-8")
    manager.reload()
    unit = manager.loaded(keeper.unit)
    if unit is None:
        raise LabError(f"the unit {keeper.unit} of the practice host could not be read")
    start_unit(host.state_dir, host.facts, manager, unit)
    return _age(host, manager.record_name(keeper.unit))


def unit_text(host: PracticeHost, keeper: SystemdKeeper, argv: Sequence[str]) -> str:
    """The unit file of the world's server."""
    program = shutil.which(argv[0], path=host.environment["PATH"]) or argv[0]
    pairs = [(name, host.expand(value)) for name, value in host.world.launch.env.items()]
    log = host.expand(host.world.launch.log)
    return UNIT.format(
        user=host.user,
        cwd=host.expand(host.world.launch.cwd),
        environment="".join(f"Environment={quoted(f'{name}={value}')}\n" for name, value in pairs),
        exec_start=" ".join(quoted(word) for word in [program, *argv[1:]]),
        restart=keeper.restart,
        restart_s=f"{keeper.restart_s:g}",
        output=keeper.output.replace("{log}", log),
        lines="".join(f"{host.expand(line)}\n" for line in keeper.lines),
    )


def quoted(word: str) -> str:
    """A word as a unit file needs it."""
    text = word.replace("%", "%%").replace("$", "$$")
    if text and not _NEEDS_QUOTES & set(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _started(host: PracticeHost, name: str) -> Record:
    start_kept(host.state_dir, name)
    return _age(host, name)


def _age(host: PracticeHost, name: str) -> Record:
    """Make it as old as the world says."""
    began = time.time() - host.world.server.started_s_ago
    record = change_record(host.state_dir, name, created_at=began, started_at=began)
    if record["pid"] is None:
        raise LabError(f"the keeper of the practice server did not start it: {record.get('error', '')}")
    return record
