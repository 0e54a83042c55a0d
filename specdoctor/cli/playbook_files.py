"""Where playbooks lie: those that come with specdoctor, and those of the current folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import specdoctor
from specdoctor.core.errors import UsageError
from specdoctor.core.faults import unknown_word
from specdoctor.core.input_file import is_there

FOLDER = "playbooks"


class PlaybookFile(NamedTuple):
    """One playbook; `source` says whose it is."""

    name: str
    source: str
    path: Path
    title: str


def shipped_folder() -> Path:
    """The folder of the playbooks that come with specdoctor: in the package, or beside it in a checkout."""
    package = Path(specdoctor.__file__).parent
    inside = package / FOLDER
    return inside if inside.is_dir() else package.parent / FOLDER


def all_playbooks() -> tuple[PlaybookFile, ...]:
    """Every playbook by name; one in ./playbooks stands before a shipped one of the same name."""
    from specdoctor.planners.playbook_file import title_of

    found: dict[str, tuple[str, Path]] = {}
    for source, folder in (("specdoctor", shipped_folder()), ("here", Path(FOLDER))):
        for path in sorted(folder.glob("*.yaml")):
            if not (path.stem in found and found[path.stem][1].samefile(path)):
                found[path.stem] = (source, path)
    return tuple(
        PlaybookFile(name=name, source=source, path=path, title=title_of(path))
        for name, (source, path) in sorted(found.items())
    )


def playbook_path(name_or_path: str) -> Path:
    """A playbook by name or path. Raises UsageError with the nearest name."""
    given = Path(name_or_path)
    if is_there(given):
        return given
    known = {p.name: p.path for p in all_playbooks()}
    if name_or_path in known:
        return known[name_or_path]
    if given.suffix in (".yaml", ".yml") or "/" in name_or_path:
        raise UsageError(f"there is no file {name_or_path}", next_step="specdoctor playbooks lists those there are")
    raise UsageError(unknown_word("playbook", name_or_path, list(known)), next_step="or give the path of a file")
