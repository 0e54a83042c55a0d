"""Text from elsewhere, made harmless for a terminal; see `specdoctor.core.clean`."""

from __future__ import annotations

from specdoctor.core.clean import clean, one_line, visible

__all__ = ["clean", "one_line", "visible"]
