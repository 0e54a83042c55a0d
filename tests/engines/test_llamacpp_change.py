"""Changes of a llama.cpp launch line, and what they will make effective."""

from __future__ import annotations

import pytest

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import ORIGINAL, apply_change
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.llamacpp import engine
from tests.engines.llamacpp_data import texts_of

OLD = "llama-server -m t.gguf -md d.gguf -ngl 99 -ngld 99 --draft-max 8 --draft-min 2 -c 4096"


def view_of(line: str) -> ServerView:
    view = engine.view_from_files({"launch.sh": line})
    assert view is not None
    return view


def setting(kind: str, steps: int) -> SpecSetting:
    return SpecSetting(algorithm=kind, draft_steps=steps, topk=1, draft_tokens=steps + 1)


def test_speculation_off_takes_the_draft_with_all_its_flags_and_nothing_else() -> None:
    view = view_of(OLD)
    change = engine.change_spec(view, SpecSetting(), label="off")
    assert apply_change(view.argv, change) == ("llama-server", "-m", "t.gguf", "-ngl", "99", "-c", "4096")
    assert engine.effective_spec(view, change) == SpecSetting()


def test_another_length_keeps_the_spelling_of_the_line() -> None:
    view = view_of(OLD)
    change = engine.change_spec(view, setting("draft-simple", 3), label="3")
    assert change.set_flags == {"--draft-max": ("3",)}
    assert engine.effective_spec(view, change) == setting("draft-simple", 3)


def test_a_draft_that_is_not_in_use_gets_its_type() -> None:
    view = engine.view_from_files(texts_of("eagle3_no_spec_type"))
    assert view is not None
    assert view.asked_spec == setting("draft-eagle3", 3)
    change = engine.change_spec(view, view.asked_spec, label="as asked")
    assert change.set_flags == {"--spec-type": ("draft-eagle3",), "--spec-draft-n-max": ("3",)}
    assert engine.effective_spec(view, change) == view.asked_spec


def test_lengths_of_n_grams_have_flags_of_their_own() -> None:
    view = view_of("llama-server -m t.gguf --spec-type ngram-simple")
    change = engine.change_spec(view, setting("ngram-simple", 8), label="8")
    assert change.set_flags == {"--spec-ngram-simple-size-m": ("8",)}
    assert engine.effective_spec(view, change) == setting("ngram-simple", 8)


def test_variables_that_would_still_count_are_removed() -> None:
    view = view_of("LLAMA_ARG_SPEC_TYPE=draft-simple LLAMA_ARG_SPEC_DRAFT_N_MAX=6 llama-server -m t.gguf -md d.gguf")
    off = engine.change_spec(view, SpecSetting(), label="off")
    assert off.remove_env == ("LLAMA_ARG_SPEC_DRAFT_N_MAX", "LLAMA_ARG_SPEC_TYPE")
    assert engine.effective_spec(view, off) == SpecSetting()
    longer = engine.change_spec(view, setting("draft-simple", 9), label="9")
    assert engine.effective_spec(view, longer) == setting("draft-simple", 9)


def test_a_change_of_a_flag_takes_its_other_spellings_too() -> None:
    change = engine.change_flags(label="x", set_flags={"--ctx-size": ("8192",)}, remove_flags=("--metrics",))
    argv = apply_change(("llama-server", "-c", "4096", "--metrics", "-m", "t.gguf"), change)
    assert argv == ("llama-server", "-m", "t.gguf", "--ctx-size", "8192")


def test_what_this_engine_cannot_do_is_refused_with_the_way_out() -> None:
    view = view_of("llama-server -m t.gguf")
    with pytest.raises(EngineError, match="needs a draft model"):
        engine.change_spec(view, setting("draft-eagle3", 3), label="x")
    tree = SpecSetting(algorithm="draft-simple", draft_steps=3, topk=4, draft_tokens=16)
    with pytest.raises(EngineError, match="chains only"):
        engine.change_spec(view_of(OLD), tree, label="x")


def test_the_line_to_paste_names_secrets_only() -> None:
    view = view_of("llama-server -m 'my model.gguf' --api-key sk-abcdefghijklmnopqrstuv")
    assert engine.paste_line(view, ORIGINAL) == "llama-server -m 'my model.gguf' --api-key \"$LLAMA_API_KEY\""
