"""specdoctor bench --against-launch: two launches of one server in turns, as a run with guard and way back."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import EXIT_APPROVAL, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED, EXIT_OK, EXIT_OUTSIDE, UsageError

if TYPE_CHECKING:
    from specdoctor.analysis.turns import TurnsOutcome
    from specdoctor.core.ledger import Ledger
    from specdoctor.core.turns import Turns

_CUT_SHORT = (EXIT_APPROVAL, EXIT_OUTSIDE, EXIT_INTERRUPTED)
_HOW = (
    'write off, other-install, flags such as "--speculative-num-steps 5 --disable-cuda-graph", or a whole launch line '
    "(its program first, without variables or a container before it)"
)
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")


def turns_of(text: str, starts: int) -> Turns:
    """The other launch as it was asked for. Raises UsageError."""
    from specdoctor.core.launch import STAYS, launch_flags, opens_flag, program_end
    from specdoctor.core.turns import Turns

    if text in ("off", "other-install"):
        return Turns(off=text == "off", other_install=text == "other-install", starts=starts)
    try:
        words = tuple(shlex.split(text.replace("\\\n", " ")))
    except ValueError as error:
        raise UsageError(f"--against-launch {text!r}: {error}", next_step=_HOW) from error
    if not words:
        raise UsageError(f"--against-launch {text!r} names no launch", next_step=_HOW)
    flags = launch_flags(words)
    if not flags or any(_FLAG.fullmatch(flag) is None for flag in flags):
        raise UsageError(f"--against-launch {text!r} has no flag, or a word of dashes that is none", next_step=_HOW)
    if opens_flag(words[0]):
        return Turns(set_flags=flags, starts=starts)
    words = _server_line(text)
    if not words:
        raise UsageError(f"--against-launch {text!r} begins with a word that starts no known server", next_step=_HOW)
    kept = (part for flag, values in launch_flags(words).items() if flag not in STAYS for part in (flag, *values))
    first = next(place for place in range(program_end(words), len(words)) if opens_flag(words[place]))
    return Turns(line=(*words[:first], *kept), starts=starts)


def _server_line(text: str) -> tuple[str, ...]:
    """The words of a launch line that an engine knows as its own; empty where a shell or a container is around it."""
    from specdoctor.assembly.catalogue import all_engines
    from specdoctor.core.launch_text import commands_in

    commands = commands_in(text)
    plain = len(commands) == 1 and commands[0].carrier == "shell" and not commands[0].env
    known = plain and any(engine.view_from_files({"launch": text}) is not None for engine in all_engines())
    return commands[0].words if known else ()


def measured_in_turns(
    wanted: str | None, targets_file: Path | None, given: dict[str, Any], *, accept_new: bool, as_json: bool
) -> int:
    """Carry the run out and tell where the comparison ended; the exit code."""
    from specdoctor.analysis.turns import turns_outcome
    from specdoctor.assembly.stores import close_store, open_store
    from specdoctor.cli.investigate import operations_for, point_at, to_its_end
    from specdoctor.cli.settings import settings_of
    from specdoctor.cli.targets import resolve
    from specdoctor.core.ledger import fold

    target = resolve(wanted, targets_file)
    settings = settings_of(target, given)
    say(f"specdoctor: logging in to {target.transport}")
    if settings.turns is not None and settings.turns.other_install and settings.other_install is None:
        raise UsageError("the targets file names no other_install of this target", next_step="see docs/targets.md")
    operations = operations_for(target.transport, settings, accept_new=accept_new)
    store = open_store()
    try:
        code, run_id = to_its_end(store, operations, settings)
        ledger = fold(store.events(run_id))
        if ledger.relaunches:
            found = turns_outcome(ledger, ledger.relaunches[0].change)
            print_json(_document(ledger, found)) if as_json else print_text(_text(ledger, found))
        else:
            found = None
            say(f"nothing was compared: {_why(ledger)}")
        point_at(store, ledger)
    finally:
        operations.close()
        close_store(store)
    if code in _CUT_SHORT:
        return code
    return EXIT_OK if found is not None and found.verdict != "inconclusive" else EXIT_INCONCLUSIVE


def _why(ledger: Ledger) -> str:
    refused = [r.why for r in ledger.standing_refusals]
    return refused[-1] if refused else ledger.ended.reason if ledger.ended is not None else "the run has not ended"


def _document(ledger: Ledger, found: TurnsOutcome) -> dict[str, Any]:
    from specdoctor.render.bench import figure

    arms = {
        name: [{"launch": m.launch, "throughput": figure(m.throughput), "evidence": m.evidence} for m in arm]
        for name, arm in (("first", found.first), ("second", found.second))
    }
    return {
        "schema": "specdoctor.bench-turns/1",
        "run": ledger.run,
        "concurrency": ledger.settings.concurrency,
        "verdict": found.verdict,
        "ratio": figure(found.ratio),
        "power": found.power,
        "spread": found.spread or None,
        "starts_needed": found.starts_needed,
        "next": found.next_step or None,
        "restored": ledger.restored,
        **arms,
    }


def _text(ledger: Ledger, found: TurnsOutcome) -> str:
    from specdoctor.render.bench import text_of

    second = ledger.relaunches[0].change.label
    rows = []
    for name, label, arm in (("first", "as found", found.first), ("second", second, found.second)):
        speeds = ", ".join(f"{m.throughput.value:.4g}" for m in arm if m.throughput is not None)
        rows.append(
            (f"  {name}", f"{label}: {speeds} tok/s in {len(arm)} starts" if speeds else f"{label}: not measured")
        )
    if found.ratio is not None:
        told = f"{found.ratio} second over first ({found.ratio.estimator}): the second is {found.verdict}"
        rows.append(("  ratio", told))
    rows += [("  could see", found.power)] if found.power else []
    rows += [("  spread", found.spread)] if found.spread else []
    rows += [("  next", found.next_step)] if found.next_step else []
    return text_of(f"concurrency {ledger.settings.concurrency}: {second} against as found", rows, width=width())
