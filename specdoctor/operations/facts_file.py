"""Operations over a file of facts, for a host that can only be looked at by hand."""

from __future__ import annotations

from errno import ENOENT
from pathlib import Path
from typing import NoReturn

from pydantic import ValidationError

from specdoctor.core.errors import PolicyError, UsageError
from specdoctor.core.facts import FACTS_SCHEMA, Facts
from specdoctor.core.input_file import read_input
from specdoctor.core.launch import HostState, LaunchOrder, LaunchOutcome, RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord, WatchRecord
from specdoctor.core.operations import OnProgress, SnapshotRequest
from specdoctor.core.server import ServerRef

LARGEST_BYTES = 256 * 1024 * 1024


def read_facts_file(path: Path) -> Facts:
    """Facts that the probe printed on some host. Raises UsageError with what is wrong with the file."""
    how = "make one on the host: specdoctor probe --print | ssh HOST python3 - > facts.json"
    try:
        text = _document(read_input(path, limit=LARGEST_BYTES))
    except (OSError, UnicodeDecodeError) as failure:
        said = (failure.strerror or str(failure)) if isinstance(failure, OSError) else "it is no text"
        raise UsageError(f"{path}: cannot be read: {said}", tried=f"read {path}", next_step=how) from failure
    try:
        facts = Facts.model_validate_json(text)
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise UsageError(f"{path}: no facts: {where}: {first['msg']}", tried=f"read {path}", next_step=how) from failure
    if "schema_id" not in facts.model_fields_set:
        raise UsageError(f'{path}: no facts: it has no "schema"', tried=f"read {path}", next_step=how)
    if facts.schema_id != FACTS_SCHEMA:
        raise UsageError(
            f"{path}: the file says {facts.schema_id!r}, not {FACTS_SCHEMA!r}", tried=f"read {path}", next_step=how
        )
    return facts


def _document(content: bytes) -> str:
    """The JSON in what was redirected into a file: as another system encodes it, after what a login script printed."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = content.decode(encoding)
    begin = text.find("\n{")
    return text if text.startswith("{") or begin < 0 else text[begin + 1 :]


class FactsFileOperations:
    """The port `Operations` where nothing but looking at recorded facts is possible."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._facts = read_facts_file(path)

    @property
    def target(self) -> str:
        return self._facts.host.hostname or self._path.name

    def snapshot(self, request: SnapshotRequest) -> Facts:
        return self._facts

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        """Nothing but the facts was recorded."""
        raise FileNotFoundError(ENOENT, "not among the recorded facts", path)

    def watch(self, server: ServerRef, *, seconds: float, log_path: str | None) -> WatchRecord:
        """Nothing new can be seen: the record is empty, and what the recorded log shows stands."""
        return WatchRecord(seconds=0.0, foreign_requests=None)

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        self._refuse(f"send {plan.requests} requests at concurrency {plan.concurrency}")

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        self._refuse(f"restart the server with: {order.change.label}")

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        self._refuse(f"put back the server on port {order.port}")

    def state(self, run: str) -> HostState:
        """Nothing can have been left on a host that is not reached."""
        return HostState(run=run, way_back=False)

    def release(self, run: str) -> tuple[str, ...]:
        return ()

    def leave(self, run: str, *, exit_code: int | None, words: str) -> float | None:
        return None

    def close(self) -> None:
        """Nothing is open."""

    def _refuse(self, what: str) -> NoReturn:
        raise PolicyError(
            f"{self._path.name} is a recording of facts: it cannot {what}",
            tried=f"--from {self._path}",
            next_step="name the host itself in place of --from, or take the line to run by hand from the report",
        )
