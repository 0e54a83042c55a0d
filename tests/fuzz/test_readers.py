"""No reader fails or hangs on a spoilt file; `make fuzz` tries many more than the default suite."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.assembly.catalogue import all_engines
from specdoctor.assembly.judging import triaged
from specdoctor.core.engine import Engine
from specdoctor.core.reader import Reader
from specdoctor.readers.every import every_reader
from tests.fuzz.mutating import spoilt

INPUTS = int(os.environ.get("FUZZ_INPUTS", "1000"))
WHOLE = max(INPUTS // 20, 50)
"""Fewer of a whole triage: it asks every reader, engine and check."""
SLOWEST_S = 10.0
"""By the clock: a hundred times what a busy machine needs."""
MOST_KB = 300_000

SEED = st.integers(min_value=0, max_value=2**40)
BLOCK = 50
"""Texts of one example: drawing it costs more than most readers need for a text."""
FIRST = st.integers(min_value=0, max_value=2**40 if INPUTS > 1000 else INPUTS // BLOCK - 1).map(lambda n: n * BLOCK)
"""The default suite gives all readers the same texts, which are then made once."""


@contextmanager
def quick() -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < SLOWEST_S


@pytest.mark.timeout(0 if INPUTS > 1000 else 120)
@pytest.mark.parametrize("reader", every_reader(), ids=lambda reader: reader.name)
@settings(max_examples=INPUTS // BLOCK)
@given(first=FIRST)
def test_a_reader_reads_or_leaves(reader: Reader, first: int) -> None:
    for seed in range(first, first + BLOCK):
        reads_or_leaves(reader, spoilt(seed))


def reads_or_leaves(reader: Reader, text: str) -> None:
    with quick():
        read = reader.read(text, where="sent.txt")
    if read is not None:
        read.pieces.model_dump_json()
        lines = text.split("\n")
        cited = [row.source for table in read.pieces.tables for row in table.rows]
        cited += [figure.source for notes in read.pieces.notes for figure in notes.figures]
        for source in cited:
            assert source.line is not None
            assert source.quote in lines[source.line - 1]


@pytest.mark.timeout(0 if INPUTS > 1000 else 120)
@pytest.mark.parametrize("engine", all_engines(), ids=lambda engine: engine.name)
@settings(max_examples=INPUTS // BLOCK)
@given(first=FIRST)
def test_an_engine_reads_any_log(engine: Engine, first: int) -> None:
    for seed in range(first, first + BLOCK):
        reads_log(engine, spoilt(seed))


def reads_log(engine: Engine, text: str) -> None:
    with quick():
        reading = engine.read_log(text, where="server.log")
    lines = text.split("\n")
    assert all(1 <= w.line <= len(lines) for w in reading.decode)
    assert reading.failure is None or reading.failure.quote in lines[reading.failure.line - 1]


@pytest.mark.timeout(0 if INPUTS > 1000 else 120)
@settings(max_examples=WHOLE)
@given(seeds=st.lists(SEED, min_size=1, max_size=4))
def test_a_folder_of_spoilt_files_is_judged_and_what_is_cited_opens(seeds: list[int]) -> None:
    texts = {f"{n}.txt": spoilt(seed) for n, seed in enumerate(seeds)}
    found = triaged(texts, symptom="slower than without")
    for finding in found.findings:
        assert finding.status != "supported" or finding.evidence, finding
        for quote in finding.evidence:
            assert quote.source in texts, finding
            assert quote.quote.rstrip("….") in texts[quote.source].split("\n")[quote.line - 1]


LONG = {
    "one line of 50 MB": "a" * 50_000_000,
    "one line of 50 MB of numbers": "1.5, " * 10_000_000,
    "a million short lines": "x 1\n" * 1_000_000,
    "a million empty lines": "\n" * 1_000_000,
    "fifty MB of open brackets": "[{(" * 16_000_000,
    "a million table rows": "a,b\n" + "1,2\n" * 1_000_000,
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_time_grows_with_length_only(text: str) -> None:
    begun = time.process_time()
    triaged({"sent.txt": text}, symptom="")
    assert time.process_time() - begun < 60.0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("reader", every_reader(), ids=lambda reader: reader.name)
def test_each_reader_is_linear(reader: Reader, text: str) -> None:
    begun = time.process_time()
    reader.read(text, where="sent.txt")
    assert time.process_time() - begun < 20.0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_file_takes_little_memory(tmp_path: Path, text: str) -> None:
    (tmp_path / "sent.txt").write_text(text)
    # Its own peak: what the operating system says of a child counts the parent that it was forked from, too.
    program = (
        "import re, resource, sys\n"
        "from specdoctor.cli.main import run\n"
        "sys.argv = ['specdoctor', 'triage', sys.argv[1]]\n"
        "try:\n"
        "    run()\n"
        "finally:\n"
        "    peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1)\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('used', peak, used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path / "sent.txt")]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    _, peak_kb, cpu_s = ended.stderr.strip().splitlines()[-1].split()
    assert ended.returncode in (2, 3)
    assert int(peak_kb) < MOST_KB
    assert float(cpu_s) < 60.0


@pytest.mark.parametrize("seed", [1101139, 462])
def test_what_failed_once(seed: int) -> None:
    triaged({"0.txt": spoilt(seed)}, symptom="slower than without")
