"""specdoctor bench --against: two servers in turns, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from specdoctor.cli.bench_progress import BlockProgress
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK

if TYPE_CHECKING:
    from specdoctor.app.benching import BenchSettings, Block, Duel, Side
    from specdoctor.core.server import ServerView

MOST_ARM_BLOCKS = 12


def of_block(block: Block) -> Any:
    """A block as an entry of a document."""
    from specdoctor.render.bench import block_document

    return block_document(block.load.model_dump(mode="json"), block.measurement, block.figures.model_dump(mode="json"))


def two_servers(first: Side, second: Side, settings: BenchSettings, *, as_json: bool) -> None:
    """Block by block until it is clear which is faster. Always raises typer.Exit."""
    from specdoctor.app.benching import duel

    most = max(3, min(settings.blocks if settings.blocks > 1 else 8, MOST_ARM_BLOCKS))
    told = BlockProgress()
    models = model_of(first.scene.view), model_of(second.scene.view)
    try:
        duels = [
            duel((first, second), settings, load, most=most, on_block=told.block, on_progress=told.step)
            for load in settings.loads
        ]
    finally:
        told.end()
    if as_json:
        rows = [{**_duel_document(found), "models": list(models)} for found in duels]
        targets = [first.label, second.label]
        print_json({"schema": "specdoctor.bench-against/1", "targets": targets, "loads": rows})
    else:
        print_text("\n\n".join(_duel_text(found, first.label, second.label, models) for found in duels))
    open_ends = [found for found in duels if found.look is None or found.look.verdict == "inconclusive"]
    raise typer.Exit(EXIT_INCONCLUSIVE if open_ends else EXIT_OK)


def _duel_document(found: Duel) -> dict[str, Any]:
    from specdoctor.render.bench import figure

    look = found.look
    power = look.power() if look else None
    return {
        **found.load.model_dump(mode="json"),
        "verdict": look.verdict if look else "inconclusive",
        "ratio": figure(look.ratio) if look else None,
        "power": power.text() if power else None,
        "flags": list(found.flags),
        "first": [of_block(block) for block in found.first],
        "second": [of_block(block) for block in found.second],
    }


def model_of(view: ServerView) -> str:
    """The model that a server runs, by its path, else by the name that it serves it under."""
    return view.model_path or view.served_model or ""


def other_models(models: tuple[str, str]) -> str:
    """What to say where two servers run different models; empty where they do not, or where one is not known."""
    if not all(models) or models[0].rstrip("/") == models[1].rstrip("/"):
        return ""
    return (
        f"they run different models ({models[0]}; {models[1]}): the ratio is of model and launch together; compare "
        "servers of one model to compare launches"
    )


def _duel_text(found: Duel, first: str, second: str, models: tuple[str, str]) -> str:
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
    rows += [("  note", note) for note in (other_models(models), *found.flags) if note]
    return text_of(f"{found.load.label}: {second} against {first}", rows, width=width())
