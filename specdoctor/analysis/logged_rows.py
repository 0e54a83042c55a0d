"""Servers as rows of a table: how each was started, and what its log measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specdoctor.analysis.measured_rows import Arm, paired
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, ServerView, Source

_NOT_SWITCHES = frozenset(
    {
        "port", "host", "served_model_name", "model_tag", "log_level", "api_key", "block_size", "nccl_port",
        "dist_init_addr", "model", "model_path", "speculative_config", "node_rank", "nnodes", "base_gpu_id",
        "random_seed", "seed", "uvicorn_log_level",
    }
)  # fmt: skip


def logged_row(view: ServerView) -> Row | None:
    """A server's steady figures at the batch it ran most of the time; None without lines that measure."""
    windows = _steady(view)
    if not windows or view.log is None:
        return None
    usual = Counter(w.running for w in windows).most_common(1)[0][0]
    kept = [w for w in windows if w.running == usual]
    lengths = [w.accept_length for w in kept if w.accept_length is not None]
    spec = view.spec or view.asked_spec
    speeds = sorted(w.throughput_tok_s for w in kept)
    return Row(
        source=Source(where=view.log.where, line=kept[len(kept) // 2].line),
        label=view.log.where,
        speculative=bool(lengths) or (spec is not None and spec.on),
        concurrency=float(usual),
        draft_steps=spec.draft_steps if spec is not None and spec.on else 0,
        topk=spec.topk if spec is not None and spec.on else None,
        draft_tokens=spec.draft_tokens if spec is not None and spec.on else None,
        accept_length=_length(view, lengths),
        throughput_tok_s=speeds[len(speeds) // 2],
        columns=_started(view),
    )


def acceptance_place(view: ServerView) -> Source | None:
    """A line of the log that shows the accept length of its usual batch; None where no line does."""
    windows = [w for w in _steady(view) if w.accept_length is not None]
    if not windows or view.log is None:
        return None
    usual = Counter(w.running for w in windows).most_common(1)[0][0]
    kept = [w for w in windows if w.running == usual]
    return Source(where=view.log.where, line=kept[len(kept) // 2].shows_acceptance)


def logged_table(scene: Scene) -> Table | None:
    """The server under study and the others beside it as rows of one table; None for fewer than two that measured."""
    rows = [row for view in (scene.view, *scene.others) if (row := logged_row(view)) is not None]
    if len(rows) < 2:
        return None
    header = tuple(dict.fromkeys(key for row in rows for key in row.columns))
    full = tuple(row.model_copy(update={"columns": {h: row.columns.get(h, "") for h in header}}) for row in rows)
    return Table(where=rows[0].source.where, header=header, rows=full)


def arms_of_logs(scene: Scene) -> tuple[Arm, ...]:
    """The server under study beside a server without speculation that ran the same batch."""
    table = logged_table(scene)
    if table is None:
        return ()
    spec = [row for row in table.rows[:1] if row.speculative]
    bases = [row for row in table.rows[1:] if not row.speculative]
    return tuple(Arm(row=row, base=base) for row in spec for base in bases if base.concurrency == row.concurrency)


def all_paired(scene: Scene) -> tuple[Arm, ...]:
    """Arms whose gain is known: of tables, else of the logs of two servers."""
    return paired(scene) or tuple(arm for arm in arms_of_logs(scene) if arm.speedup is not None)


def asked_differently(one: ServerView, other: ServerView) -> dict[str, tuple[str, str]]:
    """Arguments that two servers were not started alike with, by name: what one was given, what the other."""
    first, second = _started(one), _started(other)
    keys = sorted(set(first) | set(second))
    return {k: (first.get(k, ""), second.get(k, "")) for k in keys if first.get(k, "") != second.get(k, "")}


def _steady(view: ServerView) -> Sequence[DecodeWindow]:
    found = [
        w for w in (view.log.decode if view.log else ()) if w.running > 0 and w.tokens != 0 and w.throughput_tok_s > 0
    ]
    return [w for w in found if w.clean] or found[1:] or found


def _length(view: ServerView, lengths: Sequence[float]) -> float | None:
    counts = view.log.counts if view.log is not None else None
    if counts is not None and counts.accept_length is not None:
        return counts.accept_length
    return sum(lengths) / len(lengths) if lengths else None


def _started(view: ServerView) -> dict[str, str]:
    """Arguments that may matter, as asked; the version beside them."""
    given = {k: str(v) for k, v in view.asked.items() if k not in _NOT_SWITCHES and not k.startswith("speculative")}
    return {**given, "version": view.version or ""}
