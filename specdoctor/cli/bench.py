"""specdoctor bench: measure a server, or two in turns, without investigating anything."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.bench_duel import of_block, two_servers
from specdoctor.cli.bench_progress import BlockProgress
from specdoctor.cli.bench_surface import measured_surface, requests_of
from specdoctor.cli.bench_turns import measured_in_turns, turns_of
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    ApprovalNeeded,
    PolicyError,
    UsageError,
)
from specdoctor.core.reach import spoken

if TYPE_CHECKING:
    from specdoctor.app.benching import BenchSettings, Block, LoadResult, Side

WATCH_S = 2.0


def bench(
    target: opt.Target = None,
    allow: opt.Allow = None,
    concurrency: Annotated[
        str | None,
        typer.Option(
            "--concurrency",
            metavar="N,...",
            help="Clients at once, one by default; several are measured in turns.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="R,...", help="Instead: requests per second that come in at random.", show_default=False
        ),
    ] = None,
    blocks: Annotated[
        int,
        typer.Option(
            "--blocks", metavar="N", help="Blocks of each load; from 2 on a first one is dropped.", min=1, max=1000
        ),
    ] = 1,
    requests: Annotated[
        int, typer.Option("--requests", metavar="N", help="Requests of a block.", min=1, max=100_000)
    ] = 12,
    max_new_tokens: Annotated[
        int, typer.Option("--max-new-tokens", metavar="N", help="Longest answer.", min=2, max=1 << 20)
    ] = 160,
    fixed_length: Annotated[
        bool, typer.Option("--fixed-length", help="Let each answer be that long (ignore_eos); natural ends are better.")
    ] = False,
    temperature: Annotated[
        str,
        typer.Option("--temperature", metavar="T,...", help="Of sampling; several are measured in turns."),
    ] = "0",
    prompts: opt.Prompts = None,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="NAME", help="Only prompts of this category.", show_default=False),
    ] = None,
    form: opt.PromptForm = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="TARGET", help="Compare with this one, block by block.", show_default=False),
    ] = None,
    against_port: Annotated[
        int | None,
        typer.Option("--against-port", metavar="PORT", help="Its port, or one on the same host.", show_default=False),
    ] = None,
    against_launch: Annotated[
        str | None,
        typer.Option(
            "--against-launch",
            metavar="LAUNCH",
            help="Compare with another launch of this server, start by start, and put it back: off (no speculation), "
            "other-install (of the targets file), flags, or a whole launch line.",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        int,
        typer.Option("--starts", metavar="N", help="With --against-launch: at most so many of each.", min=1, max=12),
    ] = 3,
    surface: Annotated[
        bool,
        typer.Option(
            "--surface",
            help="Instead: accept length by temperature, early and late in the answer, and by a JSON schema against "
            "free text, for one client.",
        ),
    ] = False,
    with_traffic: opt.WithTraffic = False,
    server_port: opt.ServerPort = None,
    log: opt.Logs = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    via: opt.Via = None,
    sudo: opt.Sudo = False,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Measure a server, or two in turns; nothing is restarted and nothing is stored, but with --against-launch.

    Loads the server from its own host, so --allow load is needed. Warms up until it is warm, then measures. With
    --against two servers take turns (A B B A) until the answer is clear; --via, --sudo and --log hold for both. The
    document of --json can be compared with another (specdoctor compare).

    With --against-launch the server is restarted in turns (A B B A) with another launch line: a run that asks, guards,
    restores and resumes as `investigate` does. The unit is a start; with fewer than three of each the spread between
    starts on this host enters the interval.

    Exit code: 0 measured, 3 no answer which one is faster, 4 load was not allowed, 5 nothing could be measured.

    \b
    Examples:
      specdoctor bench ssh://gpu-7 --allow load
      specdoctor bench eagle-a --allow load --concurrency 1,8,32 --blocks 4
      specdoctor bench eagle-a --allow load --rate 2 --requests 60
      specdoctor bench eagle-a --allow load --surface --requests 24
      specdoctor bench gpu-7 --allow load --against gpu-8
      specdoctor bench gpu-7 --allow restart --against-launch off
      specdoctor bench gpu-7 --against-launch "--speculative-num-steps 5"
    """
    from specdoctor.cli.settings import checked_prompts

    settings = _settings(
        concurrency=concurrency,
        rate=rate,
        temperature=temperature,
        blocks=blocks,
        requests=requests,
        max_new_tokens=max_new_tokens,
        ignore_eos=fixed_length,
        form=form or "generate",
        prompts=checked_prompts(prompts) or "mixed",
        categories=tuple(category or ()),
    )
    common = {
        "logs": tuple(log or ()),
        "accept_new": accept_new_host_key,
        "ssh_config": ssh_config,
        "ssh_transport": ssh,
        "via": via,
        "sudo": sudo,
        "interpreter": interpreter,
    }
    if surface and (against is not None or against_port is not None or against_launch is not None or rate is not None):
        raise UsageError("--surface measures one server, one client", next_step="leave out --against... and --rate")
    if against_launch is not None:
        given = {
            "planner": "turns",
            "turns": turns_of(against_launch, starts),
            "max_restarts": 2 * starts,
            "allow": allow,
            "concurrency": _one_number(settings),
            "requests": requests,
            "max_new_tokens": max_new_tokens,
            "prompts": prompts,
            "form": form,
            "with_traffic": with_traffic,
            "server_port": server_port,
            "log": log,
            "sudo": sudo or None,
            **{k: v for k, v in common.items() if k in ("ssh_config", "ssh_transport", "via", "interpreter")},
        }
        raise typer.Exit(measured_in_turns(target, targets, given, accept_new=accept_new_host_key, as_json=json))
    if allow not in ("load", "restart"):
        count = sum(max(requests, 2 * load.concurrency) for load in settings.loads) * (blocks + (blocks > 1))
        count = requests_of(settings) if surface else count
        raise ApprovalNeeded(
            f"about {count} requests of up to {max_new_tokens} tokens would be sent, which load the server",
            next_step="allow it with --allow load",
        )
    with ExitStack() as stack:
        sides = [_side(stack, target, targets, server_port, common)]
        if against is not None or against_port is not None:
            sides.append(_side(stack, against or target, targets, against_port, common))
        _refuse_traffic(sides, with_traffic)
        if surface:
            measured_surface(sides[0], settings, as_json=json)
        elif len(sides) == 2:
            two_servers(sides[0], sides[1], settings, as_json=json)
        else:
            _one(sides[0], settings, as_json=json)


