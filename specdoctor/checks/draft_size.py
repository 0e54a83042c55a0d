"""Is the drafter too large beside its target to pay, by their sizes?"""

from __future__ import annotations

from specdoctor.analysis.measured_rows import arms, paired
from specdoctor.analysis.model_bytes import Weights, weights_of
from specdoctor.checks.draft_cost import WHOLE_MODEL
from specdoctor.checks.reading import config_of, config_source, no_data, silent, windows
from specdoctor.checks.saying import suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

LARGE = 0.33
"""A drafter that reads a third of what its target reads has to have a third of its drafts accepted before anything is
gained, and all that the engine adds on top; pairs that are published stay below a fifth (named heuristic)."""


class DraftSize:
    """For one request weights are read once for each token drafted and once for each verify: a drafter that reads the
    share r of what its target reads makes a cycle of k drafts at least 1 + k r baseline steps long, and that many
    tokens must be accepted. Sizes bound the cost; what it is, only times tell.
    """

    name = "draft-size"
    summary = "Compare the size of a draft model with its target's: the least number of tokens that would pay for it."
    causes = ("LOAD-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        spec = view.spec or view.asked_spec
        whole = spec is not None and spec.on and WHOLE_MODEL.search(str(spec.algorithm)) is not None
        if spec is None or not whole or view.draft_path in (None, view.model_path):
            return silent(self.name, "LOAD-4", "no whole model drafts")
        target, draft = (_weights(scene, role) for role in ("target", "draft"))
        if target is None or draft is None or spec.draft_steps < 1:
            return no_data(self.name, "LOAD-4", "the sizes of drafter and target, or the draft length, are not known")
        share, length = draft.gigabytes / target.gigabytes, _accepted(scene)
        needed = 1 + spec.draft_steps * share
        sizes = f"the drafter reads {_shown(draft)} a token, the target {_shown(target)}"
        if any((arm.speedup or 0.0) > 1.0 for arm in paired(scene)):
            return silent(self.name, "LOAD-4", f"{sizes}; measured, it pays")
        costly = share >= LARGE if length is None else share >= LARGE / 2 and length <= needed
        if not costly:
            return silent(self.name, "LOAD-4", f"{sizes}: no size that forbids a gain")
        have = f"; {length:.2f} are accepted" if length is not None else ""
        claim = (
            f"{sizes}, {share:.0%}: for one request a cycle of {spec.draft_steps} drafts lasts at least {needed:.1f} "
            f"baseline steps if reading weights is what takes time, so it pays above {needed:.1f} tokens a "
            f"cycle{have}; a bound by size, not a time"
        )
        return (suspected(self.name, "LOAD-4", claim, *_sources(scene), about="cycle"),)


def _weights(scene: Scene, role: str) -> Weights | None:
    view = scene.view
    if role == "target":
        return weights_of(config_of(scene, "target")[0], view.model_path or "")
    return weights_of(config_of(scene, "draft")[0], view.draft_path or "")


def _shown(weights: Weights) -> str:
    return f"{weights.billions:.2g} billion weights of {weights.bits} bit ({weights.how})"


def _accepted(scene: Scene) -> float | None:
    """Tokens a cycle as the files show them; None where they do not."""
    logged = [w.accept_length for w in windows(scene.view) if w.accept_length is not None]
    if logged:
        return sum(logged) / len(logged)
    if scene.view.lifetime_accept_length is not None:
        return scene.view.lifetime_accept_length
    tabled = [arm.accept_length for arm in arms(scene) if arm.accept_length is not None]
    return max(tabled) if tabled else None


def _sources(scene: Scene) -> tuple[Source, ...]:
    view = scene.view
    found = [config_source(scene, "draft", "hidden_size"), config_source(scene, "target", "hidden_size")]
    place = view.effective_source or view.asked_source
    for key in ("speculative_draft_model_path", "speculative_config.model", "model_draft", "model_path", "model"):
        line = view.asked_lines.get(key)
        if line is not None and view.asked_source is not None:
            value = view.asked.get(key, "")
            found.append(Source(where=view.asked_source.where, line=line, key=key, quote=value))
    given = tuple(source for source in found if source is not None)
    return given or ((place,) if place is not None else ())


check = DraftSize()
