"""Is the accept length high for one form of prompt and low for another, at the same cost of a cycle?"""

from __future__ import annotations

import re
from collections import defaultdict

from specdoctor.analysis.measured_rows import LAUNCH_NOISE, Arm, arms, setting_of
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

FORMS = re.compile(
    r"template|\braw\b|\bbare\b|\bplain\b|system prompt|chat|completions?\b|/generate|send_one|thinking|reasoning|"
    r"instruct|no[ _-]?think|untemplated|formatted",
    re.IGNORECASE,
)
OWN_HEAD = re.compile(r"mtp|nextn", re.IGNORECASE)
RAW = re.compile(r"\braw\b|\bbare\b|\bplain\b|completions?\b|/generate|send_one|untemplated|no template", re.IGNORECASE)
CLEAR = 0.75
"""The weaker form accepts at most this share of the stronger (tasks of one form differ by less in public figures of a
head; named heuristic)."""
LOOKUP = re.compile(r"ngram|n-gram|lookup|suffix", re.IGNORECASE)


class PromptForm:
    """One server, two forms of prompt: a step that stays while the accept length moves is the drafter's, not
    the host's.
    """

    name = "prompt-form"
    summary = "Compare accept lengths of one setting under several prompts: their form, or the kind of task."
    causes = ("TRAIN-1", "TRAIN-5", "LOAD-6")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        settings: dict[tuple[object, ...], list[Arm]] = defaultdict(list)
        for arm in arms(scene):
            if arm.row.prompt and arm.accept_length is not None:
                settings[(arm.row.source.where, setting_of(arm.row), arm.row.concurrency)].append(arm)
        found = max(settings.values(), key=len, default=[])
        if len({arm.row.prompt for arm in found}) < 2:
            return no_data(self.name, "TRAIN-1", "no rows of one setting under several prompts")
        low = min(found, key=lambda a: a.accept_length or 0.0)
        high = max(found, key=lambda a: a.accept_length or 0.0)
        if (low.accept_length or 0.0) > CLEAR * (high.accept_length or 0.0):
            return silent(self.name, "TRAIN-1", "the prompts accept alike", low.row.source, high.row.source)
        said = (
            f"accept length {high.accept_length:.2f} under '{high.row.prompt}' and {low.accept_length:.2f} under "
            f"'{low.row.prompt}'{_same_step(low, high)}"
        )
        sources = (low.row.source, high.row.source, *((high.base.source,) if high.base is not None else ()))
        method = f"{scene.view.spec.algorithm if scene.view.spec else ''} {high.row.label}"
        if LOOKUP.search(method):
            return (proved(self.name, "LOAD-6", said, *sources, about="accept_length"),)
        forms = FORMS.search(low.row.prompt) or FORMS.search(high.row.prompt)
        if not forms:
            claim = f"{said}: kinds of text differ in how well they can be foretold"
            return (suspected(self.name, "TRAIN-1", claim, *sources, about="accept_length"),)
        if OWN_HEAD.search(method) and RAW.search(high.row.prompt) and not RAW.search(low.row.prompt):
            return (proved(self.name, "TRAIN-5", said, *sources, about="accept_length"),)
        return (proved(self.name, "TRAIN-1", said, *sources, about="accept_length"),)


def _same_step(low: Arm, high: Arm) -> str:
    """That the cycle costs the same, where times are known."""
    a, b = low.step_ms, high.step_ms
    if a is None or b is None or abs(a - b) > 2 * LAUNCH_NOISE * max(a, b):
        return ""
    return f"; the cycle takes {min(a, b):.1f} to {max(a, b):.1f} ms in both"


check = PromptForm()