def _settings(*, concurrency: str | None, rate: str | None, temperature: str, **rest: Any) -> BenchSettings:
    from specdoctor.app.benching import BenchSettings, Load

    heats = _numbers("--temperature", temperature, least=0.0)
    if rate is not None and concurrency is not None:
        raise UsageError(
            "--rate sends requests at random times, however many are under way: --concurrency has no part in it",
            next_step="leave out one of --rate and --concurrency",
        )
    if rate is not None:
        loads = [Load(rate_per_s=r, temperature=t) for t in heats for r in _numbers("--rate", rate, least=1e-3)]
    else:
        clients = _numbers("--concurrency", concurrency or "1", least=1.0)
        if any(n != int(n) for n in clients):
            raise UsageError(f"--concurrency {concurrency}: whole numbers are meant", next_step="write 1,8,32")
        loads = [Load(concurrency=int(n), temperature=t) for t in heats for n in clients]
    return BenchSettings(loads=tuple(dict.fromkeys(loads)), **rest)


def _one_number(settings: BenchSettings) -> int:
    """The number of clients, where two launches are compared. Raises UsageError for anything else."""
    (load, *others) = settings.loads
    if others or load.rate_per_s is not None or load.temperature or settings.ignore_eos or settings.categories:
        raise UsageError(
            "--against-launch measures one number of clients, greedy, with natural ends",
            next_step="leave out --rate, --temperature, --fixed-length, --category and lists",
        )
    return load.concurrency


def _numbers(option: str, text: str, *, least: float) -> list[float]:
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or any(not least <= value < 1e6 for value in found):
        raise UsageError(
            f"{option} {text}: not a list of numbers of at least {least:g}", next_step="separate them by commas: 1,8,32"
        )
    return found


def _side(stack: ExitStack, wanted: str | None, targets: Path | None, port: int | None, common: dict[str, Any]) -> Side:
    from specdoctor.app.benching import Side
    from specdoctor.cli.looking import look

    seen = stack.enter_context(look(wanted, targets, server_port=port, **common))
    scene = seen.scene()
    label = seen.named.name or seen.target
    return Side(seen.operations, scene, f"{spoken(label)}:{scene.view.ref.port}" if port and scene.view.ref else label)


def _refuse_traffic(sides: list[Side], with_traffic: bool) -> None:
    from specdoctor.core.policy import OWN_LOAD_STEP

    for side in sides if not with_traffic else []:
        seen = side.watched(WATCH_S)
        if seen.own_loads:
            raise PolicyError(
                f"{spoken(side.label)}: loaded by specdoctor's own {seen.own_loads[0].words}",
                next_step=OWN_LOAD_STEP,
            )
        if seen.foreign_requests:
            raise PolicyError(
                f"{spoken(side.label)}: {seen.foreign_requests} requests of others were seen on this server",
                next_step="come back when it is idle, or allow it with --with-traffic",
            )


def _one(side: Side, settings: BenchSettings, *, as_json: bool) -> None:
    from specdoctor.app.benching import bench_blocks, results

    done: list[Block] = []
    interrupted = False
    told = BlockProgress()
    try:
        for block in bench_blocks(side, settings, on_block=told.block, on_progress=told.step):
            done.append(block)  # noqa: PERF402  # those that had ended count when the next one is interrupted
    except KeyboardInterrupt:
        interrupted = True
    finally:
        told.end()
    if interrupted:
        say(f"interrupted: the block that was being measured is not counted; {len(done)} had ended before")
    if done:
        found = results(done)
        document = {
            "schema": "specdoctor.bench/1",
            "target": side.label,
            "interrupted": interrupted,
            "loads": [_load_document(result) for result in found],
        }
        print_json(document) if as_json else print_text("\n\n".join(_load_text(result) for result in found))
    raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_OK)


def _load_document(result: LoadResult) -> dict[str, Any]:
    from specdoctor.render.bench import figure

    return {
        **result.load.model_dump(mode="json"),
        "throughput": figure(result.throughput),
        "states": result.states,
        "blocks": [of_block(block) for block in result.blocks],
    }


def _load_text(result: LoadResult) -> str:
    from specdoctor.render.bench import measurement_lines

    last = result.blocks[-1]
    lines = [f"{result.load.label}, {last.measurement.spec.label}: {last.measurement.requests} requests a block"]
    if len(result.blocks) > 1:
        told = result.throughput.with_unit() if result.throughput else result.states
        lines.append(f"  {len(result.blocks)} blocks: {told}; the last one:")
    return "\n".join(
        [*lines, *measurement_lines(last.measurement, last.figures.model_dump(mode="json"), width=width())]
    )
