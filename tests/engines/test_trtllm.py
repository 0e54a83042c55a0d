"""TensorRT-LLM from files and processes: what is asked, what is ignored, and that nothing of it is restarted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.errors import EngineError
from specdoctor.core.facts import Facts, FileFacts, HttpReply, ProcessFacts
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.trtllm import engine

LAUNCH = "#!/bin/sh\ntrtllm-serve /models/target --extra_llm_api_options /data/config.yaml --host 0.0.0.0 --port 8001\n"
CONFIG = """max_batch_size: 8
speculative_config:
  decoding_type: Eagle
  max_draft_len: 3
  speculative_model_dir: /models/draft
"""
LOG = """[TensorRT-LLM] TensorRT-LLM version: 1.2.0rc8
[01/22/2026-09:14:31] [TRT-LLM] [I] Loading /models/target, 4 shards
INFO:     Application startup complete.
"""


def read(**texts: str) -> ServerView:
    view = engine.view_from_files({name.replace("__", "."): text for name, text in texts.items()})
    assert view is not None
    return view


def test_the_options_file_decides_and_the_log_names_the_release() -> None:
    view = read(launch__sh=LAUNCH, config__yaml=CONFIG, server__log=LOG)
    assert (view.version, view.state, view.model_path) == ("1.2.0rc8", "running", "/models/target")
    assert view.spec == SpecSetting(algorithm="Eagle3", draft_steps=3, topk=1, draft_tokens=4)
    assert view.draft_path == "/models/draft"
    (alias,) = view.rewrites
    assert (alias.key, alias.asked, alias.effective, alias.cause) == ("decoding_type", "Eagle", "Eagle3", None)
    assert view.asked["speculative_config.max_draft_len"] == "3"


@pytest.mark.parametrize(
    ("section", "spec"),
    [
        ("decoding_type: MTP", None),
        ("decoding_type: MTP\n  num_nextn_predict_layers: 2", ("MTP", 2, 1, 3)),
        ("decoding_type: NGram\n  max_draft_len: 4\n  max_matching_ngram_size: 2", ("NGram", 4, 1, 5)),
        ("decoding_type: Eagle3\n  max_draft_len: 4\n  use_dynamic_tree: true\n  dynamic_tree_max_topK: 8",
         ("Eagle3", 4, 8, 33)),
        ("decoding_type: Eagle3\n  max_draft_len: 4\n  dynamic_tree_max_topK: 8", ("Eagle3", 4, 1, 5)),
    ],
)  # fmt: skip
def test_lengths_by_kind_of_drafting(section: str, spec: tuple[str, int, int, int] | None) -> None:
    found = read(config__yaml=f"speculative_config:\n  {section}\n").spec
    shown = None if found is None else (found.algorithm, found.draft_steps, found.topk, found.draft_tokens)
    assert shown == spec


def test_options_without_an_effect_are_named_with_their_line() -> None:
    view = read(
        config__yaml=CONFIG.replace("Eagle\n", "Eagle3\n") + "  eagle3_one_model: false\n  dynamic_tree_max_topK: 4\n"
    )
    assert [(r.key, r.kind, r.rule) for r in view.rewrites] == [
        ("eagle3_one_model", "dropped", "one-model-only"),
        ("dynamic_tree_max_topK", "dropped", "no-dynamic-tree"),
    ]
    assert [(s.line, s.quote) for r in view.rewrites for s in r.sources] == [
        (6, "eagle3_one_model: false"),
        (7, "dynamic_tree_max_topK: 4"),
    ]


def test_counts_of_iterations_and_of_prometheus() -> None:
    def one(accepted: int) -> dict[str, object]:
        stats = {"numDraftTokens": 6, "numAcceptedTokens": accepted, "numRequestsWithDraftTokens": 2}
        return {"iter": 1, "iterLatencyMS": 9.0, "specDecodingStats": stats}

    view = read(config__yaml=CONFIG, metrics__json=json.dumps([one(6), one(0)]))
    assert view.lifetime_counts is not None
    assert view.lifetime_accept_length == pytest.approx(1 + 6 / 4)
    series = (
        'trtllm_spec_decode_num_draft_tokens_total{model="m"} 90\ntrtllm_spec_decode_num_accepted_tokens_total 30.0\n'
    )
    counted = read(config__yaml=CONFIG, metrics__txt=series).lifetime_counts
    assert counted is not None
    assert (counted.drafted, counted.accepted, counted.drafts) == (90, 30, None)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("ValueError: Not enough hidden layers for default EAGLE3 capture", "WIRE-1"),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 error\nmax_draft\n  Extra inputs are not permitted Error",
            None,
        ),
        ("torch.OutOfMemoryError: CUDA out of memory.", "MEM-1"),
    ],
)
def test_a_failed_start_is_explained(line: str, cause: str | None) -> None:
    failure = engine.explain_failure(LOG.partition("INFO")[0] + line + "\n")
    assert failure is not None
    assert failure.cause == cause


def test_a_running_server_is_read_with_its_options_file() -> None:
    process = ProcessFacts(
        pid=5, ppid=1, start_ticks=3, argv=tuple(LAUNCH.split("\n")[1].split()), cwd="/", listen_ports=(8001,)
    )
    info = 'trtllm_speculative_config_info{spec_enabled="false",spec_method="none"} 1\n'
    files = {"/data/config.yaml": FileFacts(path="x", text=CONFIG)}
    (view,) = engine.servers(Facts(processes=(process,), files=files))
    assert view.spec is not None
    assert view.spec.draft_steps == 3
    replies = {"8001": {"/prometheus/metrics": HttpReply(status=200, body=info)}}
    (view,) = engine.servers(Facts(processes=(process,), files=files, http=replies))
    assert (view.state, view.spec) == ("running", SpecSetting())


def test_changes_are_refused_with_the_way_to_do_them() -> None:
    view = read(launch__sh=LAUNCH, config__yaml=CONFIG)
    with pytest.raises(EngineError) as refused:
        engine.change_spec(view, SpecSetting(), label="off")
    assert "speculative_config in the file" in str(refused.value.next_step)
    with pytest.raises(EngineError):
        engine.change_flags(label="x", set_flags={"--port": ("1",)})


@pytest.mark.parametrize(
    "texts",
    [
        {"config.yaml": "speculative_config:\n  method: eagle3\n  model: m\n"},
        {"config.json": '{"architectures": ["LlamaForCausalLM"]}'},
        {"server.log": "attention backend trtllm_mha\n"},
        {"bomb.yaml": "a: &a [x,x]\nb: &b [*a,*a]\nspeculative_config: [*b,*b]\n"},
    ],
)
def test_files_of_others_are_not_claimed(texts: dict[str, str]) -> None:
    assert engine.view_from_files(texts) is None


@given(
    st.dictionaries(
        st.sampled_from(["server.log", "a.sh", "config.yaml", "metrics.json"]),
        st.lists(
            st.one_of(
                st.sampled_from(
                    ["speculative_config:\n", "  decoding_type: Eagle3\n", "  max_draft_len: ", "3\n", "2026-01-01\n",
                     "&a [", "*a, *a]\n", "[TRT-LLM] ", "TensorRT-LLM version: 1.2.0", "Error: ",
                     "trtllm-serve /m --config c.yaml\n",
                     '[{"specDecodingStats": {"numDraftTokens": ', '-1}}]', "!!python/object:x\n", "? 1\n", "1e999"]
                ),
                st.text(max_size=6),
            ),
            max_size=20,
        ).map("".join),
    )
)  # fmt: skip
def test_any_folder_is_read(texts: dict[str, str]) -> None:
    view = engine.view_from_files(texts)
    assert view is None or view.engine == "trtllm"
    for text in texts.values():
        engine.explain_failure(text)


def test_dates_and_heaps_of_aliases_in_an_options_file_do_no_harm() -> None:
    view = read(config__yaml=CONFIG + "made: 2026-01-01\n")
    assert view.effective["made"] == "2026-01-01"
    heap = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    assert engine.view_from_files({"config.yaml": "a0: &a0 [x]\n" + heap + CONFIG}) is None
