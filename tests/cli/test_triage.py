"""Triage of files: version, effective settings, figures, failed starts, and quotes that really stand there."""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specdoctor.app.quoting import quoted
from specdoctor.core.server import Source
from tests.cli.conftest import Command, document

pytestmark = pytest.mark.thorough

DATA = Path(__file__).parents[1] / "data" / "engine-sglang"


@pytest.fixture
def report(folder: Path) -> Path:
    """A folder as somebody would send it: log, launch line, server info."""
    place = folder / "report"
    (place / "logs").mkdir(parents=True)
    shutil.copy(DATA / "adjusted.log.txt", place / "logs" / "server.log")
    shutil.copy(DATA / "adjusted.launch.txt", place / "cmd.txt")
    shutil.copy(DATA / "adjusted.server-info.json", place / "server_info.json")
    (place / "core.bin").write_bytes(b"\0" * 64)
    return place


def hand_weighted(log: Path) -> float:
    """Accept length of the log's decode lines, counted by hand as the document says."""
    total = tokens = 0.0
    for line in log.read_text().split("\n"):
        if "Decode batch" in line and "#token: 0," not in line:
            running = int(line.split("#running-req: ")[1].split(",")[0])
            tokens += running * float(line.split("accept len: ")[1].split(",")[0])
            total += running
    return tokens / total


def test_a_log_alone_proves_a_range_and_its_figures(specdoctor: Command) -> None:
    found = document(specdoctor("triage", str(DATA / "adjusted.log.txt"), "--json"))
    assert found["schema"] == "specdoctor.triage/1"
    engine, facts = found["engine"], found["facts"]
    assert isinstance(engine, dict)
    assert isinstance(facts, dict)
    assert engine["name"] == "sglang"
    assert engine["version"] is None
    assert engine["version_range"]
    assert (facts["draft_steps"], facts["topk"], facts["draft_tokens"]) == (1, 1, 2)
    assert facts["accept_length"] == pytest.approx(hand_weighted(DATA / "adjusted.log.txt"), abs=1e-3)
    assert "weighted by running requests" in str(facts["accept_length_estimator"])
    assert (facts["running_requests_max"], facts["queue_requests_max"]) == (8, 0)
    for name in ("throughput_tok_s", "step_ms"):
        assert facts[name] > 0
        assert facts[f"{name}_estimator"]


def test_files_beside_it_name_the_version_and_the_override(specdoctor: Command, report: Path) -> None:
    result = specdoctor("triage", str(report), "--json")
    found = document(result)
    assert found["engine"]["version"] == "0.5.17"  # type: ignore[index]
    override = next(f for f in found["findings"] if f["cause"] == "CFG-3")  # type: ignore[union-attr,attr-defined]
    assert (override["status"], override["role"], override["confidence"]) == ("supported", "present", "high")
    assert {"cmd.txt", "logs/server.log"} <= {q["source"] for q in override["evidence"]}
    assert "core.bin" not in found["files"]  # type: ignore[operator]
    for finding in found["findings"]:  # type: ignore[attr-defined]
        for quote in finding["evidence"]:
            lines = (report / quote["source"]).read_bytes().decode().split("\n")
            assert quote["quote"] in lines[quote["line"] - 1]
            assert quote["quote"]
    assert found["verdict"] == "not-enough-evidence"
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("name", "cause", "words"),
    [
        ("draft-missing", None, "cannot be found"),
        ("no-draft", "CFG-2", "no draft model was given"),
        ("other-vocabulary", "MIS-1", "another vocabulary"),
        ("steps-only", "CFG-3", "--speculative-eagle-topk"),
    ],
)
def test_a_failed_start_is_explained_in_one_sentence(
    specdoctor: Command, name: str, cause: str | None, words: str
) -> None:
    begun = time.process_time()
    result = specdoctor("triage", str(DATA / f"{name}.log.txt"), "--json")
    assert time.process_time() - begun < 2.0
    found = document(result)
    assert result.exit_code == 0
    assert found["verdict"] == "cause"
    (failure,) = found["findings"]  # type: ignore[misc]
    assert failure["cause"] == cause
    assert failure["role"] == "explains"
    assert words in failure["claim"]
    assert failure["evidence"][0]["source"] == f"{name}.log.txt"
    assert failure["fix"]
    facts = found["facts"]
    assert isinstance(facts, dict)
    assert "accept_length" not in facts


