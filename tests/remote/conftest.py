"""Each test of a remote program gets a host of its own: a folder, and processes that end with the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.workplace import Workplace, opened


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    yield from opened(tmp_path)
