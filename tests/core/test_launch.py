"""Changes to a launch line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.launch import ORIGINAL, LaunchChange, apply_change, difference_of_lines, launch_flags
from specdoctor.core.secret_shapes import MASK

BASE = (
    "python3",
    "-m",
    "sglang.launch_server",
    "--model-path",
    "/m",
    "--speculative-num-steps",
    "1",
    "--port",
    "30000",
)


@pytest.mark.parametrize(
    ("argv", "change", "expected"),
    [
        (BASE, ORIGINAL, BASE),
        (
            BASE,
            LaunchChange(label="x", set_flags={"--speculative-num-steps": ("15",)}),
            (*BASE[:6], "15", *BASE[7:]),
        ),
        (
            ("s", "--a=1", "--b", "2"),
            LaunchChange(label="x", set_flags={"--a": ("9",)}, remove_flags=("--b",)),
            ("s", "--a", "9"),
        ),
        (
            ("s", "--off", "word", "--b"),
            LaunchChange(label="x", remove_flags=("--off",), switches=("--off",)),
            ("s", "word", "--b"),
        ),
        (("s", "--l", "1", "2", "3", "--b"), LaunchChange(label="x", remove_flags=("--l",)), ("s", "--b")),
        (("s", "--a", "1", "--a", "2"), LaunchChange(label="x", set_flags={"--a": ("3",)}), ("s", "--a", "3")),
        (
            ("s", "-m", "/t", "-md", "/d", "-ngl", "-1", "-fa"),
            LaunchChange(label="x", remove_flags=("-md",)),
            ("s", "-m", "/t", "-ngl", "-1", "-fa"),
        ),
        (
            ("s", "-ngl", "-1", "-m", "/t"),
            LaunchChange(label="x", set_flags={"-ngl": ("9",)}),
            ("s", "-ngl", "9", "-m", "/t"),
        ),
        (("s",), LaunchChange(label="x", set_flags={"--b": (), "--a": ("1",)}), ("s", "--a", "1", "--b")),
    ],
)
def test_changes(argv: tuple[str, ...], change: LaunchChange, expected: tuple[str, ...]) -> None:
    assert apply_change(argv, change) == expected


def test_key_tells_changes_apart_and_not_their_names() -> None:
    one = LaunchChange(label="one", set_flags={"--a": ("1",)})
    assert one.key == LaunchChange(label="two", set_flags={"--a": ("1",)}).key
    assert one.key != LaunchChange(label="one", set_flags={"--a": ("2",)}).key
    assert ORIGINAL.key == "original"


@given(st.lists(st.sampled_from([("--a", "1"), ("--b", "x y"), ("--c=3",), ("--d", "4"), ("--e",)]), max_size=8))
def test_a_change_applied_twice_is_applied_once(pairs: list[tuple[str, ...]]) -> None:
    words = [word for pair in pairs for word in pair]
    change = LaunchChange(label="x", set_flags={"--a": ("7",)}, remove_flags=("--b", "--c"))
    once = apply_change(("s", *words), change)
    assert apply_change(once, change) == once
    assert "--b" not in once
    assert once.count("--a") == 1


def test_short_flags_are_flags_and_an_interpreters_module_is_none() -> None:
    assert launch_flags(("/b/llama-server", "-md", "/d", "--port", "1")) == {"-md": ("/d",), "--port": ("1",)}
    assert launch_flags(BASE) == launch_flags(("/v/python3.11", "-u", *BASE[1:]))
    assert "-m" not in launch_flags(BASE)


def test_a_line_that_begins_with_a_flag_keeps_it() -> None:
    assert launch_flags(("--a", "1", "--b=2", "--c")) == {"--a": ("1",), "--b": ("2",), "--c": ()}
    assert launch_flags(("-md", "/d")) == {"-md": ("/d",)}


def test_what_makes_one_line_the_other() -> None:
    wanted = ("/v/python3", "-m", "sglang.launch_server", "--model-path", "/m", "--off", "--port", "1")
    assert difference_of_lines(BASE, wanted) == ({"--off": ()}, ("--speculative-num-steps",))
    assert difference_of_lines(BASE, BASE) is None
    assert difference_of_lines(("vllm", "serve", "A", "--x"), ("vllm", "serve", "B", "--y")) is None
    assert difference_of_lines(BASE, ("llama-server", "--y")) is None
    assert difference_of_lines(("s", "--key", MASK, "--a"), ("s", "--key", "$KEY", "--a")) is None
