"""One request to a server or one answer of it, as JSON: OpenAI's forms, SGLang's /generate, llama.cpp's timings."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from specdoctor.core.material import Exchange, Material
from specdoctor.core.reader import Reading
from specdoctor.readers.json_file import document_of

_TIMED = ("predicted_n", "predicted_per_second", "draft_n")


class _Reader(NamedTuple):
    name: str = "exchange"
    summary: str = "a request or an answer: chat, completions, /generate, llama.cpp timings"
    rank: int = 12

    def read(self, text: str, *, where: str) -> Reading | None:
        found = document_of(text)
        items = found if isinstance(found, list) else [found]
        read = [e for item in items if isinstance(item, dict) and (e := _exchange(item, where)) is not None]
        if not read or len(read) < len(items):
            return None
        return Reading(kind=read[0].direction, pieces=Material(exchanges=tuple(read)))


def _exchange(found: dict[str, JsonValue], where: str) -> Exchange | None:
    body, text = found, _answer(found)
    for key in ("response", "body", "answer"):
        inner = found.get(key)
        if text is None and isinstance(inner, dict):
            body, text = inner, _answer(inner)
    if text is not None:
        return Exchange(where=where, direction="answer", text=text, content=body)
    timings = found.get("timings", found)
    if isinstance(timings, dict) and sum(key in timings for key in _TIMED) >= 2:
        return Exchange(where=where, direction="answer", text=str(found.get("content") or ""), content=found)
    asked = _asked(found)
    return Exchange(where=where, direction="request", text=asked, content=found) if asked is not None else None


def _answer(found: dict[str, JsonValue]) -> str | None:
    """The text that a server answered; None for another object."""
    choices = found.get("choices")
    if isinstance(choices, list):
        return "\n".join(_of_choice(choice) for choice in choices if isinstance(choice, dict))
    if "meta_info" in found and "text" in found:
        return str(found["text"])
    if "content" in found and ("timings" in found or "tokens_predicted" in found):
        return str(found["content"])
    return None


def _of_choice(choice: dict[str, JsonValue]) -> str:
    message = choice.get("message") or choice.get("delta")
    if isinstance(message, dict):
        return str(message.get("content") or message.get("reasoning_content") or "")
    return str(choice.get("text") or "")


def _asked(found: dict[str, JsonValue]) -> str | None:
    """The text that was sent to a server; None for another object."""
    messages = found.get("messages")
    if isinstance(messages, list):
        return "\n".join(str(m.get("content") or "") for m in messages if isinstance(m, dict))
    limits = ("max_tokens", "n_predict", "sampling_params", "temperature", "max_new_tokens", "stream")
    if isinstance(found.get("prompt"), str) and any(key in found for key in limits):
        return str(found["prompt"])
    return str(found["text"]) if isinstance(found.get("sampling_params"), dict) and "text" in found else None


reader = _Reader()
