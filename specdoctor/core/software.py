"""Which engine a measurement was taken of, from its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping


def software_words(software: Mapping[str, str]) -> str:
    """The engine in few words: version, and the commit of a checkout."""
    version = software.get("engine.version", "version unknown")
    commits = [
        f"{key.partition('.')[2]} at {value.partition(' at ')[2][:12]}"
        for key, value in sorted(software.items())
        if key.startswith("package.") and " at " in value
    ]
    return ", ".join([version, *commits])
