"""Are the kernel packages those that this engine release was built for?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, server_packages, silent
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

SUBJECT = "kernel packages"
CLAIM = "kernel packages that do not fit this release slow the cycle"
TWICE = ("sgl-kernel", "sglang-kernel")


class KernelPackages:
    """Kernels of another release, or two packages that overwrite each other's files, can slow every forward."""

    name = "kernel-packages"
    summary = "Compare kernel, FlashInfer and torch packages with what the engine's release pins."
    causes = ("VER-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        where, packages = server_packages(scene)
        if not view.pins:
            return no_data(self.name, "VER-1", f"what version {view.version or 'unknown'} pins is not known")
        found = {name: packages[name].version for name in view.pins if name in packages}
        if not found:
            return no_data(self.name, "VER-1", "no kernel package of the server's interpreter was read")
        sources = tuple(Source(where=where, key=name, quote=version) for name, version in found.items())
        wrong = [f"{name} {v}, pinned {view.pins[name]}" for name, v in found.items() if v != view.pins[name]]
        if all(name in packages for name in TWICE):
            wrong.append(f"both {TWICE[0]} and {TWICE[1]} are installed")
        if wrong:
            return (
                Observation(
                    check=self.name,
                    cause="VER-1",
                    stance="suggests",
                    about="cycle",
                    claim=f"kernel packages differ from this release's: {'; '.join(wrong)}",
                    sources=sources,
                    decides="cycle with the pinned packages, in an environment of its own (other_install)",
                    decided_by="restart",
                ),
            )
        said = ", ".join(f"{name} {version}" for name, version in found.items())
        if "regression" not in scene.complaints:
            return silent(self.name, "VER-1", f"as release {view.version} pins them: {said}", *sources)
        return (
            Observation(
                check=self.name,
                cause="VER-1",
                stance="refutes",
                claim=f"as release {view.version} pins them: {said}",
                against=CLAIM,
                sources=sources,
                reading=Prediction(metric="reading", op="!=", subject=SUBJECT, text=f"pins of {view.version}"),
            ),
        )


check = KernelPackages()
