"""Places of a calculation, here or on hosts: what lies on a host is brought into a folder of this machine first."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.cli.output import on_terminal, say
from specdoctor.cli.places import HERE, Hosts, hosts, place_of
from specdoctor.core.errors import CheckpointError

if TYPE_CHECKING:
    from specdoctor.app.model_files import ModelFiles
    from specdoctor.core.reach import SshTransport

Reach = tuple[Path | None, bool, Path | None, "SshTransport | None"]


def hosts_for(reach: Reach) -> AbstractContextManager[Hosts]:
    """Hosts by --targets, --accept-new-host-key, --ssh-config and --ssh."""
    targets_file, accept_new, ssh_config, transport = reach
    return hosts(targets_file=targets_file, accept_new=accept_new, ssh_config=ssh_config, ssh_transport=transport)


class Brought:
    """Brings files into `room`. `fetch` is the size that was allowed on the command line."""

    def __init__(self, reachable: Hosts, room: Path, fetch: str | None) -> None:
        from specdoctor.app.fetching import FREE_BYTES, Allowance, bytes_allowed

        self._hosts = reachable
        self._room = room
        limit = bytes_allowed(fetch) if fetch is not None else FREE_BYTES
        self._allowance = Allowance(limit, ask=_asked if on_terminal() else None)

    def drafter(self, text: str) -> ModelFiles:
        """The folder, with all weights where it had to be fetched."""
        from specdoctor.app.fetching import fetch_drafter

        files = self._hosts.files(text)
        if place_of(text).host == HERE:
            return files
        say(f"specdoctor: fetching {text}")
        return self._local(fetch_drafter(files, self._folder("draft"), self._allowance), files)

    def target(self, text: str) -> ModelFiles:
        """The folder, of a host with embedding, head and norm only."""
        from specdoctor.app.drafter_eval import TARGET_PARTS
        from specdoctor.app.fetching import fetch_parts

        files = self._hosts.files(text)
        if place_of(text).host == HERE:
            return files
        say(f"specdoctor: fetching embedding and head of {text}")
        folder = self._folder("target")
        fetch_parts(files, folder, self._allowance, wanted=lambda name: name.endswith(TARGET_PARTS))
        return self._local(folder, files)

    def states(self, text: str) -> Path:
        """A file or folder of this machine, or one file of a host."""
        from specdoctor.app.fetching import fetch_file

        place = place_of(text)
        if place.host == HERE:
            return Path(place.path)
        files = self._hosts.files(text)
        if not files.single:
            raise CheckpointError(f"{text}: a folder; of a host one file is read", next_step="name a file in it")
        say(f"specdoctor: fetching {text}")
        return fetch_file(files, place.path.rsplit("/", 1)[-1], self._folder("states"), self._allowance)

    def _folder(self, name: str) -> Path:
        folder = self._room / name
        folder.mkdir()
        return folder

    def _local(self, folder: Path, files: ModelFiles) -> ModelFiles:
        """What was brought, called as it was on its host; files that were not brought are told of by those there."""
        from specdoctor.assembly.connections import connect_host
        from specdoctor.assembly.judging import model_files

        if not any(folder.iterdir()):
            return files
        return model_files(connect_host(HERE), str(folder), label=files.label)


def _asked(words: str) -> bool:
    import typer

    return typer.confirm(f"{words}. Fetch it?", default=False, err=True)
