"""The question before load or a restart: what happens, how long, the way back, what is known without it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from specdoctor.app.launching import last_start_s
from specdoctor.app.run import Run
from specdoctor.core.copy_line import making
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import DECIDED, Risk
from specdoctor.core.moves import Bench, Move, Relaunch, risk_of
from specdoctor.core.ports import Batch
from specdoctor.core.server import Keeper
from specdoctor.keepers.lines import container_lines
from specdoctor.keepers.table import how_restarted


def batch_of(run: Run, moves: Sequence[Move]) -> Batch:
    """One question for all moves of this round that need a yes."""
    risk = max((risk_of(m) for m in moves), default=Risk.READ)
    tested = tuple(dict.fromkeys(h for m in moves for h in getattr(m, "hypotheses", ())))
    lines = _load_lines(run, moves) if risk is Risk.LOAD else _restart_lines(run, moves)
    return Batch(
        id=run.ledger.next_id("B"),
        risk=risk,
        hypotheses=tested,
        text="\n".join(lines),
        commands=tuple(command for m in moves for command in commands(run, m)),
    )


def commands(run: Run, move: Move) -> tuple[str, ...]:
    """The exact commands a move comes to, secrets masked; what `--dry-run` prints."""
    server = run.ledger.current_server
    pid = server.pid if server else "?"
    match move:
        case Relaunch():
            if run.scene is not None and run.engine is not None:
                made = container_lines(run.scene, run.engine, move.change)
                if made:
                    return (f"{made[0]}   # under a name and labels of the run", f"{made[1]}   # the way back")
            stop = shlex.join(_keeper(run).through.stop_words) or f"kill -TERM {pid}"
            return (
                f"{stop}   # and wait for port and GPU memory",
                *((making(move.change.copies),) if move.change.copies is not None else ()),
                f"{changed_line(run, move.change)}   # same directory, environment, limits, affinity; own log",
            )
        case Bench():
            settings = run.ledger.settings
            port = server.port if server else "?"
            size = f"{settings.requests} requests of at most {settings.max_new_tokens} tokens"
            return (f"POST /generate on port {port}: {size}, {move.concurrency} at once, temperature 0",)
        case _:
            return ()


def without_remark(command: str) -> str:
    """The part of a command that a shell would be given."""
    return command.partition("   # ")[0]


def _keeper(run: Run) -> Keeper:
    return run.scene.view.keeper if run.scene is not None else Keeper(kind="unknown")


def changed_line(run: Run, change: LaunchChange) -> str:
    """The launch line with a change applied, as it will be started."""
    if run.scene is None or run.engine is None:
        return "?"
    return run.engine.paste_line(run.scene.view, change)


def _difference(change: LaunchChange) -> str:
    parts = [" ".join((flag, *values)) for flag, values in sorted(change.set_flags.items())]
    parts += [f"without {', '.join(sorted(change.remove_flags))}"] if change.remove_flags else []
    parts += [f"{new} instead of {old}" for old, new in sorted(change.words.items())]
    parts += [f"{name}={value}" for name, value in sorted(change.set_env.items())]
    parts += [f"without {name}" for name in sorted(change.remove_env)]
    parts += [f"in a container of {change.image}"] if change.image is not None else []
    parts += [f"after making {change.copies.words}"] if change.copies is not None else []
    return ", ".join(parts) or "no change"


def _load_lines(run: Run, moves: Sequence[Move]) -> list[str]:
    lines = [f"A benchmark adds load to the server on {run.operations.target}.", ""]
    lines += [f"  load      {c}" for m in moves for c in commands(run, m)]
    lines += [f"  traffic   {_traffic(run)}", *_known(run)]
    return lines


def _restart_lines(run: Run, moves: Sequence[Move]) -> list[str]:
    ledger, server = run.ledger, run.ledger.current_server
    tested = list(dict.fromkeys(h for m in moves for h in getattr(m, "hypotheses", ())))
    lines = [f"{', '.join(tested) or 'This'} needs a restart of the server on {run.operations.target}.", ""]
    # What a yes does stands last, so that it is in sight above the prompt of a small terminal.
    lines += [f"  traffic   {_traffic(run)}", *_known(run), ""]
    lines += [f"  {h.ljust(8)}  {ledger.hypotheses[h].claim}" for h in tested if h in ledger.hypotheses]
    if server is not None:
        lines.append(f"  stop      pid {server.pid}, port {server.port} (proved: start time, arguments, port)")
    lines += [f"  start     the same command, {_difference(m.change)}" for m in moves if isinstance(m, Relaunch)]
    keeper = _keeper(run)
    if keeper.through.kind != "plain":
        lines.append(f"  through   {keeper.through.kind} ({keeper.detail}): {how_restarted(keeper)}")
    lines += [f"  note      {remark}" for remark in keeper.remarks]
    lines += [
        f"  down      {_downtime(run, moves)}",
        f"  budget    {ledger.restarts} of {ledger.settings.max_restarts} restarts used; one is kept for putting back",
        f"  way back  {_way_back(run)}",
    ]
    return lines


def _way_back(run: Run) -> str:
    where = f"recorded there first (specdoctor/{run.id}/way_back.json in this login's state folder)"
    return f"{where}; a guard restores it after {_span(run.ledger.settings.grace_s)} of silence"


def _downtime(run: Run, moves: Sequence[Move]) -> str:
    """Starts that a yes leads to, the one that puts the original back included, and what they take together."""
    tests = sum(isinstance(m, Relaunch) for m in moves)
    starts = f"{tests + 1} restarts: {'this one' if tests == 1 else f'these {tests}'} and the one that puts it back"
    each_s = last_start_s(run)
    total = f"; about {_span((tests + 1) * each_s)} in all" if each_s else ""
    return f"{starts}, {expected_start(run)} each{total}"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min".replace(".0 min", " min")


def expected_start(run: Run) -> str:
    """How long a start takes here: by the last one made, else by the server's own log."""
    made = [r.outcome.start_s for r in run.ledger.relaunches if r.outcome.status == "ready"]
    if made:
        return f"about {_span(made[-1])} (its last start here)"
    log = run.scene.view.log if run.scene else None
    if log is not None and log.start.total_s:
        return f"about {_span(log.start.total_s)} (its last start, from its log)"
    return "an unknown time (its log shows no whole start)"


def _traffic(run: Run) -> str:
    """What the last look at the users' requests showed, and how old it is."""
    looks = [e for e in run.ledger.evidence.values() if e.source == "watch"]
    if not looks:
        return "nobody has looked"
    seen, age_s = run.situation.foreign_requests, max(run.clock.now() - looks[-1].at, 0.0)
    when = f"{_span(age_s)} ago" if age_s >= 1 else "just now"
    if run.situation.own_load:
        return f"loaded by specdoctor's own {run.situation.own_load} ({when})"
    if seen is None:
        return f"nobody can tell whether others use it (looked {when})"
    return f"{'no request' if seen == 0 else f'{seen} requests'} of others seen ({when})"


def _known(run: Run) -> list[str]:
    """The answer so far without a restart: what was decided, and what arithmetic says."""
    decided = [
        f"{h.id} {h.status.value}: {h.claim}"
        for h in run.ledger.hypotheses.values()
        if h.status in DECIDED and h.about == "symptom"
    ]
    said = [*decided[-3:], *(b.text for b in run.ledger.bounds[-1:])] or ["nothing that decides it"]
    return [f"{label:<12}{text}" for label, text in zip(["  so far", *[""] * len(said)], said, strict=False)]
