"""A llama.cpp server from its files: effective speculation of real servers, and the launch lines of old and new."""

from __future__ import annotations

import json

import pytest

from specdoctor.assembly.catalogue import all_checks
from specdoctor.core.facts import Facts
from specdoctor.core.ports import Scene
from specdoctor.core.server import ServerView, Source, SpecSetting
from specdoctor.engines.llamacpp import engine
from tests.engines.llamacpp_data import SCENARIOS, texts_of

OFF = SpecSetting()


def chain(kind: str, steps: int) -> SpecSetting:
    return SpecSetting(algorithm=kind, draft_steps=steps, topk=1, draft_tokens=steps + 1)


IN_FORCE = {
    "baseline": OFF,
    "draft_no_spec_type": OFF,
    "draft_othertok": OFF,
    "draft_random": chain("draft-simple", 4),
    "draft_simple": chain("draft-simple", 4),
    "draft_simple_k12": chain("draft-simple", 12),
    "draft_vocab768": OFF,
    "eagle3": chain("draft-eagle3", 3),
    "eagle3_as_simple": chain("draft-simple", 3),
    "eagle3_aux_early": chain("draft-eagle3", 3),
    "eagle3_aux_missing": chain("draft-eagle3", 3),
    "eagle3_aux_off1": chain("draft-eagle3", 3),
    "eagle3_aux_two": chain("draft-eagle3", 3),
    "eagle3_d2t_absolute": chain("draft-eagle3", 3),
    "eagle3_d2t_zero": chain("draft-eagle3", 3),
    "eagle3_k12": chain("draft-eagle3", 12),
    "eagle3_no_spec_type": OFF,
    "eagle3_random": chain("draft-eagle3", 3),
    "eagle3_temp1": chain("draft-eagle3", 3),
    "ngram_simple": chain("ngram-simple", 48),
}


def read(texts: dict[str, str]) -> ServerView:
    view = engine.view_from_files(texts)
    assert view is not None
    return view


def opens(source: Source, texts: dict[str, str]) -> bool:
    text = texts[source.where]
    if source.line is not None:
        return source.quote in text.split("\n")[source.line - 1]
    value = json.loads(text)
    for part in (source.key or "").split("."):
        value = value[int(part) if part.isdigit() and isinstance(value, list) else part]
    return source.quote == (str(value).lower() if isinstance(value, bool) else str(value))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_speculation_in_force_of_every_captured_server(scenario: str) -> None:
    texts = texts_of(scenario)
    view = read(texts)
    assert view.engine == "llamacpp"
    assert view.spec == IN_FORCE[scenario]
    assert view.model_path == "/models/tiny-target-wide.gguf"
    sources = [s for r in view.rewrites for s in r.sources]
    assert all(opens(source, texts) for source in [*sources, *filter(None, [view.effective_source])])


@pytest.mark.parametrize("scenario", ["draft_no_spec_type", "eagle3_no_spec_type"])
def test_a_draft_without_a_type_is_dropped_and_the_type_that_fits_is_named(scenario: str) -> None:
    rewrite = read(texts_of(scenario)).rewrites[0]
    assert (rewrite.kind, rewrite.key, rewrite.cause, rewrite.logged) == ("dropped", "model_draft", "CFG-1", None)
    kind = "draft-eagle3" if "eagle3" in scenario else "draft-simple"
    assert f"--spec-type {kind}:" in rewrite.fix


@pytest.mark.parametrize("scenario", ["draft_othertok", "draft_vocab768"])
def test_a_refused_pair_is_dropped_by_the_engines_own_word(scenario: str) -> None:
    rewrite = read(texts_of(scenario)).rewrites[0]
    assert (rewrite.kind, rewrite.cause, rewrite.rule) == ("dropped", "MIS-1", "context-refused")
    assert rewrite.logged is not None
    assert "vocab type must match" in rewrite.logged


def test_counters_and_slots_are_read_and_props_are_not_believed_about_speculation() -> None:
    view = read(texts_of("eagle3"))
    assert view.lifetime_counts is not None
    assert (view.lifetime_counts.drafts, view.lifetime_counts.accepted) == (333, 679)
    assert view.lifetime_accept_length == pytest.approx(1 + 679 / 333)
    assert view.effective_source is not None
    assert (view.effective_source.where, view.effective_source.key) == ("slots.json", "0.speculative")
    assert '"speculative.types":"none"' in texts_of("eagle3")["props.json"]


def test_slots_stand_above_what_the_launch_line_would_make() -> None:
    texts = {"launch.sh": "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 4"}
    off = read({**texts, "slots.json": '[{"id":0,"n_ctx":1024,"speculative":false,"is_processing":false}]'})
    assert off.spec == OFF
    assert read(texts).spec == chain("draft-simple", 4)


