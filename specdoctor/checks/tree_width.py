"""Is a wide draft tree verified for many requests at once?"""

from __future__ import annotations

from specdoctor.checks.reading import at_once, in_force, silent
from specdoctor.core.hypothesis import Observation, Prediction, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import SpecSetting


class TreeWidth:
    """A tree verifies many tokens per request: it can pay alone and lose in a batch; it must also be fillable."""

    name = "tree-width"
    summary = "Compare draft tokens with what steps and topk can fill, and with the number of requests at once."
    causes = ("CFG-3", "LOAD-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        spec = scene.view.spec
        if spec is None or not spec.on or spec.topk <= 1 or spec.family == "NGRAM":
            return silent(self.name, "LOAD-2", "no draft tree is in force")
        source = in_force(scene.view, "speculative_num_draft_tokens")
        pool = spec.topk + max(spec.draft_steps - 1, 0) * spec.topk**2
        found: list[Observation] = []
        if spec.draft_tokens - 1 > pool:
            claim = f"{spec.draft_tokens} draft tokens asked of a tree with {pool} candidates"
            reading = Prediction(metric="reading", op=">", subject="draft tokens in force", text=str(pool + 1))
            found.append(
                Observation(
                    check=self.name,
                    cause="CFG-3",
                    stance="supports",
                    claim=claim,
                    binds=True,
                    sources=(source,),
                    reading=reading,
                )
            )
        if at_once(scene) > 1:
            chain = SpecSetting(
                algorithm=spec.algorithm, draft_steps=spec.draft_steps, topk=1, draft_tokens=spec.draft_steps + 1
            )
            found.append(
                Observation(
                    check=self.name,
                    cause="LOAD-2",
                    stance="suggests",
                    about="cycle",
                    claim=f"{spec.draft_tokens} tokens are verified for each of {at_once(scene)} requests",
                    sources=(source,),
                    remedy=Remedy(label=f"chain of {spec.draft_steps}", setting=chain),
                    decides=f"cycle and throughput with a chain of {spec.draft_steps} at the same concurrency",
                )
            )
        return tuple(found) or silent(
            self.name, "LOAD-2", f"tree of {spec.draft_tokens} tokens for one request", source
        )


check = TreeWidth()
