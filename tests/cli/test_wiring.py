"""`specdoctor wiring` as a user types it: its JSON, its exit codes, its table, and what it costs."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdoctor.cli.places import Place, place_of
from specdoctor.core.errors import UsageError
from tests.cli.conftest import Command, document
from tests.drafter.folders import gguf_head, head_config, head_tensors, put, put_head, put_target
from tests.drafter.stored import tensor

pytestmark = pytest.mark.thorough

LARGE = 60 << 30
MEMORY_KB = 150 * 1024


@pytest.fixture
def pair(folder: Path) -> Path:
    """A head of ids [1, 5, 8], its target, and a record of out(1), out(5), out(8)."""
    put_head(folder / "head")
    put_target(folder / "target")
    (folder / "record.yaml").write_text("trained_on: [out(1), out(5), out(8)]\n")
    return folder


PAIR = ("wiring", "--draft", "head", "--target", "target")
RECORD = ("--training", "record.yaml")


@pytest.mark.usefixtures("pair")
def test_a_cause_as_json(specdoctor: Command) -> None:
    result = specdoctor(*PAIR, *RECORD, "--engine", "vllm", "--engine-version", "0.32.0", "--runner", "v1", "--json")
    found: Any = document(result)
    assert result.exit_code == 0
    assert list(found) == ["schema", "trained", "configured", "captured", "verdict", "findings"]
    assert found["schema"] == "specdoctor.wiring/1"
    assert found["trained"] == ["out(1)", "out(5)", "out(8)"]
    assert found["configured"] == {"key": "eagle_config.eagle_aux_hidden_state_layer_ids", "ids": [1, 5, 8]}
    assert next(iter(found["captured"].items())) == ("vllm 0.32.0", ["out(0)", "out(4)", "out(7)"])
    assert found["verdict"] == "cause"
    finding = found["findings"][0]
    assert set(finding) == {"cause", "status", "role", "confidence", "claim", "evidence", "next_check", "fix"}
    assert (finding["cause"], finding["status"], finding["role"]) == ("WIRE-1", "supported", "explains")
    assert "each state 1 layer earlier" in finding["claim"]
    for cited in finding["evidence"]:
        lines = Path(cited["source"]).read_text().split("\n")
        assert cited["key"].rsplit(".", 1)[-1] in lines[cited["line"] - 1]
    assert {"sglang 0.5.23", "llamacpp b11434", "trtllm 1.4.0"} <= set(found["captured"])


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("words", "verdict", "exit_code"),
    [
        ((*RECORD, "--engine", "sglang", "--engine-version", "0.5.17"), "healthy", 0),
        (("--engine", "sglang", "--engine-version", "0.5.17"), "not-enough-evidence", 3),
        (RECORD, "not-enough-evidence", 3),
        ((*RECORD, "--engine", "sglang", "--engine-version", "0.5.17+local.patch"), "not-enough-evidence", 3),
        ((*RECORD, "--engine", "trtllm", "--engine-version", "1.3.0"), "not-enough-evidence", 3),
    ],
)
def test_verdicts_and_exit_codes(specdoctor: Command, words: tuple[str, ...], verdict: str, exit_code: int) -> None:
    result = specdoctor(*PAIR, *words, "--json")
    assert (document(result)["verdict"], result.exit_code) == (verdict, exit_code)


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("draft", "target", "said"),
    [
        ("target", "head", "swap --draft and --target"),
        ("head", "head", "give the model that it drafts for as --target"),
        ("target", "target", "give the drafter's folder as --draft"),
    ],
)
def test_folders_that_are_no_drafter_and_target(specdoctor: Command, draft: str, target: str, said: str) -> None:
    result = specdoctor("wiring", "--draft", draft, "--target", target, *RECORD)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.usefixtures("pair")
def test_a_target_with_layers_of_its_own_for_drafting_is_its_own_drafter(specdoctor: Command) -> None:
    config = Path("target/config.json")
    config.write_text(json.dumps({**json.loads(config.read_text()), "num_nextn_predict_layers": 1}))
    assert specdoctor("wiring", "--draft", "target", "--target", "target").exit_code == 0


@pytest.mark.usefixtures("pair")
def test_the_table_for_people(specdoctor: Command) -> None:
    result = specdoctor(*PAIR, *RECORD, "--engine", "vllm", "--engine-version", "0.32.0", "--runner", "v2")
    assert result.exit_code == 0
    assert "trained on" in result.stdout
    assert "captured by\n" in result.stdout
    assert "\nvllm 0.32.0 " in result.stdout
    assert "its defaults" in result.stdout
    assert "elsewhere" in result.stdout


def test_shapes_allow_a_trial_and_prove_nothing(pair: Path, specdoctor: Command) -> None:
    text = " ".join(specdoctor(*PAIR, "--shapes").stdout.split())
    assert "hidden size it expects 8 8 fits" in text
    assert "layers 1 12 free" in text
    assert "trial possible; shapes that fit allow a trial" in text
    assert "so they prove nothing" in text
    put_head(pair / "head", hidden_size=16)
    text = " ".join(specdoctor(*PAIR).stdout.split())
    assert "cannot be tried on this target: hidden size it expects: drafter 16, target 8" in text


def test_a_record_beside_the_drafter_is_found(pair: Path, specdoctor: Command) -> None:
    (pair / "head" / "train").mkdir()
    (pair / "head" / "train" / "run.yaml").write_text("states: {hidden_states: [0, 6, 9]}\n")
    found: Any = document(specdoctor(*PAIR, "--engine", "sglang", "--engine-version", "0.5.17", "--json"))
    assert found["trained"] == ["embed", "out(5)", "out(8)"]
    assert found["verdict"] == "cause"
    assert found["findings"][0]["evidence"][0]["source"] == "head/train/run.yaml"
    assert "SGLang 0.5.20 or later can" in found["findings"][0]["fix"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--engine", "sglnag"), "sglang"),
        (("--engine-version", "0.5.17"), "without its engine"),
        (("--engine", "sglang", "--engine-version", "new"), "this is no version"),
        (("--engine", "vllm", "--runner", "v3"), "no such runner"),
        (("--training", "nothing.yaml"), "nothing.yaml: there is no such"),
        (("--training", "head/config.json"), "which states the drafter was trained on"),
        (("--draft", "nowhere"), "nowhere: there is no such folder"),
    ],
)
@pytest.mark.usefixtures("pair")
def test_wrong_usage_is_one_message(specdoctor: Command, words: tuple[str, ...], says: str) -> None:
    result = specdoctor(*PAIR, *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "next" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_gguf_head_is_served_by_llamacpp_only(pair: Path, specdoctor: Command) -> None:
    (pair / "head.gguf").write_bytes(gguf_head([2, 6, 9], head_tensors(), head_config(), ["a", "b"]))
    words = ("wiring", "--draft", "head.gguf", "--target", "target", *RECORD, "--engine")
    good: Any = document(specdoctor(*words, "llamacpp", "--json"))
    assert good["configured"] == {"key": "eagle3.target_layers", "ids": [2, 6, 9]}
    assert good["verdict"] == "healthy"
    assert specdoctor(*words, "vllm").exit_code == 2


MEASURED = """
import sys
from specdoctor.cli.main import run
try:
    run()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""


