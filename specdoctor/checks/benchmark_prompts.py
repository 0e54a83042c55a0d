"""Was acceptance measured on prompts that say anything?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

LOADERS = re.compile(
    r"bench_?serving|bench serve|benchmark_serving|genai-perf|aiperf|guidellm|evalscope|llmperf|benchmark", re.I
)
RANDOM = re.compile(
    r"--dataset(?:-name)?[= ](?:random|synthetic|dummy|sonnet_random)\b|--random-(?:input|"
    r"output)|synthetic-input-tokens|"
    r"(?:prompt_tokens|input_tokens)\s*[=:]\s*\d+.*synthetic|dataset(?:_name)?[\"']?\s*[:=]\s*[\"']?random\b",
    re.I,
)
FORCED = re.compile(r"--ignore[-_]eos|ignore_eos[\"']?\s*[:=]\s*(?:true|1)|min_tokens[\"']?\s*[:=]", re.I)
RANDOM_SPOKEN = re.compile(r"\brandom (?:tokens?|prompts?|inputs?|data)\b", re.I)


class BenchmarkPrompts:
    """Nobody can foretell random tokens, and a model forced to go on beyond its end repeats itself."""

    name = "benchmark-prompts"
    summary = "Look in benchmark commands and results for random prompts and forced lengths."
    causes = ("MEAS-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if not scene.material.texts:
            return no_data(self.name, "MEAS-1", "no benchmark command was given")
        random = next((s for s, _ in found_lines(scene, RANDOM)), None)
        spoken = next((s for s, _ in found_lines(scene, RANDOM_SPOKEN, "notes")), None)
        forced = next((s for s, _ in found_lines(scene, FORCED)), None)
        source = random or spoken
        if source is None:
            return silent(self.name, "MEAS-1", "nothing shows random prompts", *((forced,) if forced else ()))
        claim = "the benchmark sends random tokens" + (" and forces the length of the answers" if forced else "")
        claim += ": acceptance measured on them says nothing about real prompts"
        asked = bool({"low-acceptance", "regression"} & set(scene.complaints)) or not scene.complaints
        sources = (source, *((forced,) if forced is not None else ()))
        return (proved(self.name, "MEAS-1", claim, *sources, about="accept_length", explains=asked),)


check = BenchmarkPrompts()
