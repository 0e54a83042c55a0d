"""specdoctor demo: an investigation from nothing, on a practice host that this command starts itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.lab import WORLD_HELP
from specdoctor.cli.output import say
from specdoctor.core.errors import EXIT_APPROVAL, EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK

if TYPE_CHECKING:
    from specdoctor.lab.world import World

DEFAULT_WORLD = "kimi-k2.5-eagle3"
TARGETS = "specdoctor.toml"


def demo(
    context: typer.Context,
    world: Annotated[
        str,
        typer.Option(
            "--world",
            metavar="NAME|FILE",
            help=WORLD_HELP,
            autocompletion=completing.worlds,
        ),
    ] = DEFAULT_WORLD,
    planner: opt.Planner = None,
    model: opt.Model = None,
    max_tokens: opt.MaxTokens = None,
    max_cost: opt.MaxCost = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the practice host's files behind.")] = False,
    json: opt.Json = False,
) -> None:
    """Watch an investigation on a practice host; needs no GPU.

    Starts a practice host, then does what `specdoctor investigate` would do there, with the symptom and the options
    that its user would type. Nothing but the practice host is touched.

    Exit code: 0 when the investigation came to its end and the server is as it was, whatever the verdict.

    \b
    Examples:
      specdoctor demo
      specdoctor demo --world healthy
      specdoctor demo --planner auto --model qwen3-32b
      specdoctor demo --json 2> progress.txt
    """
    from specdoctor.cli.asking import named_model, said_of
    from specdoctor.cli.lab import address, practice_host
    from specdoctor.lab import open_world

    given = {"planner": planner, "model": model, "max_tokens": max_tokens, "max_cost": max_cost}
    asking = named_model(given, None)
    if asking:
        say(said_of(asking))
    opened = open_world(world)
    with practice_host(opened, keep=keep) as (host, booted):
        words = ["--symptom", opened.ask.symptom, *_flags(opened)]
        say(f"  told: {opened.ask.symptom}")
        words += ["--ssh-config", str(host.ssh_config), *(["--json"] if json else [])]
        if booted.port and not any(w.startswith("--server-port") for w in words):
            say(f"  its server is {'on port ' + str(booted.port) if booted.pid else 'down'}")
        named = host.state_dir / TARGETS
        if opened.ask.other_install:
            named.write_text(_targets_file(address(host), opened, host.expand), encoding="utf-8")
            words += ["--targets", str(named)]
        place = opened.host.name if named.exists() else address(host)
        code = _investigated(context, [place, *words], asking)
        if keep:
            say(f"kept: {host.state_dir}")
    raise typer.Exit(code)


def _targets_file(transport: str, world: World, expand: Callable[[str], str]) -> str:
    """The targets file of this world's user, who has a second installation of the engine."""
    import json

    lines = [f"[targets.{world.host.name}]", f"transport = {json.dumps(transport)}"]
    lines += [f"[targets.{world.host.name}.other_install]"]
    lines += [f"{key} = {json.dumps(expand(value))}" for key, value in world.ask.other_install.items()]
    return "\n".join(lines) + "\n"


def _flags(world: World) -> list[str]:
    """What the user of this world types; the first world may restart its server without asking."""
    flags = list(world.ask.flags)
    if world.name == DEFAULT_WORLD and "--allow" not in flags:
        flags += ["--allow", "restart"]
    return flags


def _investigated(context: typer.Context, words: list[str], asking: dict[str, Any]) -> int:
    """Parse `words` as `specdoctor investigate` does, run it, and judge the demo by how it ended."""
    from specdoctor.cli.investigate import started

    root = context.find_root()
    command = root.command.get_command(root, "investigate")  # type: ignore[attr-defined]  # the root is a group
    given: dict[str, Any] = dict(command.make_context("investigate", words, parent=root).params)
    code, run_id = started(
        given.pop("target"),
        given.pop("targets"),
        given=given | asking,
        accept_new=given.pop("accept_new_host_key"),
        as_json=given.pop("json"),
    )
    return _outcome(code, run_id)


def _outcome(code: int, run_id: str) -> int:
    """0 when there is a verdict and the server is as it was."""
    if code in (EXIT_APPROVAL, EXIT_INTERRUPTED, EXIT_BUG):
        return code
    from specdoctor.assembly.stores import close_store, open_store
    from specdoctor.core.ledger import fold

    store = open_store()
    try:
        ledger = fold(store.events(run_id))
    finally:
        close_store(store)
    return EXIT_OK if ledger.verdict is not None and ledger.restored is not False else code
