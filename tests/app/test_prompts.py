"""Prompt sets, the user's own files, and chat templates that come from the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from specdoctor.app.prompts import BUILT_IN, built_in, chat_template, from_file, of_categories, rendered
from specdoctor.core.errors import UsageError
from specdoctor.core.facts import Facts, FileFacts
from specdoctor.planners.playbook_schema import PromptName

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_sets_are_whole_and_told_apart_by_their_digest(name: str) -> None:
    prompts = built_in(name)
    assert len({p.id for p in prompts.prompts}) == len(prompts.prompts) >= 2
    assert all(p.text for p in prompts.prompts)
    assert len({built_in(other).digest for other in BUILT_IN}) == len(BUILT_IN)


def test_an_unknown_set_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        built_in("poems")
    assert "mixed" in caught.value.next_step


def test_own_prompts_by_line_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "one", "category": "code"}\n\nplain two\n{"text": "three"}\n')
    prompts = from_file(path)
    assert [(p.text, p.category) for p in prompts.prompts] == [("one", "code"), ("plain two", "own"), ("three", "own")]


SHAREGPT = [
    {"id": "a", "conversations": [{"from": "system", "value": "s"}, {"from": "human", "value": "one"}]},
    {"messages": [{"role": "user", "content": "two"}, {"role": "assistant", "content": "no"}], "category": "chat"},
]


@pytest.mark.parametrize("text", [json.dumps(SHAREGPT, indent=1), "\n".join(map(json.dumps, SHAREGPT))])
def test_own_prompts_as_conversations(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sharegpt.json"
    path.write_text(text)
    prompts = from_file(path)
    assert [(p.text, p.category) for p in prompts.prompts] == [("one", "own"), ("two", "chat")]
    assert [p.text for p in of_categories(prompts, ("chat",)).prompts] == ["two"]


@pytest.mark.parametrize(
    ("content", "where"),
    [("[]", "no prompts"), ("[1]", "entry 1"), ('[{"conversations": []}]', "entry 1"), ("[\n{", "p.json:2")],
)
def test_faults_of_a_list_name_the_entry(tmp_path: Path, content: str, where: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        from_file(path)
    assert where in caught.value.message


def test_categories_of_a_built_in_set() -> None:
    code = of_categories(built_in("mixed"), ("code",))
    assert {p.category for p in code.prompts} == {"code"}
    assert code.digest != built_in("mixed").digest
    assert of_categories(built_in("mixed"), ()) == built_in("mixed")
    with pytest.raises(UsageError, match="poems"):
        of_categories(built_in("mixed"), ("poems",))


@pytest.mark.parametrize(
    ("content", "where"),
    [('{"prompt": "a"}\n{"prompt": }\n', "p.txt:2"), ('{"question": "a"}\n', "p.txt:1"), ("\n\n", "no prompts")],
)
def test_faults_name_file_and_line(tmp_path: Path, content: str, where: str) -> None:
    path = tmp_path / "p.txt"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        from_file(path)
    assert where in caught.value.message


def facts_with(name: str, text: str) -> Facts:
    return Facts(files={f"/m/{name}": FileFacts(path=f"/m/{name}", text=text)})


@pytest.mark.parametrize(
    "facts",
    [
        facts_with("chat_template.jinja", TEMPLATE),
        facts_with("tokenizer_config.json", json.dumps({"chat_template": TEMPLATE})),
        facts_with("tokenizer_config.json", json.dumps({"chat_template": [{"name": "default", "template": TEMPLATE}]})),
    ],
)
def test_the_models_own_template_is_used(facts: Facts) -> None:
    prompts = rendered(built_in("short"), chat_template(facts, "/m"))
    assert prompts.name == "short, in the model's chat template"
    assert prompts.prompts[0].text == f"<user>{built_in('short').prompts[0].text}<assistant>"
    assert prompts.digest != built_in("short").digest


@pytest.mark.parametrize("text", ["", "not json", '{"chat_template": 5}', "[]", "{}"])
def test_without_a_template_prompts_are_raw_and_say_so(text: str) -> None:
    prompts = rendered(built_in("short"), chat_template(facts_with("tokenizer_config.json", text), "/m"))
    assert "raw" in prompts.name
    assert prompts.prompts == built_in("short").prompts


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__init__.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{{ unknown() }}",
        "{% if %}",
        "{{ raise_exception('no system prompt') }}",
        "{% for i in range(10**9) %}x{% endfor %}",
    ],
)
def test_a_hostile_template_reaches_nothing(template: str) -> None:
    prompts = rendered(built_in("short"), template)
    assert "raw" in prompts.name
    assert prompts.prompts == built_in("short").prompts


def test_a_playbook_can_name_every_built_in_set() -> None:
    assert set(get_args(PromptName)) == set(BUILT_IN)
