"""The host changes a launch line by the same rules as we do, whatever the line and the change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.launch import LaunchChange, apply_change
from tests.remote.workplace import loaded

LINES = loaded("parts.launch_line")
FLAGS = ["--a", "--b", "--speculative-num-steps", "--c-d", "-x", "--"]
WORDS = st.one_of(
    st.sampled_from([*FLAGS, "--a=1", "--b=", "--c-d=x=y", "--speculative-num-steps=3", "v", "", "-1", "serve", "a b"]),
    st.text(max_size=4),
)
CHANGES = st.builds(
    LaunchChange,
    label=st.just("x"),
    words=st.dictionaries(st.sampled_from(["serve", "v", "--a"]), st.sampled_from(["/w/serve", ""]), max_size=2),
    set_flags=st.dictionaries(st.sampled_from(FLAGS), st.lists(st.text(max_size=3), max_size=2).map(tuple), max_size=3),
    remove_flags=st.lists(st.sampled_from(FLAGS), max_size=3).map(tuple),
    switches=st.lists(st.sampled_from(FLAGS), max_size=3).map(tuple),
    set_env=st.dictionaries(st.sampled_from("ABC"), st.text(max_size=3), max_size=2),
    remove_env=st.lists(st.sampled_from("ABC"), max_size=2).map(tuple),
)


@given(st.lists(WORDS, max_size=8), CHANGES)
def test_both_sides_change_a_line_alike(argv: list[str], change: LaunchChange) -> None:
    assert tuple(LINES.changed_argv(argv, change.model_dump(mode="json"))) == apply_change(tuple(argv), change)


@given(st.dictionaries(st.sampled_from("ABCD"), st.text(max_size=3)), CHANGES)
def test_the_environment_keeps_what_is_not_changed(env: dict[str, str], change: LaunchChange) -> None:
    after = LINES.changed_env(env, change.model_dump(mode="json"))
    assert {name: after[name] for name in change.set_env} == change.set_env
    for name, value in env.items():
        if name not in change.set_env:
            assert after.get(name) == (None if name in change.remove_env else value)
    assert set(after) <= set(env) | set(change.set_env)
