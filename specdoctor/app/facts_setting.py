"""Facts of the configuration: what is drafted, how many requests may run, what graphs were captured for."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from specdoctor.analysis.capture_sizes import capture_of
from specdoctor.app.triage_fact import Fact
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source, SpecSetting

_SEATS = ("max_running_requests", "max_num_seqs", "n_parallel", "parallel", "max_batch_size")
_TOKEN_SIZES = ("compilation_config.cudagraph_capture_sizes", "cudagraph_capture_sizes")
_TOKEN_LIMITS = (
    "compilation_config.max_cudagraph_capture_size", "max_cudagraph_capture_size",
    "compilation_config.max_capture_size",
)  # fmt: skip
_LENGTHS = {
    "draft_steps": (
        "speculative_num_steps", "speculative_config.num_speculative_tokens", "spec_draft_n_max",
    ),
    "topk": ("speculative_eagle_topk",),
    "draft_tokens": ("speculative_num_draft_tokens",),
}  # fmt: skip
_BATCH_SIZES = ("cuda_graph_bs",)
_BATCH_LIMITS = ("cuda_graph_max_bs", "cuda_graph_max_bs_decode")


def setting_facts(view: ServerView) -> Iterator[Fact]:
    """Steps, topk and draft tokens in force (else as asked for), and the limit of running requests."""
    spec = view.spec or view.asked_spec
    if spec is not None:
        if not spec.on or spec.draft_steps > 0:
            yield _length(view, "draft_steps", spec.draft_steps)
        if spec.on and spec.topk > 0:
            yield _length(view, "topk", spec.topk)
        if spec.on and spec.draft_tokens > 0:
            yield _length(view, "draft_tokens", spec.draft_tokens)
    for name in _SEATS:
        value = _whole(view.argument(name))
        if value is not None and value > 0:
            yield Fact(name="max_running_requests", value=value, estimator=name, sources=_place(view, name))


def _length(view: ServerView, name: str, value: int) -> Fact:
    """One number of the draft length where it was read; what no file says is told to be computed, and from what."""
    keys = _LENGTHS[name]
    made = next((r for r in view.rewrites if r.foretold and r.key in keys), None)
    if made is not None:
        asked = f"asked {made.asked}" if made.asked is not None else "not asked for"
        release = f"{view.engine} {view.version or view.version_range or ''}".rstrip()
        words = f"computed, {asked}; by the rules of {release}: {made.note}"
        sources = tuple(source for source in made.sources if source.key != made.key)
        return Fact(name=name, value=value, estimator=words, sources=sources)
    stated = next((key for key in keys if view.argument(key) is not None), None)
    if stated is None and name == "draft_tokens" and (view.spec or view.asked_spec or SpecSetting()).topk == 1:
        steps = _length(view, "draft_steps", value - 1)
        return Fact(name=name, value=value, estimator="computed: draft steps + 1, a chain", sources=steps.sources)
    if stated is None and name == "topk" and value == 1:
        steps = _length(view, "draft_steps", 0)
        return Fact(name=name, value=value, estimator="computed: this method drafts a chain", sources=steps.sources)
    return Fact(name=name, value=value, sources=_place(view, stated or ""))


def capture_facts(view: ServerView, running_max: int | None) -> Iterator[Fact]:
    """What graphs were captured for, and what the load needs, both in the engine's unit: tokens, or requests.

    With tokens as the unit a request needs its drafts and one, at as many requests as are let in.
    """
    found = _largest(view, _TOKEN_SIZES, _TOKEN_LIMITS)
    spec = view.spec or view.asked_spec
    seats = next((n for name in _SEATS if (n := _whole(view.argument(name)))), None)
    if found is not None:
        each = spec.draft_steps + 1 if spec is not None and spec.on else 1
        requests = seats if view.argument("max_num_seqs") is not None else running_max
        yield Fact(name="capture_max", value=found, estimator="largest captured size in tokens", sources=_place(view))
        if requests:
            words = f"{requests} requests of {each} tokens"
            yield Fact(name="capture_needed", value=requests * each, estimator=words, sources=_place(view))
        return
    logged = [g for g in (view.log.graphs if view.log else ()) if g.what == "target" and g.max_batch]
    if logged and view.log is not None:
        widest = max(logged, key=lambda g: g.max_batch or 0)
        source = Source(where=view.log.where, line=widest.line)
        yield Fact(name="capture_max", value=widest.max_batch, estimator="largest captured batch", sources=(source,))
    elif (limit := _largest(view, _BATCH_SIZES, _BATCH_LIMITS)) is not None:
        yield Fact(name="capture_max", value=limit, estimator="largest batch to be captured", sources=_place(view))
    else:
        return
    if running_max:
        yield Fact(name="capture_needed", value=running_max, estimator="most requests seen running")


def logged_capture_facts(scene: Scene) -> Iterator[Fact]:
    """The same where only a line of the log or of the launch tells the sizes."""
    found = capture_of(scene)
    if found is not None:
        unit = "tokens" if found.tokens_per_request > 1 else "requests"
        words = f"largest captured size in {unit}"
        yield Fact(name="capture_max", value=found.largest, estimator=words, sources=found.sources)
        words = f"{found.requests} requests of {found.tokens_per_request} tokens"
        yield Fact(name="capture_needed", value=found.needed, estimator=words, sources=found.sources)


def _largest(view: ServerView, lists: tuple[str, ...], limits: tuple[str, ...]) -> int | None:
    for name in lists:
        sizes = view.argument(name)
        listed = [n for n in sizes if isinstance(n, int)] if isinstance(sizes, list) else []
        if listed:
            return max(listed)
    return next((n for name in limits if (n := _whole(view.argument(name)))), None)


def _whole(value: JsonValue) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    text = str(value)
    return int(text) if text.isdigit() and len(text) < 10 else None


def _place(view: ServerView, name: str = "") -> tuple[Source, ...]:
    """Where values in force stand, else the launch line; of an argument in no other place, its own line of it."""
    line = view.asked_lines.get(name)
    if line is not None and view.asked_source is not None and view.effective.get(name) is None:
        return (view.asked_source.model_copy(update={"line": line}),)
    source = view.effective_source or view.asked_source
    return (source,) if source is not None else ()
