"""Prompt sets: built-in ones and the user's own; chat prompts rendered with the model's own template."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from specdoctor.core.errors import UsageError
from specdoctor.core.facts import Facts
from specdoctor.core.input_file import read_input
from specdoctor.core.measurement import Prompt, PromptSet

_CHAT = (
    "Explain to a new colleague how a hash map handles collisions, with a small example.",
    "Write a short letter to a landlord asking for the heating to be repaired this week.",
    "What are the arguments for and against a four-day working week? Give three of each.",
    "Summarise how vaccines train the immune system, for a reader of fourteen.",
)
_CODE = (
    "Write a Python function that merges two sorted lists without using sort, with a docstring and two doctests.",
    "Write a SQL query that lists the ten customers with the highest total order value in the last year.",
    "Write a C function that reverses a string in place, and explain its loop invariant in a comment.",
    "Split into small functions: def f(a):\n  r=[]\n  for x in a:\n    if x%2==0:\n      r.append(x*x)\n  return r",
)
_MATHS = (
    "A tank holds 240 litres and drains at 7 litres a minute while 3 flow in. When is it empty? Show each step.",
    "Prove that the sum of two odd integers is even, then that the product of two odd integers is odd.",
    "A fair die is thrown three times. What is the probability of at least one six? Show the calculation.",
    "Solve 3x + 5 = 2(x - 4) + 20 and check the result by substitution.",
)
_RECORDS = tuple(
    f"As JSON with a title and a list of items, each with a name, a note and a count: {what}."
    for what in (
        "what to pack for three days of walking in the hills",
        "the tools of a small bicycle workshop",
        "a shopping list for a lentil soup for eight",
        "the rooms of a house and what stands in each",
        "birds of a city park in winter",
        "the parts of a desktop computer",
        "instruments of a string quartet and its scores",
        "what a first-aid kit holds",
    )
)
_SHORT = ("Name three uses of copper.", "What is the capital of Portugal?")

_SENTENCE = "The quick brown fox jumps over the lazy dog while the cat watches. "
_PREDICTABLE = (
    "Go on with this text, word for word, and add nothing to it:\n" + 24 * _SENTENCE,
    "Go on counting, one number to a line, and add nothing to it:\n" + "\n".join(str(n) for n in range(1, 60)),
)
_LEDGER = tuple(
    f"Entry {n}: on day {1 + n % 28} of month {1 + n % 12}, {('Ada', 'Ben', 'Cleo', 'Dev')[n % 4]} delivered "
    f"{3 * n % 97} crates of {('apples', 'copper wire', 'paper', 'seed potatoes', 'tiles')[n % 5]} to hall {1 + n % 9}."
    for n in range(1, 181)
)
_LONG = tuple(
    f"{question}\n\n" + "\n".join(_LEDGER)
    for question in (
        "Read this ledger and say, in a short report, who delivered most often and to which halls.",
        "Read this ledger and sum up what it tells of the goods and of the months.",
    )
)

LARGEST_BYTES = 256 << 20

IN_TEMPLATE = "in the model's chat template"
"""How the name of a set ends whose prompts were rendered."""

BUILT_IN: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "mixed": (("chat", _CHAT), ("code", _CODE), ("maths", _MATHS)),
    "chat": (("chat", _CHAT),),
    "code": (("code", _CODE),),
    "maths": (("maths", _MATHS),),
    "records": (("records", _RECORDS),),
    "short": (("short", _SHORT),),
    "long": (("long", _LONG),),
    "predictable": (("predictable", _PREDICTABLE),),
}


def _set(name: str, prompts: Iterable[Prompt]) -> PromptSet:
    chosen = tuple(prompts)
    digest = hashlib.sha256(json.dumps([p.text for p in chosen]).encode()).hexdigest()
    return PromptSet(name=name, digest=digest, prompts=chosen)


def built_in(name: str = "mixed") -> PromptSet:
    """A prompt set that ships with specdoctor. Raises UsageError for an unknown name."""
    if name not in BUILT_IN:
        known = ", ".join(sorted(BUILT_IN))
        file = ", and no file of that name" if "." in name or "/" in name else ""
        raise UsageError(
            f"no built-in prompt set {name!r}{file}", next_step=f"one of {known}, or a file with --prompts"
        )
    groups = BUILT_IN[name]
    longest = max(len(texts) for _, texts in groups)
    order = [(category, texts[i], i) for i in range(longest) for category, texts in groups if i < len(texts)]
    return _set(name, (Prompt(id=f"{category}-{i + 1}", category=category, text=text) for category, text, i in order))


def from_file(path: Path) -> PromptSet:
    """The user's prompts: JSON lines, a JSON list (ShareGPT), else one prompt per line.

    An object has `prompt`, `text`, or `conversations` or `messages` whose first turn by the user counts, and an
    optional `category`. Raises UsageError naming file, line (or place in the list) and key.
    """
    try:
        text = read_input(path, limit=LARGEST_BYTES, pipes=False).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = (error.strerror or str(error)) if isinstance(error, OSError) else f"it is no UTF-8 text: {error}"
        raise UsageError(f"cannot read prompts from {path}: {said}", next_step="give a readable UTF-8 file") from error
    return from_text(str(path), text)


def from_text(where: str, text: str) -> PromptSet:
    """The prompts of a file that was read already; `where` names it. Raises UsageError as `from_file` does."""
    path = Path(where)
    if text.lstrip().startswith("["):
        return _set(path.name, _of_list(path, text))
    prompts: list[Prompt] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        prompts.append(_prompt(path, number, line))
    if not prompts:
        raise UsageError(f"{path}: no prompts in it", next_step="one prompt per line, or JSON lines with a key prompt")
    return _set(path.name, prompts)


def _prompt(path: Path, number: int, line: str) -> Prompt:
    if not line.lstrip().startswith("{"):
        return Prompt(id=f"line-{number}", category="own", text=line)
    try:
        row: dict[str, JsonValue] = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{number}: not JSON: {error.msg}", next_step="one JSON object per line") from error
    return _of_row(row, f"{path}:{number}", f"line-{number}")


def _of_list(path: Path, text: str) -> list[Prompt]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg}", next_step="a JSON list of objects") from error
    if not rows:
        raise UsageError(f"{path}: no prompts in it", next_step="give a list with one object for each prompt")
    return [_of_row(row, f"{path}, entry {index}", f"entry-{index}") for index, row in enumerate(rows, start=1)]


def _of_row(row: JsonValue, where: str, identifier: str) -> Prompt:
    found: JsonValue = None
    if isinstance(row, dict):
        found = row.get("prompt", row.get("text"))
        turns = row.get("conversations", row.get("conversation", row.get("messages")))
        if found is None and isinstance(turns, list):
            found = next((_said(turn) for turn in turns if _said(turn)), None)
    if not isinstance(row, dict) or not isinstance(found, str) or not found:
        raise UsageError(
            f"{where}: key prompt is missing or no text",
            next_step='{"prompt": "..."} or {"conversations": [{"from": "human", "value": "..."}]}',
        )
    return Prompt(id=identifier, category=str(row.get("category", "own")), text=found)


def _said(turn: JsonValue) -> JsonValue:
    """What a turn by the user says; nothing for other roles."""
    if not isinstance(turn, dict) or str(turn.get("from", turn.get("role", "user"))) not in ("human", "user"):
        return None
    return turn.get("value", turn.get("content"))


def of_categories(prompts: PromptSet, wanted: tuple[str, ...]) -> PromptSet:
    """Only the prompts of these categories. Raises UsageError for a category that the set does not have."""
    known = sorted({p.category for p in prompts.prompts})
    missing = [name for name in wanted if name not in known]
    if missing:
        raise UsageError(
            f"no prompts of category {', '.join(missing)} in {prompts.name}", next_step=f"one of {', '.join(known)}"
        )
    chosen = [p for p in prompts.prompts if not wanted or p.category in wanted]
    return _set(f"{prompts.name} ({', '.join(wanted)})", chosen) if wanted else prompts


def chat_template(facts: Facts, model_path: str | None) -> str | None:
    """The served model's chat template from the files the probe read, None where there is none to read."""
    if model_path is None:
        return None
    own = facts.files.get(f"{model_path}/chat_template.jinja")
    if own is not None and own.text:
        return own.text
    config = facts.files.get(f"{model_path}/tokenizer_config.json")
    if config is None or not config.text:
        return None
    try:
        template = json.loads(config.text).get("chat_template")
    except (json.JSONDecodeError, AttributeError):
        return None
    if isinstance(template, list):
        template = next(
            (t.get("template") for t in template if isinstance(t, dict) and t.get("name") == "default"), None
        )
    return template if isinstance(template, str) else None


def rendered(prompts: PromptSet, template: str | None) -> PromptSet:
    """Prompts as the model's chat endpoint would send them; as they are, and labelled raw, without a template.

    The template is the remote host's text: it runs in a sandbox without access to anything but the messages.
    """
    if template is None:
        return prompts.model_copy(update={"name": f"{prompts.name}, raw (no chat template was read)"})
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    extensions = ["jinja2.ext.loopcontrols"]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: time.strftime(str(form))
    try:
        compiled = environment.from_string(template)
        texts = [
            compiled.render(
                messages=[{"role": "user", "content": p.text}], add_generation_prompt=True, bos_token="", eos_token=""
            )
            for p in prompts.prompts
        ]
    except (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = type(error).__name__
        return prompts.model_copy(update={"name": f"{prompts.name}, raw (its chat template did not render: {said})"})
    new = tuple(p.model_copy(update={"text": text}) for p, text in zip(prompts.prompts, texts, strict=True))
    return _set(f"{prompts.name}, {IN_TEMPLATE}", new)
