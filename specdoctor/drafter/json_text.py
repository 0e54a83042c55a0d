"""Small JSON files of a checkpoint, read so that whatever is in them ends in an object or in one clear message."""

from __future__ import annotations

import json
from typing import Any

from specdoctor.core.errors import CheckpointError


def json_object(raw: bytes, where: str) -> dict[str, Any]:
    """The object in a JSON file. Raises CheckpointError with the line and column of what is wrong."""
    if raw.startswith(b"version https://git-lfs"):
        raise CheckpointError(
            f"{where}: this is a pointer of git-lfs, the file itself was not fetched", next_step="run git lfs pull"
        )
    try:
        found = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise CheckpointError(
            f"{where}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}", next_step="repair or re-export it"
        ) from error
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{where}: this is not text (byte {error.start})", next_step="repair or re-export it"
        ) from error
    except (RecursionError, ValueError) as error:
        raise CheckpointError(f"{where}: this is no configuration: {error}", next_step="re-export it") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{where}: this holds no JSON object", next_step="repair or re-export it")
    return found