def test_a_complaint_brings_the_rivals_out(specdoctor: Command) -> None:
    log = str(DATA / "adjusted.log.txt")
    calm = document(specdoctor("triage", log, "--json"))
    told = [(f["cause"], f["role"]) for f in calm["findings"]]  # type: ignore[attr-defined]  # a list, by the schema
    assert (calm["verdict"], told) == ("healthy", [("CFG-3", "present")])
    worried = document(specdoctor("triage", log, "--symptom", "slower than without", "--json"))
    assert worried["verdict"] == "not-enough-evidence"
    suspected = [f for f in worried["findings"] if f["status"] == "suspected"]  # type: ignore[attr-defined]
    assert suspected
    assert all(f["confidence"] == "low" and f["next_check"] for f in suspected)


def test_for_people_it_is_a_few_lines(specdoctor: Command, report: Path) -> None:
    result = specdoctor("triage", str(report))
    assert result.stdout.startswith("verdict ")
    assert "cmd.txt:1 --speculative-num-draft-tokens 16" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 120


@pytest.mark.parametrize(
    "stored",
    [
        lambda text: gzip.compress(text.encode()),
        lambda text: gzip.compress(text[:3000].encode()) + gzip.compress(text[3000:].encode()),
        lambda text: gzip.compress(text.encode())[:-6],
        lambda text: text.replace("\n", "\r\n").encode("utf-16"),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"\0" * 10000 + text.encode(),
        lambda text: text.encode() + b"\xff\xfe\x1b[2J\0",
    ],
    ids=["gzip", "gzip in parts", "gzip cut off", "utf-16", "byte order mark", "truncated while open", "odd bytes"],
)
def test_a_log_is_read_as_it_is_stored(
    specdoctor: Command, folder: Path, report: Path, stored: Callable[[str], bytes]
) -> None:
    whole = (report / "logs" / "server.log").read_text()
    (folder / "plain.log").write_text(whole)
    (folder / "stored.log").write_bytes(stored(whole))
    plain, other = (document(specdoctor("triage", name, "--json")) for name in ("plain.log", "stored.log"))
    assert plain["facts"]
    assert other["facts"] == plain["facts"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\0" * 5000, "is empty"),
        (bytes(range(256)) * 40, "is no text"),
        (b"\x1f\x8b" + bytes(range(256)), "is compressed and damaged"),
    ],
)
def test_why_a_file_is_not_read_is_said(specdoctor: Command, folder: Path, content: bytes, why: str) -> None:
    (folder / "a.log").write_bytes(content)
    result = specdoctor("triage", "a.log")
    assert result.exit_code == 2
    assert f"a.log {why}" in result.stderr


def test_other_files_are_no_evidence(specdoctor: Command, folder: Path) -> None:
    (folder / "poem.txt").write_text("roses are red\n")
    result = specdoctor("triage", "poem.txt", "--json")
    found = document(result)
    assert result.exit_code == 3
    assert found["engine"] == {"name": None, "version": None, "version_range": None}
    assert found["facts"] == {}
    assert found["missing"]


@pytest.mark.parametrize(
    ("source", "line", "quote"),
    [
        (Source(where="a.log", line=2, quote="second"), 2, "second"),
        (Source(where="a.log", line=1, quote="third"), 3, "third"),
        (Source(where="i.json", key="draft", quote="2"), 1, '"draft": 2'),
        (Source(where="i.json", quote="topk=null"), 2, '"topk"'),
        (Source(where="cmd.txt", key="num_steps", quote="num_steps=3"), 1, "--num-steps 3"),
        (Source(where="a.log", line=2, quote="not there at all"), 2, "the second line"),
    ],
)
def test_a_quote_is_found_where_it_stands(source: Source, line: int, quote: str) -> None:
    texts = {
        "a.log": "first\nthe second line\r\nthe third",
        "i.json": '{"n": 2, "draft": 2,\n"topk": "1"}',
        "cmd.txt": "serve --num-steps 3",
    }
    found = quoted(source, texts)
    assert found is not None
    assert (found.line, found.quote) == (line, quote)
    assert found.quote in texts[source.where].split("\n")[line - 1]


def test_a_source_that_is_no_given_file_is_not_quoted() -> None:
    assert quoted(Source(where="launch line", quote="x"), {"a.log": "x"}) is None
    assert quoted(Source(where="a.log", quote="nowhere"), {"a.log": "x"}) is None
