"""Does the process run the engine version that is installed?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, server_packages, silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

SUBJECT = "engine version in force"
CLAIM = "another engine version runs than was meant"


class RunningVersion:
    """An upgrade without a restart, or a start from another environment, leaves another version running."""

    name = "running-version"
    summary = "Compare the version that the server reports with the one installed for its interpreter."
    causes = ("VER-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        where, packages = server_packages(scene)
        installed = packages.get(view.engine)
        if view.version is None or installed is None:
            return no_data(self.name, "VER-1", "the running version or the installed one was not read")
        said = Source(where=where, key=installed.name, quote=installed.version)
        sources = (said,) if view.version_source is None else (view.version_source, said)
        if installed.version.split("+")[0] != view.version.split("+")[0]:
            return (
                Observation(
                    check=self.name,
                    cause="VER-1",
                    stance="suggests",
                    claim=f"{view.version} runs, {installed.version} is installed: not restarted since the update?",
                    sources=sources,
                    decides="the same benchmark after a restart",
                    decided_by="restart",
                ),
            )
        if not scene.complaints or "regression" not in scene.complaints:
            return silent(self.name, "VER-1", f"{view.version} runs and is installed", *sources)
        commit = f" at {installed.git_commit[:12]}" if installed.git_commit else ""
        return (
            Observation(
                check=self.name,
                cause="VER-1",
                stance="refutes",
                claim=f"{view.version} runs, and {installed.version}{commit} is installed for its interpreter",
                against=CLAIM,
                sources=sources,
                reading=Prediction(metric="reading", op="!=", subject=SUBJECT, text=installed.version),
            ),
        )


check = RunningVersion()
