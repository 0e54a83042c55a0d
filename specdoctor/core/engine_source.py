"""An engine as it is installed on a host, with what its own source does for one target."""

from __future__ import annotations

from specdoctor.core.facts import FileFacts, PackageFacts, Raw


class InstalledEngine(Raw):
    """SGLang of one interpreter. `serving`: a server that runs in it serves the target that was asked about.

    `rule` is the source file that picks the states of that target, None where none such is installed.
    """

    interpreter: str
    engine: PackageFacts
    serving: bool = False
    rule: FileFacts | None = None

    @property
    def as_published(self) -> bool:
        """Whether nothing was seen that would make it other than the release it is named after."""
        one = self.engine
        return not (one.editable_url or one.git_commit or one.record_mismatches)
