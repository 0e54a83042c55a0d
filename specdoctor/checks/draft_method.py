"""Does the algorithm in force fit the drafter's checkpoint?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, log_source, no_data, silent
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

RIGHT = {"EAGLE": "EAGLE3", "draft-simple": "draft-eagle3"}
"""Methods under which an engine loads an EAGLE-3 head and does not use it as one, and the one that is right there."""


class DraftMethod:
    """An EAGLE-3 head under the algorithm EAGLE loads without a word and accepts next to nothing."""

    name = "draft-method"
    summary = "Compare the speculative algorithm in force with the architecture of the drafter's checkpoint."
    causes = ("CFG-2",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or not view.spec.on:
            return silent(self.name, "CFG-2", "no speculation is in force")
        if view.draft_config is None:
            return no_data(self.name, "CFG-2", "the drafter's config.json was not read")
        named = view.draft_config.get("architectures")
        architectures = [str(a) for a in named] if isinstance(named, list) else []
        metadata = view.draft_config.get("general.architecture")
        architectures += [str(metadata)] if metadata else []
        eagle3 = any("eagle3" in a.lower() for a in architectures)
        algorithm = str(view.spec.algorithm)
        key = "general.architecture" if metadata else "architectures"
        told = next((n for n in view.log.notices if n.kind == "draft-architecture"), None) if view.log else None
        source = Source(where=f"{view.draft_path}/config.json", key=key, quote=", ".join(architectures))
        source = log_source(view, told.line, told.text) if told is not None else source
        if eagle3 and algorithm in RIGHT:
            right = RIGHT[algorithm]
            setting = view.spec.model_copy(update={"algorithm": right})
            flag = "spec_type" if metadata else "speculative_algorithm"
            return (
                Observation(
                    check=self.name,
                    cause="CFG-2",
                    stance="supports",
                    claim=f"algorithm {algorithm} is in force for an EAGLE-3 head ({', '.join(architectures)})",
                    binds=True,
                    about="accept_length",
                    sources=(in_force(view, flag), source),
                    remedy=Remedy(label=f"algorithm {right}", setting=setting),
                    reading=Prediction(metric="reading", op="!=", subject="algorithm in force", text=right),
                    fix=f"start with --{flag.replace('_', '-')} {right}",
                ),
            )
        return silent(
            self.name, "CFG-2", f"algorithm {algorithm} for {', '.join(architectures) or 'an unnamed class'}", source
        )


check = DraftMethod()
