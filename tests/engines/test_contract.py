"""What every engine adapter promises, whatever the engine."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from specdoctor.assembly.catalogue import all_engines
from specdoctor.core.engine import Engine
from specdoctor.core.errors import EngineError
from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.launch import ORIGINAL, apply_change, launch_flags
from specdoctor.core.server import ServerView, Source, SpecSetting
from tests.engines.contract_samples import SAMPLES, Sample

ENGINES = {engine.name: engine for engine in all_engines()}
EVERY = pytest.mark.parametrize("name", sorted(ENGINES))
READ_ONLY = pytest.mark.parametrize("name", sorted(n for n, s in SAMPLES.items() if not s.restarts))
RESTARTING = pytest.mark.parametrize("name", sorted(n for n, s in SAMPLES.items() if s.restarts))


def sample_of(name: str) -> tuple[Engine, Sample, ServerView]:
    engine, sample = ENGINES[name], SAMPLES[name]
    view = engine.view_from_files(dict(sample.texts))
    assert view is not None
    return engine, sample, view


def opens(source: Source, texts: dict[str, str]) -> bool:
    text = texts[source.where]
    if source.line is not None:
        return source.quote in text.split("\n")[source.line - 1]
    value = json.loads(text)
    for part in (source.key or "").split("."):
        value = value[int(part) if part.isdigit() and isinstance(value, list) else part]
    return source.quote.lower() == str(value).lower()


def test_every_adapter_has_a_sample() -> None:
    assert set(ENGINES) == set(SAMPLES)


@EVERY
def test_it_reads_its_own_server_and_says_where_everything_stands(name: str) -> None:
    _, sample, view = sample_of(name)
    assert (view.engine, view.spec) == (name, sample.spec)
    sources = [s for r in view.rewrites for s in r.sources] + [s for s in (view.effective_source,) if s is not None]
    assert all(opens(source, sample.texts) for source in sources)
    assert ServerView.model_validate_json(view.model_dump_json()) == view


@EVERY
def test_it_claims_no_server_of_another_engine(name: str) -> None:
    engine = ENGINES[name]
    for other, sample in SAMPLES.items():
        if other != name:
            assert engine.view_from_files(dict(sample.texts)) is None, f"{name} claims {other}'s files"
    assert engine.view_from_files({}) is None
    assert engine.view_from_files({"notes.txt": "nothing about a server", "empty.log": "", "a.json": "{}"}) is None


@EVERY
def test_it_finds_the_process_of_its_launch_line_and_no_other(name: str) -> None:
    engine, _, view = sample_of(name)
    process = ProcessFacts(pid=7, ppid=1, start_ticks=9, argv=view.argv)
    (found,) = engine.servers(Facts(processes=(process,)))
    assert (found.argv, found.engine) == (view.argv, name)
    assert found.ref is not None
    assert found.ref.pid == 7
    for other, adapter in ENGINES.items():
        if other != name:
            assert adapter.servers(Facts(processes=(process,))) == ()
    assert engine.servers(Facts()) == ()


@EVERY
def test_its_ready_rules_fit_its_own_log(name: str) -> None:
    engine, sample, view = sample_of(name)
    rules = engine.ready_rules(view.version)
    log = next((text for file, text in sample.texts.items() if file.endswith(".log")), "")
    assert re.search(rules.ready, log)
    ready = next(n for n, line in enumerate(log.split("\n")) if re.search(rules.ready, line))
    started = "\n".join(log.split("\n")[: ready + 1])
    assert not any(re.search(failure, started) for failure in rules.failures)
    assert any(re.search(pattern, started) for pattern, _ in rules.phases)
    assert rules.health_path.startswith("/")


@EVERY
def test_a_healthy_log_shows_no_failure_and_nonsense_none_either(name: str) -> None:
    engine, sample, _ = sample_of(name)
    for text in [*sample.texts.values(), "", "\n\n", "nothing about a server\n"]:
        assert engine.explain_failure(text) is None


@RESTARTING
def test_speculation_off_and_back_on_is_effective_and_touches_nothing_else(name: str) -> None:
    engine, sample, view = sample_of(name)
    off = engine.change_spec(view, SpecSetting(), label="off")
    assert engine.effective_spec(view, off) == SpecSetting()
    without = apply_change(view.argv, off)
    before = {flag: values for flag, values in launch_flags(view.argv).items() if flag not in off.remove_flags}
    assert launch_flags(without) == {**before, **off.set_flags}
    again = engine.change_spec(view, sample.other, label="other")
    assert engine.effective_spec(view, again) == sample.other
    changed = engine.servers(Facts(processes=(ProcessFacts(pid=7, ppid=1, start_ticks=9, argv=without),)))
    assert changed[0].spec == SpecSetting()
    assert engine.effective_spec(view, ORIGINAL) == sample.spec


@RESTARTING
def test_a_change_is_the_same_however_often_it_is_made(name: str) -> None:
    engine, sample, view = sample_of(name)
    for setting in (SpecSetting(), sample.other):
        change = engine.change_spec(view, setting, label="a")
        assert change.key == engine.change_spec(view, setting, label="b").key
        once = apply_change(view.argv, change)
        assert apply_change(once, change) == once


@RESTARTING
def test_a_flag_can_be_set_and_taken_away(name: str) -> None:
    engine, sample, view = sample_of(name)
    change = engine.change_flags(label="x", set_flags={sample.flag: ("value",)})
    argv = apply_change(view.argv, change)
    assert argv[argv.index(sample.flag) + 1] == "value"
    back = engine.change_flags(label="y", set_flags={}, remove_flags=(sample.flag,))
    assert sample.flag not in apply_change(argv, back)


@RESTARTING
def test_the_line_to_paste_is_what_would_be_started(name: str) -> None:
    engine, sample, view = sample_of(name)
    for change in (ORIGINAL, engine.change_spec(view, sample.other, label="x")):
        assert tuple(shlex.split(engine.paste_line(view, change))) == apply_change(view.argv, change)


@READ_ONLY
def test_an_engine_that_is_read_only_refuses_with_a_reason(name: str) -> None:
    engine, sample, view = sample_of(name)
    for refuse in (
        lambda: engine.change_spec(view, SpecSetting(), label="off"),
        lambda: engine.change_flags(label="x", set_flags={sample.flag: ("value",)}),
    ):
        with pytest.raises(EngineError) as refused:
            refuse()
        assert refused.value.next_step
    assert engine.effective_spec(view, ORIGINAL) == sample.spec