@pytest.mark.parametrize(
    ("line", "spec"),
    [
        ("./build/bin/llama-server -m t.gguf -md d.gguf --draft-max 8", chain("draft-simple", 8)),
        ("llama-server -m t.gguf --model-draft d.gguf --draft-max 16 --draft-p-min 0.4", chain("draft-simple", 16)),
        ("llama-server -m t.gguf -md d.gguf --spec-draft-n-max 4", OFF),
        ("llama-server -m t.gguf -md d.gguf", None),
        ("llama-server -m t.gguf -md mtp-head.gguf --spec-draft-n-max 2", chain("draft-mtp", 2)),
        ("llama-server -m t.gguf --spec-type draft-mtp", chain("draft-mtp", 3)),
        ("llama-server -m t.gguf --spec-type ngram-mod,draft-simple -md d.gguf --spec-draft-n-max 5",
         chain("ngram-mod,draft-simple", 64)),
        ("llama-server -m t.gguf --spec-type draft-simple,none -md d.gguf --spec-draft-n-max 5", OFF),
        ("llama-server -m t.gguf --spec-default", chain("ngram-mod", 64)),
        ("./speculative -m t.gguf -md d.gguf --draft 8 -f p.txt", chain("draft-simple", 8)),
        ("python3 -m llama_cpp.server --model t.gguf --draft_model prompt-lookup-decoding", chain("prompt-lookup", 10)),
        ("docker run -p 80:80 ghcr.io/ggml-org/llama.cpp:server -m t --spec-type draft-mtp", chain("draft-mtp", 3)),
        ("export LLAMA_ARG_SPEC_TYPE=draft-simple\nLLAMA_ARG_SPEC_DRAFT_N_MAX=6 llama-server -m t.gguf -md d.gguf",
         chain("draft-simple", 6)),
    ],
)  # fmt: skip
def test_launch_lines_of_old_and_new_builds(line: str, spec: SpecSetting | None) -> None:
    assert read({"launch.sh": line}).spec == spec


def test_the_build_of_the_log_decides_what_a_line_means() -> None:
    line = "llama-server -m t.gguf -md d.gguf\n"
    assert read({"a.sh": line, "l.log": "build: 6100 (a1b2c3d4) with cc\n"}).spec == chain("draft-simple", 16)
    new = read({"a.sh": line, "l.log": "build: 10068 (a1b2c3d4) with cc\n"})
    assert (new.spec, new.rewrites[0].rule, new.version) == (OFF, "no-spec-type", "b10068")
    between = read({"a.sh": line, "l.log": "build: 9000 (a1b2c3d4) with cc\n"})
    assert between.spec is None
    assert any("changed" in doubt for doubt in between.version_doubts)


def test_defaults_that_changed_are_named_where_nobody_asked() -> None:
    line = "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 64\n"
    log = "build: 10068 (571d0d54) with cc\ncommon_speculative_init: adding speculative implementation 'draft-simple'\n"
    view = read({"a.sh": line, "l.log": log + "common_speculative_impl_draft_simple: n_max=64, n_min=0, p_min=0.00\n"})
    rewrite = next(r for r in view.rewrites if r.key == "spec_draft_p_min")
    assert (rewrite.kind, rewrite.effective, rewrite.cause) == ("defaulted", "0.0", "CFG-1")
    assert [source.where for source in rewrite.sources] == ["l.log"]


def test_of_several_lines_the_one_that_the_log_fits_is_taken() -> None:
    lines = "llama-server -m t.gguf\nllama-server -m t.gguf --spec-type draft-mtp --spec-draft-n-max 2\n"
    log = "srv    load_model: loading model 't.gguf'\nmain: server is listening on http://h:1\n"
    slot = "slot print_timing: id  0 | task 0 | "
    timing = f"{slot}eval time = 9.0 ms / 9 tokens ( 1.0 ms per token, 1000.0 tokens per second)\n"
    drafted = timing + f"{slot}draft acceptance = 0.5 (    4 accepted /     8 generated)\n"
    assert read({"l.sh": lines, "s.log": log + timing}).spec == OFF
    assert read({"l.sh": lines, "s.log": log + drafted}).spec == chain("draft-mtp", 2)


@pytest.mark.parametrize(
    "texts",
    [
        {"serve.sh": "vllm serve m --speculative-config '{}'", "server.log": "INFO 06-01 vllm engine ready\n"},
        {"run.sh": "python3 -m sglang.launch_server --model-path m.gguf"},
        {"notes.txt": "we tried llama-server as well"},
        {"main.sh": "./main --help"},
        {},
    ],
)
def test_files_of_others_are_not_claimed(texts: dict[str, str]) -> None:
    assert engine.view_from_files(texts) is None


def test_a_log_tells_what_kind_of_drafter_a_file_without_a_telling_name_is() -> None:
    """Only a file of that architecture makes the engine say so, whatever it is used as."""
    texts = texts_of("eagle3_as_simple")
    renamed = {name: text.replace("tiny-eagle3.gguf", "head.gguf") for name, text in texts.items()}
    view = read(renamed)
    assert view.draft_config == {"general.architecture": "eagle3"}
    log = view.log
    assert log is not None
    scene = Scene(view=view, facts=Facts())
    (found,) = [o for check in all_checks() if check.name == "draft-method" for o in check.judge(scene)]
    assert (found.cause, found.stance, found.fix) == ("CFG-2", "supports", "start with --spec-type draft-eagle3")
    assert any(opens(source, renamed) and "eagle3 requires" in source.quote for source in found.sources)
