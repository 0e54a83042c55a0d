from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.render.layout import clip, columns, gapped, labelled, paste_lines, width_of, wrap

LONG = "python3 -m sglang.launch_server --model-path /models/a --tp 8 --chat-template '/tmp/a file' --trust-remote-code"


def test_clip_marks_what_it_cuts() -> None:
    assert clip("0123456789", 10) == "0123456789"
    assert clip("0123456789a", 10) == "0123456..."
    assert clip("abc", 2) == ".."


@given(st.text(), st.integers(3, 40))
def test_clip_and_wrap_keep_to_the_width(text: str, width: int) -> None:
    assert width_of(clip(text, width)) <= width
    assert all(width_of(line) <= width for line in wrap(text, width, cut_words=True))


def test_a_word_that_is_too_long_stays_whole_so_that_it_can_be_copied() -> None:
    assert wrap("see /models/a/very/long/path here", 10) == ["see", "/models/a/very/long/path", "here"]


def test_wide_characters_count_twice() -> None:
    assert wrap("模型 模型", 5) == ["模型", "模型"]


def test_a_label_stands_beside_its_text() -> None:
    assert labelled("verdict", "one two three", label_width=9, width=18) == ["verdict  one two", "         three"]


def test_gapped_parts_are_left_out_from_the_end() -> None:
    assert gapped(("one", "", "two"), 20) == "one   two"
    assert gapped(("a first part", "a second part"), 18) == "a first part"


def test_columns_fit_the_width_and_wrap_the_last() -> None:
    table = columns(
        ("NAME", "SUMMARY"), [("layer-wiring", "compares the layers that are captured with those trained on")], width=40
    )
    assert table.split("\n") == [
        "NAME          SUMMARY",
        "layer-wiring  compares the layers that",
        "              are captured with those",
        "              trained on",
    ]


ROWS = [
    ("speculative_num_draft_tokens", "16", "2", "the engine's own rule", "a chain of one step has two tokens"),
    ("max_running_requests", "none said", "48", "", "x"),
]


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120])
def test_no_cell_of_a_table_is_cut_whatever_the_width(width: int) -> None:
    header = ("ARGUMENT", "ASKED", "IN FORCE", "HOW", "RULE")
    table = columns(header, ROWS, width=width)
    assert "..." not in table
    words = table.split()
    assert all(word in words for row in ROWS for cell in row for word in cell.split())
    assert all(word in words for head in header[1:] for word in head.split())
    assert all(width_of(line) <= max(width, 28) for line in table.split("\n"))


def test_a_long_word_of_the_last_column_squeezes_no_other() -> None:
    word = "eagle_config.eagle_aux_hidden_state_ids"
    rows = [("captured by", "", ""), ("vllm 0.32.0", "embed out(5)", f"{word} in it"), ("configured", "[5]", word)]
    assert columns(("", "states", "from"), rows, width=58).split("\n") == [
        "             states        from",
        "captured by",
        "vllm 0.32.0  embed out(5)",
        " " * 19 + word,
        "                           in it",
        "configured   [5]   " + word,
    ]


def test_a_table_that_has_no_room_stands_row_by_row() -> None:
    assert columns(("NAME", "ENGINE", "ABOUT"), [("healthy-one", "sglang", ""), ("b", "", "a b c d e")], width=16) == (
        "healthy-one\n  ENGINE sglang\nb\n  ABOUT a b c d\n    e"
    )


def test_a_text_without_room_beside_its_label_stands_below() -> None:
    assert labelled("not known", "why it is slow", label_width=12, width=20) == ["not known", "  why it is slow"]
    assert labelled("", "why it is slow", label_width=12, width=20) == ["  why it is slow"]


@pytest.mark.parametrize("width", [24, 40, 60, 200])
def test_a_pasted_command_is_the_same_command(width: int) -> None:
    lines = paste_lines(LONG, width=width)
    pasted = subprocess.run(
        ["sh", "-c", "printf '%s\\n' " + "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert pasted.stdout.splitlines() == shlex.split(LONG)
    if width >= 60:
        assert all(width_of(line) <= width for line in lines)


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), max_size=12), min_size=1, max_size=8))
def test_any_quoted_command_survives_pasting(words: list[str]) -> None:
    command = shlex.join(words)
    # A shell drops a backslash before a line end; shlex does not.
    pasted = "\n".join(paste_lines(command, width=30)).replace(" \\\n", " ")
    assert shlex.split(pasted) == words


def test_a_command_that_no_shell_would_split_is_left_alone() -> None:
    broken = "echo 'unfinished " + "x " * 60
    assert paste_lines(broken, width=40) == [broken.strip()]
