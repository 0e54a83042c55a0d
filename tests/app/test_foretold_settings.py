"""A launch line of a known version without a log: what will be in force is told as computed, from which lines."""

from __future__ import annotations

import pytest

from specdoctor.app.triage import TriageDocument
from specdoctor.app.triage_findings import Finding
from specdoctor.assembly.judging import triaged
from specdoctor.render.triage import triage_lines

COMPOSE = """services:
  llm:
    image: lmsysorg/sglang:{version}
    command: >
      python3 -m sglang.launch_server
      --model-path /models/t
      --speculative-algorithm EAGLE3
      --speculative-draft-model-path /models/head
      --speculative-num-steps {steps}
      --speculative-eagle-topk {topk}
      --speculative-num-draft-tokens {tokens}
"""


def judged(*, version: str = "v0.5.9", steps: str = "4", topk: str = "1", tokens: str = "16") -> TriageDocument:
    text = COMPOSE.format(version=version, steps=steps, topk=topk, tokens=tokens)
    return triaged({"docker-compose.yml": text}, symptom="")


def found(document: TriageDocument, cause: str) -> Finding | None:
    return next((f for f in document.findings if f.cause == cause), None)


@pytest.mark.parametrize(("steps", "tokens"), [("4", "16"), ("7", "3"), ("1", "4")])
@pytest.mark.parametrize("version", ["v0.4.6", "v0.5.9", "v0.5.23"])
def test_a_count_that_the_rules_cut_is_told_without_a_log(version: str, steps: str, tokens: str) -> None:
    document = judged(version=version, steps=steps, tokens=tokens)
    finding = found(document, "CFG-3")
    assert finding is not None
    assert f"asked {tokens}, will be in force {int(steps) + 1} (by the rules of sglang {version[1:]}" in finding.claim
    assert "nothing that was read shows it in force" in finding.claim
    assert finding.confidence == "medium"
    assert finding.next_check.startswith("read speculative_num_draft_tokens in /server_info")
    assert {q.line for q in finding.evidence} >= {3, 9, 10, 11}


def test_a_computed_number_says_from_which_lines() -> None:
    document = judged()
    assert document.facts["draft_tokens"] == 5
    assert str(document.facts["draft_tokens_estimator"]).startswith("computed, asked 16; by the rules of sglang 0.5.9")
    places = document.facts_from["draft_tokens"].split(", ")
    assert {"docker-compose.yml:9", "docker-compose.yml:10", "docker-compose.yml:3"} <= set(places)
    assert "docker-compose.yml:11" not in places, "there stands another number"
    assert document.facts_from["draft_steps"] == "docker-compose.yml:9"
    assert "computed from docker-compose.yml:9" in triage_lines(document.model_dump(by_alias=True), width=200)


@pytest.mark.parametrize(
    "given",
    [
        {"tokens": "5"},
        {"topk": "4"},
        {"version": "latest"},
        {"steps": "$STEPS"},
    ],
)
def test_what_no_rule_changes_or_no_version_tells_is_not_told(given: dict[str, str]) -> None:
    document = judged(**given)
    assert found(document, "CFG-3") is None
    assert not str(document.facts.get("draft_tokens_estimator", "")).startswith("computed, asked")


def test_numbers_filled_in_are_computed_too() -> None:
    launch = (
        "# sglang 0.5.12\npython3 -m sglang.launch_server --model-path /m/t --speculative-algorithm STANDALONE \\\n"
    )
    document = triaged({"launch.sh": launch + "  --speculative-draft-model-path /m/d\n"}, symptom="")
    assert document.facts["draft_steps"] == 3
    assert str(document.facts["draft_steps_estimator"]).startswith("computed, not asked for")


def test_breadth_that_lookup_drafting_replaces() -> None:
    launch = (
        "# sglang 0.5.12\npython3 -m sglang.launch_server --model-path /m/t --speculative-algorithm NGRAM "
        "--speculative-eagle-topk 1 --speculative-num-draft-tokens 8 --speculative-num-steps 3\n"
    )
    finding = found(triaged({"launch.sh": launch}, symptom=""), "CFG-1")
    assert finding is not None
    assert "speculative_eagle_topk: asked 1, will be in force 10" in finding.claim


def test_a_token_map_beside_a_head_that_has_its_own() -> None:
    text = (
        COMPOSE.format(version="v0.5.9", steps="4", topk="1", tokens="5") + "      --speculative-token-map /m/map.pt\n"
    )
    finding = found(triaged({"docker-compose.yml": text}, symptom=""), "CFG-1")
    assert finding is not None
    assert "speculative_token_map: asked /m/map.pt, and will not be used" in finding.claim


def test_a_chain_of_an_engine_without_the_argument_is_computed() -> None:
    launch = 'vllm serve /m/t \\\n --speculative-config \'{"method": "eagle3", "model": "/m/h", '
    launch += '"num_speculative_tokens": 3}\'\n'
    document = triaged({"run.sh": launch}, symptom="")
    assert document.facts["draft_tokens"] == 4
    assert document.facts["draft_tokens_estimator"] == "computed: draft steps + 1, a chain"
    assert document.facts_from["draft_tokens"] == "run.sh:2"
