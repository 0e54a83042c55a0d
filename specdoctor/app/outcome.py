"""How an action ended, as every action says it."""

from __future__ import annotations

Outcome = tuple[str, str, tuple[str, ...]]
"""outcome word, summary, evidence ids"""
