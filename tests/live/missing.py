"""What a live test cannot do without."""

from __future__ import annotations


class Missing(Exception):
    """Something that this machine does not have; the message says what, and what would bring it."""