def measured(*words: str, folder: Path) -> tuple[dict[str, Any], int]:
    """The JSON of a command run in a process of its own, and that process's peak memory in KiB."""
    command = [sys.executable, "-c", MEASURED, *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return json.loads(done.stdout), int(done.stderr.split()[-1])


def large_target(folder: Path) -> None:
    """A target of 60 GB that is almost all hole, with as many tensors as a large mixture of experts has."""
    header: dict[str, Any] = {}
    shape, size = [2048, 7168], 2048 * 7168 * 2
    count = LARGE // size
    for i in range(count):
        name = f"model.layers.{i // 40}.mlp.experts.{i % 40}.up_proj.weight"
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [i * size, (i + 1) * size]}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + count * size)


def test_a_checkpoint_of_60_gb_is_not_loaded(pair: Path) -> None:
    large_target(pair / "target")
    words = (*PAIR, *RECORD, "--engine", "sglang", "--engine-version", "0.5.17")
    found, peak_kb = measured(*words, folder=pair)
    assert found["verdict"] == "healthy"
    assert peak_kb < MEMORY_KB


def test_a_drafter_of_60_gb_is_not_loaded(pair: Path) -> None:
    with (pair / "head" / "model.safetensors").open("r+b") as file:
        file.truncate(LARGE)
    found, peak_kb = measured(*PAIR, *RECORD, "--engine", "sglang", folder=pair)
    assert found["verdict"] == "healthy"
    assert peak_kb < MEMORY_KB


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/models/head", ("local:", "/models/head")),
        ("head", ("local:", "./head")),
        ("./a:b", ("local:", "./a:b")),
        ("gpu-7:/models/head", ("gpu-7", "/models/head")),
        ("ml@gpu-7:head", ("ml@gpu-7", "head")),
        ("[::1]:/models/head", ("[::1]", "/models/head")),
        ("ssh://ml@gpu-7:2222/models/head", ("ssh://ml@gpu-7:2222", "/models/head")),
        ("local:/models/head", ("local:", "/models/head")),
    ],
)
def test_places_are_read_as_users_write_them(text: str, place: tuple[str, str]) -> None:
    found = place_of(text)
    assert isinstance(found, Place)
    assert (found.host, found.path) == place


@pytest.mark.parametrize("text", ["", "gpu-7:", "ssh://gpu-7", "ssh:///models"])
def test_a_place_without_a_folder_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        place_of(text)


