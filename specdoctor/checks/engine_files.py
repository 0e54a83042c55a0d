"""Is the engine that runs the one its version says?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source


class EngineFiles:
    """Rules by version hold for released files; patches, checkouts and mixed wheels lower that confidence."""

    name = "engine-files"
    summary = "See whether the installed engine matches its released files and the running process."
    causes = ("VER-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.version is None and view.version_range is None:
            return no_data(self.name, "VER-1", "no version was read")
        version = view.version or view.version_range or ""
        if not view.version_doubts:
            source = view.version_source or Source(where="log", quote=version)
            return silent(self.name, "VER-1", f"version {version}, no sign of other files", source)
        return tuple(
            Observation(
                check=self.name,
                cause="VER-1",
                stance="suggests",
                claim=f"rules for version {version} may not hold here: {doubt}",
                sources=(Source(where="installed packages", quote=doubt),),
                decides="the same benchmark on an unmodified install of this version",
            )
            for doubt in view.version_doubts
        )


check = EngineFiles()
