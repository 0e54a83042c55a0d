"""specdoctor bench: measure a server, or two in turns, without investigating anything."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.bench_progress import BlockProgress
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    ApprovalNeeded,
    PolicyError,
    UsageError,
)

if TYPE_CHECKING:
    from specdoctor.app.benching import BenchSettings, Block, Duel, LoadResult, Side

WATCH_S = 2.0
MOST_ARM_BLOCKS = 12


def bench(
    target: opt.Target = None,
    allow: opt.Allow = None,
    concurrency: Annotated[
        str, typer.Option("--concurrency", metavar="N,...", help="Clients at once; several are measured in turns.")
    ] = "1",
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="R,...", help="Instead: requests per second that come in at random.", show_default=False
        ),
    ] = None,
    blocks: Annotated[
        int, typer.Option("--blocks", metavar="N", help="Blocks of each load; from 2 on a first one is dropped.", min=1)
    ] = 1,
    requests: Annotated[int, typer.Option("--requests", metavar="N", help="Requests of a block.", min=1)] = 12,
    max_new_tokens: Annotated[int, typer.Option("--max-new-tokens", metavar="N", help="Longest answer.", min=2)] = 160,
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
    with_traffic: opt.WithTraffic = False,
    server_port: opt.ServerPort = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    interpreter: opt.Interpreter = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Measure a server, or two in turns; nothing is restarted and nothing is stored.

    Loads the server from its own host, so --allow load is needed. Warms up until it is warm, then measures. With
    --against two servers take turns (A B B A) until the answer is clear. The document of --json can be compared with
    another (specdoctor compare).

    Exit code: 0 measured, 3 no answer which one is faster, 4 load was not allowed, 5 nothing could be measured.

    \b
    Examples:
      specdoctor bench ssh://gpu-7 --allow load
      specdoctor bench eagle-a --allow load --concurrency 1,8,32 --blocks 4
      specdoctor bench eagle-a --allow load --rate 2 --requests 60
      specdoctor bench gpu-7 --allow load --against gpu-8
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
        "logs": (),
        "accept_new": accept_new_host_key,
        "ssh_config": ssh_config,
        "ssh_transport": ssh,
        "via": None,
        "sudo": False,
        "interpreter": interpreter,
    }
    if allow not in ("load", "restart"):
        count = sum(max(requests, 2 * load.concurrency) for load in settings.loads) * (blocks + (blocks > 1))
        raise ApprovalNeeded(
            f"about {count} requests of up to {max_new_tokens} tokens would be sent, which load the server",
            next_step="allow it with --allow load",
        )
    with ExitStack() as stack:
        sides = [_side(stack, target, targets, server_port, common)]
        if against is not None or against_port is not None:
            sides.append(_side(stack, against or target, targets, against_port, common))
        _refuse_traffic(sides, with_traffic)
        if len(sides) == 2:
            _two(sides[0], sides[1], settings, as_json=json)
        else:
            _one(sides[0], settings, as_json=json)


def _settings(*, concurrency: str, rate: str | None, temperature: str, **rest: Any) -> BenchSettings:
    from specdoctor.app.benching import BenchSettings, Load

    heats = _numbers("--temperature", temperature, least=0.0)
    if rate is not None:
        loads = [Load(rate_per_s=r, temperature=t) for t in heats for r in _numbers("--rate", rate, least=1e-3)]
    else:
        clients = _numbers("--concurrency", concurrency, least=1.0)
        if any(n != int(n) for n in clients):
            raise UsageError(f"--concurrency {concurrency}: whole numbers are meant", next_step="write 1,8,32")
        loads = [Load(concurrency=int(n), temperature=t) for t in heats for n in clients]
    return BenchSettings(loads=tuple(dict.fromkeys(loads)), **rest)


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
    return Side(seen.operations, scene, f"{label}:{scene.view.ref.port}" if port and scene.view.ref else label)


def _refuse_traffic(sides: list[Side], with_traffic: bool) -> None:
    for side in sides if not with_traffic else []:
        foreign = side.foreign_requests(WATCH_S)
        if foreign:
            raise PolicyError(
                f"{side.label}: {foreign} requests of others were seen on this server",
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
    from specdoctor.render.bench import block_document, figure

    return {
        **result.load.model_dump(mode="json"),
        "throughput": figure(result.throughput),
        "states": result.states,
        "blocks": [_block_document(block, block_document) for block in result.blocks],
    }


def _block_document(block: Block, document: Any) -> Any:
    return document(block.load.model_dump(mode="json"), block.measurement, block.figures.model_dump(mode="json"))


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


def _two(first: Side, second: Side, settings: BenchSettings, *, as_json: bool) -> None:
    from specdoctor.app.benching import duel

    most = max(3, min(settings.blocks if settings.blocks > 1 else 8, MOST_ARM_BLOCKS))
    told = BlockProgress()
    try:
        duels = [
            duel((first, second), settings, load, most=most, on_block=told.block, on_progress=told.step)
            for load in settings.loads
        ]
    finally:
        told.end()
    if as_json:
        rows = [_duel_document(found) for found in duels]
        targets = [first.label, second.label]
        print_json({"schema": "specdoctor.bench-against/1", "targets": targets, "loads": rows})
    else:
        print_text("\n\n".join(_duel_text(found, first.label, second.label) for found in duels))
    open_ends = [found for found in duels if found.look is None or found.look.verdict == "inconclusive"]
    raise typer.Exit(EXIT_INCONCLUSIVE if open_ends else EXIT_OK)


def _duel_document(found: Duel) -> dict[str, Any]:
    from specdoctor.render.bench import block_document, figure

    look = found.look
    power = look.power() if look else None
    return {
        **found.load.model_dump(mode="json"),
        "verdict": look.verdict if look else "inconclusive",
        "ratio": figure(look.ratio) if look else None,
        "power": power.text() if power else None,
        "flags": list(found.flags),
        "first": [_block_document(block, block_document) for block in found.first],
        "second": [_block_document(block, block_document) for block in found.second],
    }


def _duel_text(found: Duel, first: str, second: str) -> str:
    from specdoctor.render.bench import text_of

    rows = []
    for label, blocks in ((first, found.first), (second, found.second)):
        speeds = [f"{b.measurement.throughput.value:.4g}" for b in blocks if b.measurement.throughput is not None]
        rows.append((f"  {label}", f"{', '.join(speeds)} tok/s in {len(speeds)} blocks"))
    if found.look is not None:
        ratio = found.look.ratio
        rows.append(("  ratio", f"{ratio} second over first ({ratio.estimator}): the second is {found.look.verdict}"))
        power = found.look.power()
        rows += [("  could see", power.text())] if power else []
    rows += [("  note", flag) for flag in found.flags]
    return text_of(f"{found.load.label}: {second} against {first}", rows, width=width())
