"""What a person may give: files, folders, archives, a paste; nothing in them is fatal."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specdoctor.cli.archives import leads_out
from specdoctor.cli.given_files import read_given
from specdoctor.cli.long_logs import HEAD_BYTES, TAIL_BYTES, WHOLE_BYTES, gathered
from specdoctor.core.errors import UsageError

FILES = {"server.log": b"one\ntwo\n", "sub/notes.txt": b"three\n"}


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path / "r.zip", "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return path / "r.zip"


def tarred(path: Path) -> Path:
    with tarfile.open(path / "r.tar.gz", "w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path / "r.tar.gz"


def folder(path: Path) -> Path:
    for name, content in FILES.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(content)
    return path


@pytest.mark.parametrize("made", [zipped, tarred, folder])
def test_folders_and_archives_give_the_same(tmp_path: Path, made: Callable[[Path], Path]) -> None:
    assert read_given([made(tmp_path)]).texts == {name: content.decode() for name, content in FILES.items()}


def test_a_list_of_files_beside_an_archive(tmp_path: Path) -> None:
    archive = zipped(tmp_path)
    (tmp_path / "a.log").write_text("x\n")
    assert sorted(read_given([tmp_path / "a.log", archive]).texts) == [
        "a.log",
        "r.zip/server.log",
        "r.zip/sub/notes.txt",
    ]


def test_hostile_members_of_a_tar_are_named_and_not_read(tmp_path: Path) -> None:
    kinds = {
        "../../etc/x": tarfile.REGTYPE, "/etc/y": tarfile.REGTYPE, "a.log": tarfile.REGTYPE, "link": tarfile.SYMTYPE,
        "hard": tarfile.LNKTYPE, "zero": tarfile.CHRTYPE, "disk": tarfile.BLKTYPE, "pipe": tarfile.FIFOTYPE,
    }  # fmt: skip
    with tarfile.open(tmp_path / "r.tar.gz", "w:gz") as archive:
        for name, kind in kinds.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size = kind, "/etc/passwd", 2 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"y\n"))
    given = read_given([tmp_path / "r.tar.gz"])
    assert given.texts == {"a.log": "y\n"}
    assert set(given.problems) == set(kinds) - {"a.log"}
    assert "(..)" in given.problems["../../etc/x"]
    assert "absolute" in given.problems["/etc/y"]
    assert "device" in given.problems["zero"]


def test_hostile_members_of_a_zip_are_named_and_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        for member in ("..\\x", "C:\\y", link, "a.log"):
            archive.writestr(member, b"z\n")
    given = read_given([tmp_path / "r.zip"])
    assert given.texts == {"a.log": "z\n"}
    assert len(given.problems) == 3
    assert leads_out("a/../../b")
    assert not leads_out("./a/b..c")


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_what_unpacks_to_too_much_is_left_and_named(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specdoctor.cli.archives.LARGEST_BYTES", 4 << 20)
    (tmp_path / "a.log").write_text("one\n")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(8 << 20))
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("zeros")
        member.size = 8 << 20
        tar.addfile(member, io.BytesIO(bytes(8 << 20)))
    given = read_given([tmp_path / "a.log", tmp_path / f"bomb.{kind}"])
    assert given.texts == {"a.log": "one\n"}
    assert "unpacks to more than" in given.problems[f"bomb.{kind}"]


def test_links_out_of_a_folder_are_named_and_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "report", tmp_path / "elsewhere"
    inside.mkdir()
    outside.mkdir()
    (outside / "other.log").write_text("other\n")
    (inside / "a.log").write_text("one\n")
    (inside / "b.log").symlink_to("a.log")
    (inside / "etc").symlink_to("/etc")
    (inside / "other.log").symlink_to(outside / "other.log")
    (inside / "gone").symlink_to("nothing")
    (inside / "loop").symlink_to("loop")
    os.mkfifo(inside / "pipe")
    given = read_given([inside])
    assert set(given.texts) == {"a.log", "b.log"}
    assert set(given.problems) == {"etc", "other.log", "gone", "loop", "pipe"}
    assert "leads out of the folder" in given.problems["etc"]


def test_a_packed_log_in_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("server.log.gz", gzip.compress(b"one\n"))
    assert read_given([tmp_path / "r.zip"]).texts == {"server.log.gz": "one\n"}


@pytest.mark.parametrize("content", [b"PK\x03\x04broken", b"\x1f\x8bbroken", b"nothing of the kind"])
def test_broken_archives_are_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    (tmp_path / "a.log").write_text("one\n")
    given = read_given([tmp_path])
    assert list(given.texts) == ["a.log"]
    assert "cannot be read" in given.problems["a.tar.gz"]


def test_what_could_not_be_read_is_named_and_the_rest_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\n")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 20)
    given = read_given([tmp_path])
    assert (given.texts, given.problems) == ({"a.log": "one\n"}, {"b.bin": "is no text"})


def test_a_damaged_zst_is_said_whatever_can_unpack_it_here(tmp_path: Path) -> None:
    (tmp_path / "a.log.zst").write_bytes(b"\x28\xb5\x2f\xfd broken")
    (tmp_path / "b.log").write_text("one\n")
    assert any(words in read_given([tmp_path]).problems["a.log.zst"] for words in ("damaged", "unpack it (zstd -d)"))


def test_a_folder_of_too_many_files_is_read_in_part_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specdoctor.cli.given_files.MOST_FILES", 20)
    for number in range(27):
        (tmp_path / f"{number:04}.log").write_text("one\n")
    given = read_given([tmp_path])
    assert len(given.texts) == 20
    assert list(given.problems) == ["further files"]
    assert "7 of them" in given.problems["further files"]


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no text file"):
        read_given([tmp_path])


def lines(total: int) -> Iterator[bytes]:
    """Decode lines with their number, in pieces that end anywhere."""
    out = bytearray(b"first line\nserver_args=ServerArgs(model_path='m')\n")
    number = 2
    made = 0
    while made < total:
        number += 1
        error = b"ERROR once\n" if number == 150_000 else b""
        out += (
            error or b"%d TP0] Decode batch. #running-req: 1, gen throughput (token/s): 10.0, #queue-req: 0\n" % number
        )
        if len(out) > 100_000:
            made += len(out)
            yield bytes(out)
            out.clear()
    yield bytes(out) + b"last line\n"


def test_a_long_log_keeps_the_numbers_of_its_lines() -> None:
    found = gathered(lines(WHOLE_BYTES + (8 << 20)))
    text = found.text.split(b"\n")
    assert len(found.text) < HEAD_BYTES + TAIL_BYTES + (6 << 20)
    assert (text[0], text[-2]) == (b"first line", b"last line")
    assert text[149_999] == b"ERROR once"
    numbered = [(n, line) for n, line in enumerate(text, start=1) if b"] Decode" in line]
    assert all(int(line.split(b" ")[0]) == n for n, line in numbered)
    middle = [n for n, _ in numbered if 100_000 < n < 200_000]
    assert len(middle) > 100
    assert "MiB were read" in found.left_out


@pytest.mark.slow
def test_the_means_of_a_long_log_are_of_all_its_lines(tmp_path: Path) -> None:
    line = "Decode batch. #running-req: 1, #token: 9, token usage: 0.01, accept len: {:.2f}, accept rate: 0.50, "
    line += "cuda graph: True, gen throughput (token/s): {:.2f}, #queue-req: 0\n"
    low, high = line.format(1.5, 50), line.format(2.5, 100)
    many = (WHOLE_BYTES // len(low)) + 1
    with (tmp_path / "server.log").open("w") as file:
        for _ in range(many // 1000):
            file.write(low * 1000)
        for _ in range(many // 1000):
            file.write(high * 1000)
        file.write(high * 2 + line.format(1.0, 7).rstrip())
    given = read_given([tmp_path / "server.log"])
    count = 2 * (many // 1000) * 1000 + 3
    assert len(given.texts["server.log"]) < 0.5 * 2 * WHOLE_BYTES
    whole = given.wholes["server.log"]
    assert whole.lines == count
    half = many // 1000 * 1000
    assert whole.accept_length == pytest.approx((1.5 * half + 2.5 * (half + 2) + 1.0) / count, rel=1e-12)
    assert whole.throughput_tok_s == pytest.approx((50 * half + 100 * (half + 2) + 7) / count, rel=1e-12)
    assert f"the means are of all {count} decode lines" in given.problems["server.log"]


def test_a_short_text_is_left_as_it_is() -> None:
    pieces = [b"a\nb", b"c\n", b"\xff"]
    found = gathered(pieces)
    assert (found.text, found.left_out) == (b"".join(pieces), "")


def test_a_long_text_without_any_line_ends() -> None:
    found = gathered(b"x" * (1 << 20) for _ in range(40))
    assert found.left_out
    assert len(found.text) < WHOLE_BYTES


def test_a_named_pipe_is_waited_for_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    keeper = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(keeper, b"one\n")
    reading = threading.Timer(0.05, os.close, (keeper,))
    reading.start()
    assert read_given([tmp_path / "pipe"]).texts == {"pipe": "one\n"}
    reading.join()
    assert "pipe is a pipe: waiting for what is written to it, at most 30 s" in capsys.readouterr().err
