"""The YAML file that a server's --config names."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue


def config_mapping(text: str) -> Mapping[str, JsonValue]:
    """What a configuration file sets; empty for what is no mapping."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
