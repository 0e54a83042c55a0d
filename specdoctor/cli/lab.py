"""specdoctor lab: a practice host on this machine, reached over real SSH."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.failures import Listed
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import whole_path

if TYPE_CHECKING:
    from specdoctor.lab.boot import Booted
    from specdoctor.lab.host import PracticeHost
    from specdoctor.lab.world import World

app = typer.Typer(
    cls=Listed,
    help="Practise on a host that specdoctor starts itself.\n\nIt is a real SSH server on loopback; no GPU is needed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

WORLD_HELP = "A world by name (`specdoctor lab list`), or the path of a world file."


@app.command("up")
def up(
    world: Annotated[str, typer.Argument(metavar="WORLD", help=WORLD_HELP, autocompletion=completing.worlds)],
    port: Annotated[
        int, typer.Option("--port", help="SSH port on loopback; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            metavar="DIR",
            help="Put the host's files here: a new or empty folder, or one of --keep; without --keep they go again.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the host's files behind when it stops.")] = False,
) -> None:
    """Start a practice host and keep it up until Ctrl-C.

    \b
    Examples:
      specdoctor lab up kimi-k2.5-eagle3
      specdoctor lab up my-world.yaml --port 2222
    """
    opened = _opened(world)
    standing, stop = threading.Event(), threading.Event()

    def on_signal(*_: object) -> None:
        if not standing.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    with practice_host(opened, state_dir=state_dir, port=port, keep=keep) as (host, booted):
        standing.set()
        print_text(instructions(opened, host, booted))
        stop.wait()
        say("stopping the practice host")


@app.command("list")
def list_worlds(json: opt.Json = False) -> None:
    """List the worlds that come with specdoctor.

    \b
    Examples:
      specdoctor lab list
    """
    from specdoctor.lab import list_worlds as names
    from specdoctor.lab import open_world
    from specdoctor.render.layout import columns

    worlds = [open_world(name) for name in names()]
    if json:
        rows = [{"name": w.name, "title": w.title, "engine": f"{w.engine.name} {w.engine.version}"} for w in worlds]
        print_json({"schema": "specdoctor.worlds/1", "worlds": rows})
    else:
        cells = [(w.name, f"{w.engine.name} {w.engine.version}", w.title) for w in worlds]
        print_text(columns(("WORLD", "ENGINE", "ABOUT"), cells, width=width()))


@app.command("random")
def random_world(
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same world.", min=0)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write it here instead of printing it.", show_default=False),
    ] = None,
) -> None:
    """Print a world drawn at random: costs and acceptance from documented ranges, sound wiring.

    On some of them speculation never pays, on others a short chain, a long one or a tree is best.

    \b
    Examples:
      specdoctor lab random --seed 7 --out random-7.yaml
      specdoctor lab up random-7.yaml
    """
    from specdoctor.lab.random_world import random_yaml

    text = random_yaml(seed)
    if out is None:
        print_text(text.rstrip("\n"))
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as failure:
        raise UsageError(f"{out}: there is such a file already", next_step="give another name") from failure
    except OSError as failure:
        raise UsageError(f"{out}: {failure.strerror}", next_step="name a file that can be written") from failure
    say(f"wrote {out}; start it with:  specdoctor lab up {out}")


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of world files.

    \b
    Examples:
      specdoctor lab schema > world.schema.json
    """
    from specdoctor.lab import schema as world_schema

    print_json(world_schema())


def _opened(name_or_path: str) -> World:
    from specdoctor.lab import open_world

    return open_world(name_or_path)


@contextmanager
def practice_host(
    world: World, *, state_dir: Path | None = None, port: int = 0, keep: bool = False
) -> Iterator[tuple[PracticeHost, Booted]]:
    """A practice host with its server in the state the world begins with; ended and removed afterwards."""
    from specdoctor.lab.boot import boot
    from specdoctor.lab.host import PracticeHost

    say(f"practice host {world.host.name}: {world.title or world.name}")
    try:
        place = whole_path(state_dir) if state_dir else Path(tempfile.mkdtemp(prefix="specdoctor-lab-"))
        host = PracticeHost(world, state_dir=place, port=port, keep=keep).start()
    except OSError as error:
        raise UsageError(
            f"the practice host cannot be started: {error}",
            next_step="name a folder that can be written with --state-dir, and a free --port",
        ) from error
    try:
        say(f"  SSH on 127.0.0.1:{host.port}; starting its {world.engine.name} {world.engine.version}")
        yield host, boot(host)
    finally:
        host.stop()
        if state_dir is None and not keep:
            with suppress(OSError):  # made above, and empty now
                place.rmdir()


def address(host: PracticeHost) -> str:
    """The target as a user would write it."""
    from specdoctor.lab.host import ALIAS

    return f"ssh://{ALIAS}"


def instructions(world: World, host: PracticeHost, booted: Booted) -> str:
    """What to type in another shell."""
    config = shlex.quote(str(host.ssh_config))
    program = "specdoctor" if Path(sys.argv[0]).name == "specdoctor" else shlex.quote(sys.argv[0])
    investigate = shlex.join(["--symptom", world.ask.symptom, *world.ask.flags])
    state = f"running, pid {booted.pid}, port {booted.port}" if booted.pid else "down"
    alias = address(host).removeprefix("ssh://")
    return "\n".join(
        [
            f"practice host {world.host.name} is up ({world.name}); its server is {state}",
            "",
            f"  look around   ssh -F {config} {alias}",
            f"  copy files    sftp -F {config} {alias}",
            f"  target        {address(host)} with --ssh-config {config}",
            f"                ssh://{host.user}@127.0.0.1:{host.port}, key {host.client_key_path}",
            f"  log           {booted.log}",
            f"  investigate   {program} investigate {address(host)} --ssh-config {config} {investigate}",
            "",
            "Ctrl-C stops it.",
        ]
    )
