"""What the probe says of GGUF files: the same as our own reader of them, from any bytes in bounded time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.assembly.catalogue import all_checks, all_engines
from specdoctor.core.facts import Facts, FileFacts, ProcessFacts
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.drafter.gguf import parse_gguf
from specdoctor.drafter.gguf_config import config_of
from specdoctor.drafter.listed import tensors_listed, values_listed
from tests.drafter.folders import VOCAB, gguf_head, gguf_target, head_config, head_tensors, target_config
from tests.remote.workplace import loaded

GGUF = loaded("parts.gguf_file")
FILES = loaded("parts.model_files")
WORDS = [f"w{n}" for n in range(VOCAB)]
HEAD = gguf_head((1, 5, 8), head_tensors(), head_config(), WORDS)
TARGET = gguf_target(target_config(), WORDS)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "head.gguf").write_bytes(HEAD)
    (tmp_path / "target.gguf").write_bytes(TARGET)
    (tmp_path / "head.training.yaml").write_text("aux_layers: [1, 5, 8]\n")
    (tmp_path / "other.training.yaml").write_text("aux_layers: [9]\n")
    return tmp_path


def test_the_probe_and_our_own_reader_say_the_same(models: Path) -> None:
    for name, raw in (("head.gguf", HEAD), ("target.gguf", TARGET)):
        found = GGUF.gguf_files("/m", str(models / name), True)
        header = parse_gguf(raw, "x")
        assert json.loads(found["/m/config.json"]["text"]) == config_of(header)
        listed = tensors_listed(found["/m/tensors.txt"]["text"])
        assert {n: (t.dtype, t.shape) for n, t in listed.items()} == {
            n: (t.dtype, t.shape) for n, t in header.tensors.items()
        }
    values = values_listed(GGUF.gguf_files("/m", str(models / "head.gguf"), True)["/m/values.txt"]["text"])
    assert len(values["d2t"]) == head_config()["draft_vocab_size"]


def test_stored_states_are_those_in_a_folder_named_like_the_draft(models: Path) -> None:
    for folder in ("head.states", "other.states"):
        (models / folder).mkdir()
        (models / folder / "texts.safetensors").write_bytes(b"1234567")
    listed = FILES.files_of_server(["llama-server", "-md", "head.gguf"], {}, str(models), "")["head.gguf/stored.txt"]
    assert listed["path"] == str(models)
    assert listed["text"] == f"{len(HEAD)} head.gguf\n7 head.states/texts.safetensors\n"


def test_files_of_a_server_with_gguf_models_and_the_record_named_like_the_draft(models: Path) -> None:
    argv = ["llama-server", "-m", f"{models}/target.gguf", "-md", "head.gguf"]
    found = FILES.files_of_server(argv, {}, str(models), "")
    assert set(found) == {
        f"{models}/target.gguf/config.json",
        "head.gguf/config.json",
        "head.gguf/tensors.txt",
        "head.gguf/values.txt",
        "head.gguf/head.training.yaml",
    }
    by_variable = FILES.files_of_server(argv[:3], {"LLAMA_ARG_SPEC_DRAFT_MODEL": "head.gguf"}, str(models), "")
    assert set(by_variable) == set(found)


def test_a_module_is_no_model() -> None:
    assert FILES.files_of_server(["python3", "-m", "sglang.launch_server"], {}, "/", "") == {}


def judged(models: Path, *flags: str) -> dict[str | None, Observation]:
    argv = ("llama-server", "-m", "target.gguf", "-md", "head.gguf", *flags)
    files = FILES.files_of_server(list(argv), {}, str(models), "")
    facts = Facts(
        processes=(ProcessFacts(pid=7, ppid=1, start_ticks=9, argv=argv, cwd=str(models)),),
        files={name: FileFacts.model_validate(file) for name, file in files.items()},
    )
    views = [view for engine in all_engines() for view in engine.servers(facts)]
    scene = Scene(view=views[0], facts=facts)
    found = [o for check in all_checks() for o in check.judge(scene)]
    return {o.cause: o for o in found if o.stance == "supports"}


def test_a_map_that_leads_every_id_to_itself_is_found_in_the_file(models: Path) -> None:
    flags = ("--spec-type", "draft-eagle3", "--spec-draft-n-max", "3")
    assert "WIRE-3" not in judged(models, *flags)
    name, shape = "d2t", head_tensors()["d2t"][1]
    zero = {**head_tensors(), name: ("I64", shape, b"\0" * 8 * shape[0])}
    (models / "head.gguf").write_bytes(gguf_head((1, 5, 8), zero, head_config(), WORDS))
    assert "leads every id to itself" in judged(models, *flags)["WIRE-3"].claim


def test_an_eagle3_head_as_plain_draft_model_is_the_wrong_method(models: Path) -> None:
    found = judged(models, "--spec-type", "draft-simple", "--spec-draft-n-max", "3")["CFG-2"]
    assert found.fix == "start with --spec-type draft-eagle3"
    assert found.remedy is not None
    assert found.remedy.setting is not None
    assert found.remedy.setting.algorithm == "draft-eagle3"


@given(st.integers(min_value=0, max_value=len(HEAD)), st.binary(max_size=8))
def test_damaged_files_are_said_to_be_so(tmp_path_factory: pytest.TempPathFactory, at: int, put: bytes) -> None:
    path = tmp_path_factory.mktemp("gguf") / "x.gguf"
    path.write_bytes(HEAD[:at] + put)
    found = GGUF.gguf_files("/m", str(path), True)
    assert found["/m/config.json"]["text"] is not None or found["/m/config.json"]["error"]


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    found = GGUF.gguf_files("/m", str(tmp_path / "none.gguf"), True)
    assert found["/m/config.json"]["error"] == "No such file or directory"
