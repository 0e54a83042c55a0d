"""What is said of a drafter on a host from that host's own files, over SSH."""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.client import Client
from tests.e2e.practice import Practice

LabUp = Callable[..., Practice]


def test_the_rule_of_a_patched_engine_is_read_where_it_is_installed(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("patched-engine")
    models = f"lab:{lab.state}/models"
    words = ("wiring", "--draft", f"{models}/EAGLE3-Llama-3.1-8B", "--target", f"{models}/Llama-3.1-8B-Instruct")
    reach = ("--ssh-config", str(lab.config), "--engine", "sglang", "--json")
    found = client.run(*words, *reach)
    assert (found.code, found.document["verdict"]) == (0, "cause"), found.err
    assert found.document["captured"]["sglang 0.5.17"] == ["out(0)", "out(14)", "out(27)"]
    cause = found.document["findings"][0]
    ruled = next(cited for cited in cause["evidence"] if cited["source"].endswith("/srt/models/llama.py"))
    source = (lab.home / "src/sglang/python/sglang/srt/models/llama.py").read_text().split("\n")
    assert ruled["quote"] == source[ruled["line"] - 1].strip() == "self.model.layers_to_capture = list(layer_ids)"
    assert "[2, 16, 29]" in cause["fix"]

    released = client.run(*words, *reach, "--engine-version", "0.5.12")
    assert released.document["verdict"] == "healthy"


def test_a_drafter_and_stored_states_of_a_host_are_calculated(lab_up: LabUp, client: Client) -> None:
    lab = lab_up("kimi-k2.5-eagle3")
    head = f"lab:{lab.state}/models/Kimi-K2.5-eagle3"
    words = ("drafter", "eval", "--draft", head, "--states", f"{head}/train/states-sample.safetensors")
    fed = ("--feed", "embed,out(2),out(30)", "--feed", "out(2),out(30),out(58)", "--trained-accuracy", "0.747")
    found = client.run(*words, "--ssh-config", str(lab.config), *fed, "--json")
    assert found.code == 0, found.err
    as_trained = found.document["as_trained"]
    assert "embed out(2) out(30)" in as_trained["restored"]
    assert as_trained["short"] == ["out(2) out(30) out(58)"]
    refused = client.run(*words, "--ssh-config", str(lab.config), *fed, "--fetch", "1MB")
    assert (refused.code, "--fetch" in refused.err) == (4, True)
