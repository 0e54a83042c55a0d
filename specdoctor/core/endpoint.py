"""A language model that may be asked: where it answers, what it costs, and how much of it a run may use."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from specdoctor.core.model import Frozen


class Endpoint(Frozen):
    """An OpenAI-compatible server and a model on it. The key is never kept: `key_env` names the variable that has it.

    `base_url` None: the address that the client library knows. `max_tokens` (prompts and answers together) and
    `max_cost` are budgets of a whole run, `max_answer_tokens` of one answer; prices are for a million tokens, in the
    currency of `max_cost`. `show_commands`: a command that the model suggests may stand in a question to the person; it
    is never run.
    """

    model: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    max_tokens: Annotated[int, Field(ge=0)] = 40_000
    max_answer_tokens: Annotated[int, Field(ge=64)] = 800
    max_cost: Annotated[float, Field(ge=0)] | None = None
    price_in: Annotated[float, Field(ge=0)] | None = None
    price_out: Annotated[float, Field(ge=0)] | None = None
    show_commands: bool = False

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is no address of a server; write https://host/v1")
        if parts.username or parts.password:
            raise ValueError("holds a password; name the variable that has the key with key_env")
        return value

    @model_validator(mode="after")
    def _priced(self) -> Endpoint:
        if self.max_cost is not None and (self.price_in is None or self.price_out is None):
            raise ValueError("max_cost needs price_in and price_out, for a million tokens each")
        return self

    def cost(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        """What so many tokens cost; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (prompt_tokens * self.price_in + answer_tokens * self.price_out) / 1e6
