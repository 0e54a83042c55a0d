"""What lies beside a server in a pile of files: tables of measurements, counters, notes, tensor lists, answers.

A reader of one kind of file makes one piece of it; checks judge it like all else they see. Every piece knows its place,
so that whatever is concluded from it can be opened. Figures are as written, in the unit of their field's name.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from specdoctor.core.model import Frozen
from specdoctor.core.server import Source

FileKind = Literal[
    "server log", "launch line", "server info", "counters", "table", "bench result", "model config", "tensor list",
    "training record", "gpu table", "gpu topology", "engine config", "tokenizer check", "script", "notes", "request",
    "answer", "text", "unreadable",
]  # fmt: skip


class FileSeen(Frozen):
    """One file given, and what its content shows it to be; `problem` says why it could not be read, or what of it.

    `engine` is whose words a log begins with, as far as they show.
    """

    where: str
    kind: FileKind
    problem: str = ""
    engine: str | None = None


class Row(Frozen):
    """One measured row of a table, or one result of a load generator. What a column does not give is None.

    `speculative` is None where the row does not tell; `elsewhere` marks somebody else's figure, quoted for comparison
    (published, reference, model card). `throughput_low_tok_s` and `..high..` are the ends of a range written as one.
    `acceptance` is the fraction as printed (which denominator, the table seldom says). `position_from` and
    `position_to` bound the position in tokens that the row is about. `drafts` counts target forwards with a draft,
    `per_position` is the marginal acceptance by draft position. `columns` holds every cell as written.
    """

    source: Source
    label: str = ""
    speculative: bool | None = None
    elsewhere: bool = False
    concurrency: float | None = None
    request_rate: float | None = None
    draft_steps: int | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    accept_length: float | None = None
    acceptance: float | None = None
    throughput_tok_s: float | None = None
    throughput_low_tok_s: float | None = None
    throughput_high_tok_s: float | None = None
    tpot_ms: float | None = None
    itl_ms: float | None = None
    ttft_ms: float | None = None
    step_ms: float | None = None
    latency_s: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    position_from: float | None = None
    position_to: float | None = None
    prompt: str = ""
    drafts: float | None = None
    drafted_tokens: float | None = None
    accepted_tokens: float | None = None
    per_position: tuple[float, ...] = ()
    columns: dict[str, str] = Field(default_factory=dict)


class Table(Frozen):
    """Rows of one file (CSV, Markdown, or the result files of known load generators).

    `refused` says of cells, as ends of sentences, why they were not taken for their column's quantity.
    """

    where: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    refused: tuple[str, ...] = ()


class NotedFigure(Frozen):
    """A number with its unit in a person's prose: a claim, never a fact. `metric` is empty where it is not plain."""

    source: Source
    metric: str
    value: float
    unit: str
    role: Literal["with speculation", "baseline", "wished", "published", "unknown"] = "unknown"


class Notes(Frozen):
    """A person's text, line by line as written; line n of the file is `lines[n - 1]`."""

    where: str
    lines: tuple[str, ...]
    figures: tuple[NotedFigure, ...] = ()


class Counters(Frozen):
    """One dump of Prometheus metrics or an engine's metrics endpoint: totals since the server started.

    `samples` is keyed by `name{label="value",...}` with labels in alphabetical order; `lines` gives each one's line.
    """

    where: str
    engine: str | None
    samples: dict[str, float]
    lines: dict[str, int] = Field(default_factory=dict)


class Iteration(Frozen):
    """One pass of an engine that reports each (TensorRT-LLM's /metrics); None for what it does not say."""

    source: Source
    number: int | None = None
    latency_ms: float | None = None
    running: int | None = None
    queued: int | None = None
    drafted_tokens: float | None = None
    accepted_tokens: float | None = None
    accept_length: float | None = None


class Iterations(Frozen):
    """Passes of one file, oldest first as written."""

    where: str
    engine: str
    passes: tuple[Iteration, ...]


class TensorSeen(Frozen):
    """One tensor by name; `dtype` as safetensors spells it, empty and `shape` empty where they are not given."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    source: Source


class TensorList(Frozen):
    """The tensors of one checkpoint by name (safetensors header, index, or a listing)."""

    where: str
    tensors: tuple[TensorSeen, ...]


class ModelConfig(Frozen):
    """A config.json and whose it is, as far as its content and the launch line beside it show."""

    where: str
    role: Literal["target", "draft", "other draft", "unknown"]
    content: dict[str, JsonValue]


class Exchange(Frozen):
    """A request sent to the server, or an answer of it: the text to be judged for sanity, and timings where given."""

    where: str
    direction: Literal["request", "answer"]
    text: str
    content: dict[str, JsonValue] = Field(default_factory=dict)


class GpuSheet(Frozen):
    """What the vendor's tool printed of the GPUs: one row for each, values as printed, by the tool's own field names.

    `links` are the rows of a topology matrix by GPU, `lines` the line of the file that each GPU stands on.
    """

    where: str
    rows: tuple[dict[str, str], ...] = ()
    lines: tuple[int, ...] = ()
    links: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class Material(Frozen):
    """What was given beside the server's own log and launch line. `texts` are files as they came, redacted."""

    files: tuple[FileSeen, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Notes, ...] = ()
    counters: tuple[Counters, ...] = ()
    tensors: tuple[TensorList, ...] = ()
    configs: tuple[ModelConfig, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    gpus: tuple[GpuSheet, ...] = ()
    iterations: tuple[Iterations, ...] = ()
    texts: dict[str, str] = Field(default_factory=dict)

    def joined(self, other: Material) -> Material:
        """Both together, this one's pieces first."""
        return Material(
            files=self.files + other.files,
            tables=self.tables + other.tables,
            notes=self.notes + other.notes,
            counters=self.counters + other.counters,
            tensors=self.tensors + other.tensors,
            configs=self.configs + other.configs,
            exchanges=self.exchanges + other.exchanges,
            gpus=self.gpus + other.gpus,
            iterations=self.iterations + other.iterations,
            texts={**self.texts, **other.texts},
        )

    def named(self, where: str) -> FileSeen | None:
        """The file of that name, None if it was not given."""
        return next((f for f in self.files if f.where == where), None)
