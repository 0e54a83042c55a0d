"""The table of GPUs that the vendor's tool prints."""

from __future__ import annotations

import csv
import io

from specdoctor.core.facts import CommandFacts


def gpu_rows(command: CommandFacts) -> list[dict[str, str]]:
    """Rows of `nvidia-smi --query-gpu=... --format=csv` by field name: from the header, else from the query."""
    lines = [row for row in csv.reader(io.StringIO(command.stdout), skipinitialspace=True) if row]
    asked = next((w.split("=", 1)[1].split(",") for w in command.argv if w.startswith("--query-gpu=")), [])
    if lines and "index" in lines[0]:
        asked = [name.split(" [")[0].strip() for name in lines.pop(0)]
    return [dict(zip(asked, (v.strip() for v in row), strict=False)) for row in lines] if asked else []