SGLANG = ("--engine", "sglang", "--engine-version", "0.5.17")


def test_a_corrected_configuration_is_written_beside_the_old_one_and_is_right(
    specdoctor: Command, folder: Path
) -> None:
    put_head(folder / "head", ids=[2, 6, 9])
    put_target(folder / "target")
    (folder / "record.yaml").write_text("trained_on: [out(1), out(5), out(8)]\n")
    before = (folder / "head/config.json").read_bytes()
    result = specdoctor(*PAIR, *RECORD, *SGLANG, "--write-fix", "corrected", "--json")
    assert document(result)["written"]["changes"] == [
        "eagle_config.eagle_aux_hidden_state_layer_ids: [2, 6, 9] -> [1, 5, 8]"
    ]
    assert (folder / "head/config.json").read_bytes() == before
    new = json.loads((folder / "corrected/config.json").read_text())
    assert new == json.loads(before) | {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 5, 8]}}
    for file in (folder / "head").glob("*.safetensors"):
        (folder / "corrected" / file.name).symlink_to(file)
    corrected = ("wiring", "--draft", "corrected", "--target", "target")
    again: Any = document(specdoctor(*corrected, *RECORD, *SGLANG, "--json"))
    assert again["verdict"] == "healthy"


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("where", ["head", "taken"])
def test_nothing_is_written_over(specdoctor: Command, folder: Path, where: str) -> None:
    put_head(folder / "head", ids=[2, 6, 9])
    (folder / "taken").mkdir()
    (folder / "taken/config.json").write_text("{}")
    before = (folder / where / "config.json").read_bytes()
    result = specdoctor(*PAIR, *RECORD, *SGLANG, "--write-fix", where)
    assert result.exit_code == 2
    assert "not written over" in result.stderr
    assert (folder / where / "config.json").read_bytes() == before


@pytest.mark.usefixtures("pair")
def test_where_no_configuration_repairs_it_nothing_is_written(specdoctor: Command, folder: Path) -> None:
    result = specdoctor(*PAIR, *RECORD, *SGLANG, "--write-fix", "corrected")
    assert "nothing: no finding is repaired" in result.stdout
    assert not (folder / "corrected").exists()


def test_what_only_a_later_version_can_serve_is_said_to_be_for_that_one(specdoctor: Command, folder: Path) -> None:
    put_head(folder / "head", ids=[2, 6, 9])
    put_target(folder / "target")
    (folder / "record.yaml").write_text("trained_on: [embed, out(5), out(8)]\n")
    old = ("--engine", "sglang", "--engine-version", "0.5.12")
    found: Any = document(specdoctor(*PAIR, *RECORD, *old, "--write-fix", "corrected", "--json"))
    assert found["written"]["needs"] == "SGLang 0.5.20"


@pytest.mark.parametrize(
    ("engine", "trained", "said", "not_said"),
    [
        (("llamacpp", "b11434"), "[out(2), out(5), out(8)]", "make the GGUF file again", "start the server with"),
        (("sglang", "0.5.12"), "[embed, out(5), out(8)]", "start SGLang 0.5.20 or later with", "start the server with"),
        (("sglang", "0.5.17"), "[out(1), out(5), out(8)]", "start the server with that folder", "GGUF"),
    ],
)
def test_what_to_do_with_a_corrected_configuration_fits_the_engine(
    specdoctor: Command, folder: Path, engine: tuple[str, str], trained: str, said: str, not_said: str
) -> None:
    put_head(folder / "head", ids=[2, 6, 9])
    put_target(folder / "target")
    (folder / "record.yaml").write_text(f"trained_on: {trained}\n")
    words = ("--engine", engine[0], "--engine-version", engine[1], "--write-fix", "corrected")
    text = " ".join(specdoctor(*PAIR, *RECORD, *words).stdout.split())
    told = text[text.index("written ") :]
    assert said in told
    assert not_said not in told


@pytest.mark.usefixtures("pair")
def test_a_version_without_rules_is_told_which_are_known(specdoctor: Command) -> None:
    result = specdoctor(*PAIR, *RECORD, "--engine", "sglang", "--engine-version", "0.4.0")
    text = " ".join(result.stdout.split())
    assert "what sglang 0.4.0 captures is not known; the rules of SGLang are known for 0." in text
    assert "no engine and version was named" not in text


@pytest.mark.usefixtures("pair")
def test_a_whole_model_as_drafter_takes_no_states(specdoctor: Command, folder: Path) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": 8}
    names = ("model.embed_tokens", "model.norm", "lm_head", "model.layers.0.mlp.up_proj")
    put(folder / "small", config, {f"{name}.weight": tensor(np.zeros((8, 8), dtype=np.float32)) for name in names})
    result = specdoctor("wiring", "--draft", "small", "--target", "target")
    assert "it takes tokens and no states" in " ".join(result.stdout.split()), result.stdout
