"""A document that is made to be slow is refused before it is read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from specdoctor.core.errors import UsageError
from specdoctor.core.yaml_places import DEEPEST, parse_yaml


def test_brackets_without_end_are_refused_at_once() -> None:
    begun = time.process_time()
    with pytest.raises(UsageError, match="nested deeper"):
        parse_yaml(Path("deep.yaml"), b"a: " + b"[" * 1_000_000)
    assert time.process_time() - begun < 1


def test_many_brackets_that_close_are_read() -> None:
    text = "a: [" + ", ".join("[1]" for _ in range(DEEPEST + 50)) + "]"
    assert len(parse_yaml(Path("wide.yaml"), text.encode()).data["a"]) == DEEPEST + 50
