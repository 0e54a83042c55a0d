"""Servers as rows of a table: how each was started, and what its log measured."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence

from specdoctor.analysis.logged_figures import LoggedFigures, changing, figures_at, living, served, usual
from specdoctor.analysis.measured_rows import Arm, paired
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, ServerView, Source

LOAD = "concurrency"
_known: dict[int, tuple[weakref.ref[ServerView], tuple[Row, ...]]] = {}
"""Rows of the views at hand: a long log has many lines, and many checks ask."""
_NOT_SWITCHES = frozenset(
    {
        "port", "host", "served_model_name", "model_tag", "log_level", "api_key", "block_size", "nccl_port",
        "dist_init_addr", "model", "model_path", "speculative_config", "node_rank", "nnodes", "base_gpu_id",
        "random_seed", "seed", "uvicorn_log_level",
    }
)  # fmt: skip


def logged_rows(view: ServerView) -> tuple[Row, ...]:
    """A server's steady figures, one row for each number of requests that it served, the fewest first."""
    known = _known.get(id(view))
    if known is not None and known[0]() is view:
        return known[1]
    for key in [key for key, (of, _) in tuple(_known.items()) if of() is None]:
        _known.pop(key, None)
    rows = _rows(view)
    _known[id(view)] = (weakref.ref(view), rows)
    return rows


def _rows(view: ServerView) -> tuple[Row, ...]:
    windows, spec = _steady(view), view.spec or view.asked_spec
    if not windows or view.log is None:
        return ()
    on = spec is not None and spec.on
    loads, changed = served(windows), changing(view.log.decode)
    at: dict[int, list[DecodeWindow]] = {n: [] for n in loads}
    for window in windows:
        if window.running in at:
            at[window.running].append(window)
    found = [f for n in loads if (f := figures_at(at[n], n, changed=changed)) is not None]
    return tuple(
        Row(
            source=Source(where=view.log.where, line=each.line),
            label=view.log.where,
            speculative=each.accept_length is not None or on,
            concurrency=float(each.running),
            draft_steps=spec.draft_steps if spec is not None and on else 0,
            topk=spec.topk if spec is not None and on else None,
            draft_tokens=spec.draft_tokens if spec is not None and on else None,
            accept_length=_length(view, each, alone=len(loads) == 1),
            throughput_tok_s=each.throughput_tok_s,
            columns={**_started(view), LOAD: str(each.running)},
        )
        for each in found
    )


def logged_row(view: ServerView) -> Row | None:
    """The row of the batch that a server ran most of the time; None without lines that measure."""
    most = usual(_steady(view))
    return next((row for row in logged_rows(view) if row.concurrency == most), None)


def acceptance_place(view: ServerView) -> Source | None:
    """A line of the log that shows the accept length of its usual batch; None where no line does."""
    windows = [w for w in _steady(view) if w.accept_length is not None]
    most = usual(windows)
    if most is None or view.log is None:
        return None
    kept = [w for w in windows if w.running == most]
    return Source(where=view.log.where, line=kept[len(kept) // 2].shows_acceptance)


def logged_table(scene: Scene) -> Table | None:
    """The server under study and the others beside it as rows of one table, at loads that two of them or more were
    logged at (of many the ends); None where there is none.
    """
    found = [row for view in (scene.view, *scene.others) for row in logged_rows(view)]
    seen = Counter(row.concurrency for row in found)
    shared = sorted(load for load, servers in seen.items() if load is not None and servers > 1)
    rows = [row for row in found if row.concurrency in {*shared[:1], *shared[-1:]}]
    if not rows:
        return None
    header = tuple(dict.fromkeys(key for row in rows for key in row.columns))
    full = tuple(row.model_copy(update={"columns": {h: row.columns.get(h, "") for h in header}}) for row in rows)
    return Table(where=rows[0].source.where, header=header, rows=full)


def arms_of_logs(scene: Scene) -> tuple[Arm, ...]:
    """The server under study at each load that a server without speculation was logged at too, the least first.

    Where only one side has a load there is nothing to compare.
    """
    spec = [row for row in logged_rows(scene.view) if row.speculative]
    if not spec:
        return ()
    bases = [row for view in scene.others for row in logged_rows(view) if not row.speculative]
    pairs = ((row, next((b for b in bases if b.concurrency == row.concurrency), None)) for row in spec)
    return tuple(Arm(row=row, base=base) for row, base in pairs if base is not None)


def all_paired(scene: Scene) -> tuple[Arm, ...]:
    """Arms whose gain is known: of tables, else of the logs of two servers."""
    return paired(scene) or tuple(arm for arm in arms_of_logs(scene) if arm.speedup is not None)


def asked_differently(one: ServerView, other: ServerView) -> dict[str, tuple[str, str]]:
    """Arguments that two servers were not started alike with, by name: what one was given, what the other."""
    first, second = _started(one), _started(other)
    keys = sorted(set(first) | set(second))
    return {k: (first.get(k, ""), second.get(k, "")) for k in keys if first.get(k, "") != second.get(k, "")}


def _steady(view: ServerView) -> Sequence[DecodeWindow]:
    found = living(view)
    return [w for w in found if w.clean] or found[1:] or found


def _length(view: ServerView, each: LoggedFigures, *, alone: bool) -> float | None:
    """The accept length at a load; where the server had no other, that of all its counts."""
    counts = view.log.counts if view.log is not None else None
    if alone and counts is not None and counts.accept_length is not None:
        return counts.accept_length
    return each.accept_length


def _started(view: ServerView) -> dict[str, str]:
    """Arguments that may matter, as asked; the version beside them."""
    given = {k: str(v) for k, v in view.asked.items() if k not in _NOT_SWITCHES and not k.startswith("speculative")}
    return {**given, "version": view.version or ""}
