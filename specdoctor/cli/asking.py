"""Which language model a run may ask, from the options, the profiles of the targets file and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from specdoctor.core.endpoint import Endpoint
from specdoctor.core.errors import UsageError
from specdoctor.core.faults import explained

BASE_URL = "OPENAI_BASE_URL"
DEFAULT = "default"
"""The profile that is used without a word on the command line."""
_HOW = "name a model with --model, or write [profiles.default] in specdoctor.toml (docs/planners.md)"


def profiles_of(targets_file: Path | None) -> dict[str, Endpoint]:
    """The profiles of the targets file that a command reads. Raises UsageError with every fault."""
    from specdoctor.cli.targets import default_file, read_document

    path = targets_file or default_file()
    return read_document(path).profiles if path is not None else {}


def asked_model(
    given: Mapping[str, Any], profiles: Mapping[str, Endpoint], *, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The settings `planner` and `endpoint`; nothing where the rules go alone. Raises UsageError.

    A model is asked only where somebody said so: by an option, or by a profile named `default`. A key that stands in
    the environment for another purpose is no such word.
    """
    environment = os.environ if environment is None else environment
    planner, model = given.get("planner"), given.get("model")
    told = [
        f"--{name.replace('_', '-')}" for name in ("model", "max_tokens", "max_cost") if given.get(name) is not None
    ]
    if planner == "rules" or (planner is None and model is None and DEFAULT not in profiles):
        if told:
            raise UsageError(f"{told[0]} says which model to ask, and the rules ask none", next_step=_HOW)
        return {}
    name = model or (DEFAULT if DEFAULT in profiles else None)
    if name is None:
        raise UsageError(f"--planner {planner} asks a language model, and none is named", next_step=_HOW)
    endpoint = profiles.get(name) or Endpoint(model=name)
    over = {
        "base_url": endpoint.base_url or environment.get(BASE_URL) or None,
        "max_tokens": given.get("max_tokens"),
        "max_cost": given.get("max_cost"),
    }
    endpoint = _with(endpoint, {key: value for key, value in over.items() if value is not None})
    if endpoint.base_url is None and not environment.get(endpoint.key_env):
        if planner is None and model is None:
            return {}
        raise UsageError(
            f"there is nobody to ask {endpoint.model} of: neither {BASE_URL} nor {endpoint.key_env} is set",
            next_step=f"set {BASE_URL} to the server's address (http://host:port/v1), or {endpoint.key_env} to its "
            "key; --planner rules needs neither",
        )
    return {"planner": planner or "auto", "endpoint": endpoint}


def named_model(given: Mapping[str, Any], targets_file: Path | None) -> dict[str, Any]:
    """As `asked_model`, where nothing but an option names a model: a profile named `default` starts nothing here."""
    if not any(given.get(name) is not None for name in ("planner", "model", "max_tokens", "max_cost")):
        return {}
    return asked_model(given, profiles_of(targets_file))


def _with(endpoint: Endpoint, over: Mapping[str, Any]) -> Endpoint:
    try:
        return Endpoint.model_validate({**endpoint.model_dump(), **over})
    except ValidationError as error:
        said = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'profile'}: {explained(item)}"
            for item in error.errors(include_url=False)
        )
        raise UsageError(f"the language model cannot be asked so: {said}", next_step=_HOW) from error


def said_of(settings: Mapping[str, Any]) -> str:
    """That what is read of the host goes to a model, and to which; empty where it does not."""
    endpoint = settings.get("endpoint")
    if endpoint is None:
        return ""
    where = endpoint.base_url or "api.openai.com"
    return f"specdoctor: briefs of what is read go to {endpoint.model} at {where} ({settings['planner']})"
