"""What a language model may propose, as types, and how its answer is read. What does not fit a type is refused."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, JsonValue, TypeAdapter, ValidationError

from specdoctor.core.clean import one_line
from specdoctor.core.model import Frozen
from specdoctor.core.redact import redact
from specdoctor.core.wishes import Foretelling, LaunchWish

Sentence = Annotated[str, Field(max_length=300)]
Evidence = Annotated[tuple[Annotated[str, Field(pattern=r"^E\d{1,6}$")], ...], Field(max_length=8)]

MOST_PROPOSALS = 4
MOST_SHOWN = 160
"""Characters of a refused proposal that the record keeps."""


class Launch(LaunchWish):
    """Speculation of another launch; what is left out stays as it is. `speculation` false: none."""


class Foretold(Foretelling):
    """What will be measured if the claim is true; `launch` null: with the server as found."""

    launch: Launch | None = None


class OpenProposal(Frozen):
    """A cause of the list (`cause`), or a claim of your own with its prediction."""

    do: Literal["open_hypothesis"]
    cause: Annotated[str, Field(max_length=20)] | None = None
    claim: Sentence = ""
    prediction: Foretold | None = None
    evidence: Evidence = ()
    why: Sentence = ""


class CheckProposal(Frozen):
    """watch (`seconds`), bench (`concurrency`), or a check by its name."""

    do: Literal["run_check"]
    check: Annotated[str, Field(max_length=40)]
    seconds: Annotated[FiniteFloat, Field(ge=1, le=30)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=64)] | None = None
    evidence: Evidence = ()
    why: Sentence = ""


class RelaunchProposal(Frozen):
    """Restart for an open hypothesis with the launch that its prediction is about."""

    do: Literal["relaunch"]
    hypothesis: Annotated[str, Field(max_length=10)]
    launch: Launch | None = None
    evidence: Evidence = ()
    why: Sentence = ""


class ParkProposal(Frozen):
    """Set a hypothesis of your own aside."""

    do: Literal["park"]
    hypothesis: Annotated[str, Field(max_length=10)]
    evidence: Evidence = ()
    why: Annotated[str, Field(min_length=1, max_length=300)]


class AskProposal(Frozen):
    """A question to the person, in the transcript."""

    do: Literal["ask_person"]
    question: Annotated[str, Field(min_length=1, max_length=300)]
    command: Sentence | None = None
    evidence: Evidence = ()


class FollowProposal(Frozen):
    """Do what the rules propose next."""

    do: Literal["follow_rules"]
    why: Sentence = ""
    evidence: Evidence = ()


class FinishProposal(Frozen):
    """Nothing more from you in this run; the rules go on alone."""

    do: Literal["finish"]
    why: Sentence = ""
    evidence: Evidence = ()


Proposal = Annotated[
    OpenProposal | CheckProposal | RelaunchProposal | ParkProposal | AskProposal | FollowProposal | FinishProposal,
    Field(discriminator="do"),
]
_proposal: TypeAdapter[Proposal] = TypeAdapter(Proposal)


class ProposalFault(Frozen):
    """A proposal that is refused: what it was, shortened and without secrets, and why."""

    proposal: str
    why: str


_UNSAID = ("title", "default", "description", "maxLength", "minLength", "pattern", "additionalProperties")
"""What the schema leaves out to stay short: code checks it all the same, and a refusal says it."""


def schema() -> dict[str, JsonValue]:
    """The JSON schema of an answer, short."""
    plain = TypeAdapter(list[Proposal]).json_schema()
    definitions: Any = plain.pop("$defs")
    items: Any = plain["items"]
    items.pop("discriminator", None)
    _say_once(definitions, "evidence", "Evidence")
    listed = {"type": "array", "minItems": 1, "maxItems": MOST_PROPOSALS, "items": items}
    whole = {"type": "object", "properties": {"proposals": listed}, "required": ["proposals"], "$defs": definitions}
    shortened: dict[str, JsonValue] = _short(whole)
    return shortened


def _say_once(definitions: Any, field: str, name: str) -> None:
    """A field that many proposals share becomes one definition that each refers to."""
    for definition in list(definitions.values()):
        fields = definition.get("properties", {})
        if field in fields:
            definitions[name] = fields[field]
            fields[field] = {"$ref": f"#/$defs/{name}"}


def _short(part: Any) -> Any:
    if isinstance(part, list):
        return [_short(item) for item in part]
    if not isinstance(part, dict):
        return part
    either = [option for option in part.get("anyOf", ()) if option != {"type": "null"}]
    if len(either) == 1:
        return _short(either[0])
    return {key: _short(value) for key, value in part.items() if key not in _UNSAID}


def read_answer(text: str) -> tuple[list[Proposal], list[ProposalFault]]:
    """The proposals of an answer, and what in it is none. Anything may come in; nothing is raised."""
    found = _json_in(text)
    if found is None:
        return [], [ProposalFault(proposal=shown(text) or "(empty answer)", why="no JSON with proposals was found")]
    listed = found.get("proposals", [found] if "do" in found else None) if isinstance(found, dict) else found
    if not isinstance(listed, list) or not listed:
        return [], [ProposalFault(proposal=shown(text), why='no list "proposals" with at least one entry')]
    read: list[Proposal] = []
    faults: list[ProposalFault] = []
    for item in listed[:MOST_PROPOSALS]:
        try:
            read.append(_proposal.validate_python(item))
        except ValidationError as error:
            faults.append(ProposalFault(proposal=shown(item), why=_explained(error)))
    if len(listed) > MOST_PROPOSALS:
        more = f"{len(listed) - MOST_PROPOSALS} more proposals"
        faults.append(ProposalFault(proposal=more, why=f"at most {MOST_PROPOSALS} are read"))
    return read, faults


def _json_in(text: str) -> Any:
    """The first JSON object or list in a text; models wrap it in prose and code fences."""
    decoder = json.JSONDecoder()
    for match in list(re.finditer(r"[{\[]", text))[:8]:
        try:
            return decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue
    return None


def _explained(error: ValidationError) -> str:
    said = [
        f"{'.'.join(str(p) for p in item['loc'][1:]) or 'do'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False, include_context=False)[:3]
    ]
    return one_line(redact("; ".join(said)))[:300]


def shown(proposal: object) -> str:
    """A proposal as the record keeps it: one line, harmless, without secrets, shortened."""
    text = proposal if isinstance(proposal, str) else json.dumps(proposal, ensure_ascii=False, default=str)
    line = redact(one_line(text[:4000]))
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} ... ({len(text)} characters)"


def words(text: str) -> str:
    """Words of a model as they may stand in the record: one clean line without secrets."""
    return redact(one_line(text))
