"""A model's folder on a host, read by range: what lies in it, and never more of a file than is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from specdoctor.core.errors import CheckpointError
from specdoctor.core.host import Host

_MISSING, _CLOSED, _FILE = 44, 45, 46
# One look: kind and size of what lies here and, of small texts, one folder below; then what cannot be opened.
LISTING = f"""
LC_ALL=C; export LC_ALL
[ -e "$1" ] || {{ [ -L "$1" ] && exit {_CLOSED}; exit {_MISSING}; }}
if [ ! -d "$1" ]; then stat -L -c '%F|%s|%n' -- "$1"; [ -r "$1" ] || printf 'unreadable|0|%s\\n' "$1"; exit {_FILE}; fi
cd -- "$1" 2>/dev/null || exit {_CLOSED}
stat -L -c '%F|%s|%n' -- * */*.yaml */*.yml */*.json */*.py 2>/dev/null
for name in *; do
  if [ ! -e "$name" ]; then [ -L "$name" ] && printf 'broken link|0|%s\\n' "$name"
  elif [ ! -r "$name" ]; then printf 'unreadable|0|%s\\n' "$name"; fi
done
exit 0
"""
_REGULAR = ("regular file", "regular empty file")


@dataclass(frozen=True)
class Entry:
    """One name in a folder. `kind` is that of what a link leads to: "regular file", "directory", "fifo", ..."""

    kind: str
    size: int

    @property
    def regular(self) -> bool:
        return self.kind in _REGULAR


class ModelFiles:
    """The files of one model. `label` is how the user wrote the place; names are relative to the folder."""

    def __init__(self, host: Host, path: str, *, label: str) -> None:
        self._host = host
        self.path = path.rstrip("/") or "/"
        self.label = label.rstrip("/") or "/"
        self.entries, self.single = self._list()

    def full(self, name: str) -> str:
        """How evidence cites a file."""
        return self.label if self.single else f"{self.label}/{name}"

    def names(self, *suffixes: str) -> list[str]:
        """Names with one of these endings that lie in the folder itself, sorted."""
        return sorted(name for name in self.entries if "/" not in name and name.endswith(suffixes))

    def read(self, name: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file. Raises CheckpointError for what is no regular file, cannot be read, or is not there."""
        place = self.full(name)
        entry = self.entries.get(name)
        if entry is None:
            raise CheckpointError(f"{place}: there is no such file", next_step="check the folder")
        if entry.kind == "broken link":
            raise CheckpointError(
                f"{place}: a symbolic link that leads nowhere",
                next_step="fetch the file that it should lead to (a hub cache keeps it under blobs/)",
            )
        if entry.kind == "unreadable":
            raise CheckpointError(f"{place}: no permission to read it", next_step="ask its owner for read permission")
        if not entry.regular:
            raise CheckpointError(f"{place}: {entry.kind}, not a regular file: not read", next_step="check the folder")
        path = self.path if self.single else f"{self.path}/{name}"
        try:
            return self._host.read_range(path, offset=offset, length=length)
        except OSError as error:
            why = error.strerror or str(error)
            raise CheckpointError(
                f"{place}: cannot be read: {why}", next_step="check the path and its rights"
            ) from error

    def whole(self, name: str, *, limit: int) -> bytes:
        """A small file. Raises CheckpointError for one above the limit."""
        size = self.entries[name].size if name in self.entries else 0
        if size > limit:
            raise CheckpointError(
                f"{self.full(name)}: {size} bytes, more than the {limit} that are read of such a file",
                next_step="check that this is the file it is named after",
            )
        return self.read(name, length=limit)

    def _list(self) -> tuple[dict[str, Entry], bool]:
        result = self._host.run(("sh", "-c", LISTING, "sh", self.path))
        if result.exit_code == _MISSING:
            raise CheckpointError(
                f"{self.label}: there is no such folder or file on {self._host.name}",
                next_step="give the folder that holds config.json, or a GGUF file",
            )
        if result.exit_code not in (0, _FILE):
            why = result.error_text.strip() or "it cannot be entered"
            raise CheckpointError(f"{self.label}: {why[:200]}", next_step="check the path and its rights")
        found: dict[str, Entry] = {}
        single = result.exit_code == _FILE
        for line in result.text.splitlines():
            kind, _, rest = line.partition("|")
            size, _, name = rest.partition("|")
            name = name.rsplit("/", 1)[-1] if single else name
            if name and size.isdigit():
                found[name] = Entry(kind=kind, size=int(size))
        return found, single
