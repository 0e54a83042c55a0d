"""What the lines of a vLLM start say: version, configuration in force, models, times and captured graphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from specdoctor.core.server import GraphCapture, StartTimes
from specdoctor.engines.vllm_args import TOKENS
from specdoctor.engines.vllm_config import InitLine, parse_init
from specdoctor.engines.vllm_prefix import VllmLine

_VERSION = re.compile(
    r"(?:vLLM API server version |vLLM server version |█\s{1,8}version )v?(?P<version>\d[\w.+]{0,60})"
)
_ARCHITECTURE = re.compile(r"Resolved architecture: (?P<cls>\w{1,100})")
_WEIGHTS = re.compile(r"Loading weights took (?P<s>\d{1,7}(?:\.\d{1,6})?) seconds")
_ENGINE = re.compile(r"init engine \(profile, create kv cache, warmup model\) took (?P<s>\d{1,7}(?:\.\d{1,6})?) s")
_CAPTURED = re.compile(r"Graph capturing finished in (?P<s>\d{1,7}(?:\.\d{1,6})?) secs?")
_BAR = re.compile(
    r"Capturing CUDA graphs? ?(?:\((?:mixed prefill-decode|decode)?,? ?(?P<mode>PIECEWISE|FULL)\)|shapes)"
)
_CONFIG = "compilation_config."
_WORDS = ("LLM engine (v", "version ", "Resolved architecture", "Loading weights took", "Graph capturing finished",
          "Capturing CUDA graph")  # fmt: skip


@dataclass
class Startup:
    """Gathered line by line; times are of the process that spoke first."""

    version: str | None = None
    version_line: int | None = None
    init: InitLine | None = None
    init_line: int | None = None
    asked: dict[str, JsonValue] | None = None
    asked_line: int | None = None
    architectures: list[str] = field(default_factory=list)
    captured_line: int | None = None
    captured_s: float | None = None
    capturing_line: int | None = None
    first_at: float | None = None
    last_at: float | None = None
    ready_at: float | None = None
    _loader: str | None = None
    _load_s: float = 0.0

    def take(self, line: VllmLine, *, number: int, at: float | None) -> bool:
        """Read one line; `at` is its stamp in seconds. Tells whether it was one of a start."""
        message = line.message
        if at is not None:
            self.first_at = at if self.first_at is None else self.first_at
            self.last_at = at
        if not any(words in message for words in _WORDS):
            return False
        if "LLM engine (v" in message:
            self._take_init(message, number)
        elif "version" in message:
            match = _VERSION.search(message[:200])
            if match is not None and self.init is None:
                self.version, self.version_line = match["version"], number
        elif "Resolved architecture" in message:
            match = _ARCHITECTURE.search(message)
            self.architectures += [match["cls"]] if match is not None and len(self.architectures) < 20 else []
        elif "Loading weights took" in message:
            match = _WEIGHTS.search(message)
            self._loader = line.process if self._loader is None else self._loader
            if match is not None and line.process == self._loader:
                self._load_s += float(match["s"])
        elif "Graph capturing finished" in message:
            match = _CAPTURED.search(message)
            if match is not None and self.captured_line is None:
                self.captured_line, self.captured_s = number, float(match["s"])
        elif "Capturing CUDA graph" in message and self.capturing_line is None and _BAR.search(message[:400]):
            self.capturing_line = number
        return True

    def _take_init(self, message: str, number: int) -> None:
        found = parse_init(message)
        if found is not None and self.init is None:
            self.init, self.init_line = found, number
            self.version, self.version_line = found.version, number

    def times(self) -> StartTimes:
        """Seconds by phase, as far as the log shows them."""
        known = self.ready_at is not None and self.first_at is not None and self.ready_at >= self.first_at
        return StartTimes(
            total_s=self.ready_at - self.first_at if known and self.ready_at and self.first_at else None,
            load_weight_s=self._load_s or None,
            graphs_s=self.captured_s,
        )

    def graphs(self) -> tuple[GraphCapture, ...]:
        """The graphs of the target: sizes are tokens in the engine's list, so that a request takes its drafts + 1."""
        values = self.init.values if self.init is not None else {}
        line = self.captured_line or self.capturing_line
        mode = values.get(f"{_CONFIG}cudagraph_mode")
        if line is None or mode == "NONE" or values.get("enforce_eager") is True:
            return ()
        tokens = values.get(TOKENS)
        per_request = tokens + 1 if isinstance(tokens, int) and not isinstance(tokens, bool) else 1
        largest = capture_limit(values)
        return (
            GraphCapture(
                what="target",
                line=line,
                tokens_per_request=per_request if self.init is not None else None,
                max_batch=largest // per_request if largest else None,
                elapsed_s=self.captured_s,
                finished=self.captured_line is not None,
            ),
        )


def capture_limit(values: dict[str, JsonValue]) -> int | None:
    """The largest captured size in tokens, None where the values do not show it."""
    sizes = values.get(f"{_CONFIG}cudagraph_capture_sizes")
    listed = [n for n in sizes if isinstance(n, int)] if isinstance(sizes, list) else []
    named = values.get(f"{_CONFIG}max_cudagraph_capture_size", values.get(f"{_CONFIG}max_capture_size"))
    found = [*listed, *([named] if isinstance(named, int) and not isinstance(named, bool) and not listed else [])]
    return max(found, default=None)
