"""Are CUDA graphs off, or too small for the load, by a flag?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from specdoctor.checks.reading import in_force, log_source, no_data, silent, truth, windows
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import DecodeWindow, ServerView, Source

CEILING_FLAGS = ("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode", "--cuda-graph-bs", "--cuda-graph-bs-decode")
EAGER_MODE = "compilation_config.cudagraph_mode"
SWITCHES = ("disable_cuda_graph", "disable_decode_cuda_graph", "enforce_eager")
BACKEND = "cuda_graph_backend_decode"
CONFIG = "cuda_graph_config"
DECIDES = "read disable_cuda_graph in the server_args line of the log, or in /server_info"


class OffForm(NamedTuple):
    """One form in which decode graphs are switched off: the argument, what is to be taken away, what stays of it."""

    key: str
    words: str
    flag: str
    left: str = ""


class CudaGraphs:
    """Without graphs each forward pays the host's launch cost again; a flag decides it, the decode lines prove it."""

    name = "cuda-graphs"
    summary = "See whether CUDA graphs are disabled or capped by flag, and whether decode steps really use them."
    causes = ("CFG-5", "GRAPH-1", "GRAPH-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        seen = [w for w in windows(view) if w.graph is not None]
        eager = [w for w in seen if w.graph is False]
        if graphs_disabled(view):
            return (self._off(view, eager),)
        known = graphs_enabled(view)
        if not seen:
            state = "graphs are enabled" if known else "whether graphs are enabled was not read"
            return no_data(self.name, "CFG-5", f"{state}; no decode line shows whether they are used")
        if not eager:
            return silent(self.name, "CFG-5", f"all {len(seen)} decode lines used a graph", _line(view, seen[-1]))
        if not known:
            return self._rivals(view, seen, eager)
        return (self._too_small(view, seen, eager),)

    def _off(self, view: ServerView, eager: list[DecodeWindow]) -> Observation:
        key = _disabled_key(view)
        forms = () if key == EAGER_MODE else off_forms(view.asked) or off_forms(view.effective)
        remedy = Remedy(
            label="CUDA graphs on",
            set_flags={form.flag: (form.left,) for form in forms if form.left},
            remove_flags=tuple(form.flag for form in forms if not form.left),
        )
        named = " and ".join(form.words for form in forms) or f"--disable-cuda-graph or {_flag(BACKEND)} disabled"
        sources: tuple[Source, ...] = (in_force(view, key),)
        if eager:
            sources += (_line(view, eager[-1]),)
        proof = f"; {len(eager)} decode lines ran without" if eager else ""
        return Observation(
            check=self.name,
            cause="CFG-5",
            stance="supports",
            claim=f"CUDA graphs are disabled by flag{proof}",
            binds=True,
            sources=sources,
            remedy=remedy if forms else None,
            reading=Prediction(metric="reading", op="==", subject="CUDA graphs in decode", text="off"),
            fix="start with another cudagraph_mode" if key == EAGER_MODE else f"start without {named}",
        )

    def _rivals(self, view: ServerView, seen: list[DecodeWindow], eager: list[DecodeWindow]) -> tuple[Observation, ...]:
        """Steps without a graph where no argument tells: a batch of one fits any captured size."""
        batched = all(w.running > 1 for w in eager)
        said = (
            f"{len(eager)} of {len(seen)} decode lines ran without a graph; what was read does not say whether graphs "
            "are disabled"
        )
        return tuple(
            Observation(
                check=self.name,
                cause=cause,
                stance="suggests",
                about="cycle",
                claim=said,
                binds=2 * len(eager) > len(seen),
                sources=(_line(view, eager[-1]),),
                decides=DECIDES,
                decided_by="read",
            )
            for cause in ("CFG-5", *(("GRAPH-1",) if batched else ()), "GRAPH-2")
        )

    def _too_small(self, view: ServerView, seen: list[DecodeWindow], eager: list[DecodeWindow]) -> Observation:
        largest = max(
            (g.max_batch or 0 for g in (view.log.graphs if view.log else ()) if g.what == "target"), default=0
        )
        above = [w for w in eager if largest and w.running > largest]
        said = f"{len(eager)} of {len(seen)} decode lines ran without a graph although graphs are enabled"
        if above and len(above) == len(eager):
            by_flag = any(word.split("=", 1)[0] in CEILING_FLAGS for word in view.argv)
            need = max(w.running for w in above)
            return Observation(
                check=self.name,
                cause="CFG-5" if by_flag else "GRAPH-1",
                stance="supports",
                claim=f"{said}: batches of {need} against a largest captured batch of {largest}",
                binds=True,
                sources=(_line(view, above[-1]),),
                reading=Prediction(metric="reading", op="<", subject="largest captured batch", text=str(need)),
                fix=f"capture graphs up to a batch of {need}",
            )
        if len(eager) < len(seen) / 2:
            return Observation(
                check=self.name, cause="GRAPH-2", stance="silent", claim=said, sources=(_line(view, eager[-1]),)
            )
        return Observation(
            check=self.name,
            cause="GRAPH-2",
            stance="supports",
            claim=said,
            about="cycle",
            binds=True,
            sources=(_line(view, eager[-1]),),
            reading=Prediction(metric="reading", op="==", subject="cuda graph on decode lines", text="False"),
            remedy=_other_back_end(view),
            fix="find what keeps the step out of its graph: attention back-end, batch width, mixed prefill",
        )


def _other_back_end(view: ServerView) -> Remedy | None:
    """The graph that is captured and not used belongs to an attention back-end: the same server on another one."""
    if view.engine != "sglang" or view.spec is None or not view.spec.on:
        return None
    now = str(view.argument("prefill_attention_backend") or view.argument("attention_backend") or "")
    if not now:
        return None
    other = "flashinfer" if now != "flashinfer" else "triton"
    beside = ("--prefill-attention-backend", "--decode-attention-backend")
    return Remedy(label=f"attention back-end {other}", set_flags={"--attention-backend": (other,)}, remove_flags=beside)


def graphs_disabled(view: ServerView) -> bool:
    """Whether decode graphs are off by argument, in any engine's and version's spelling; a CPU has none to lose."""
    if view.argument("device_config") == "cpu":
        return False
    if view.argument(EAGER_MODE) == "NONE" or any(truth(view.argument(key)) for key in SWITCHES):
        return True
    config = view.effective.get(CONFIG)
    if isinstance(config, dict):
        return _decode_off(config)
    return bool(off_forms({key: view.argument(key) for key in (BACKEND, CONFIG)}))


def off_forms(given: Mapping[str, Any]) -> tuple[OffForm, ...]:
    """Every form in which these arguments, as they were given, switch decode graphs off."""
    forms = [OffForm(key, _flag(key), _flag(key)) for key in SWITCHES if truth(given.get(key))]
    if str(given.get(BACKEND)).lower() == "disabled":
        forms.append(OffForm(BACKEND, f"{_flag(BACKEND)} {given[BACKEND]}", _flag(BACKEND)))
    try:
        config = json.loads(given[CONFIG]) if isinstance(given.get(CONFIG), str) else None
    except ValueError:
        config = None
    if isinstance(config, dict) and _decode_off(config):
        phase = {key: value for key, value in config["decode"].items() if key != "backend"}
        rest = {key: value for key, value in config.items() if key != "decode"} | ({"decode": phase} if phase else {})
        backend = json.dumps(config["decode"]["backend"])
        words = f'"backend": {backend} of "decode" in {_flag(CONFIG)}'
        forms.append(OffForm(CONFIG, words, _flag(CONFIG), left=json.dumps(rest) if rest else ""))
    return tuple(forms)


def _decode_off(config: Mapping[str, Any]) -> bool:
    decode = config.get("decode")
    return isinstance(decode, dict) and decode.get("backend") in ("disabled", "none", None) and "backend" in decode


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def graphs_enabled(view: ServerView) -> bool:
    """Whether it was read that decode graphs are on: in the arguments in force, a capture, or a step that used one.

    A launch line without the flag proves nothing: the engine, or a file of arguments, may have switched them off.
    """
    if graphs_disabled(view):
        return False
    log = view.log
    if log is not None and (any(g.what == "target" for g in log.graphs) or any(w.graph for w in log.decode)):
        return True
    return any(key in view.effective for key in ("disable_cuda_graph", "enforce_eager", EAGER_MODE)) or isinstance(
        view.effective.get("cuda_graph_config"), dict
    )


def _disabled_key(view: ServerView) -> str:
    """The argument that shows it: the one in force that was worked out from the others only where none of them does."""
    if truth(view.argument("enforce_eager")):
        return "enforce_eager"
    if view.argument(EAGER_MODE) == "NONE":
        return EAGER_MODE
    switch = next((key for key in SWITCHES if truth(view.argument(key))), "")
    if switch or isinstance(view.effective.get(CONFIG), dict):
        return switch or CONFIG
    return off_forms({key: view.argument(key) for key in (BACKEND, CONFIG)})[0].key


def _line(view: ServerView, window: DecodeWindow) -> Source:
    return log_source(view, window.line, f"#running-req: {window.running}, cuda graph: {window.graph}")


check = CudaGraphs()
