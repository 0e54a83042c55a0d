"""The passphrase of a locked key, asked for on the terminal and kept nowhere."""

from __future__ import annotations

import getpass


def ask_passphrase(path: str) -> str | None:
    """What was typed, None to leave this key out."""
    try:
        return getpass.getpass(f"passphrase of {path} (empty: leave it out): ") or None
    except (EOFError, OSError):
        return None
