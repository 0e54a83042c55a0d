"""What does a person's own text name as the condition under which it happens?"""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.analysis.given_lines import found_lines
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene


class _Condition(NamedTuple):
    cause: str
    says: str
    pattern: re.Pattern[str]


def _words(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


CONDITIONS = (
    _Condition("WIRE-4", "only with images", _words(r"\b(?:only|just)\b.{0,30}\b(?:images?|pictures?|video|audio)\b")),
    _Condition(
        "CORR-5",
        "only with a grammar or tools",
        _words(
            r"\b(?:only|just|as soon as|when)\b.{0,40}"
            r"\b(?:json schema|grammar|structured|tool calls?|response_format)\b"
        ),
    ),
    _Condition(
        "MIS-2",
        "only on the quantised target",
        _words(
            r"\b(?:bf16|fp16|unquantised|unquantized|full precision)\b.{0,40}\b(?:is|was|works) (?:fine|"
            r"good|ok|right|\d)"
        ),
    ),
    _Condition(
        "CORR-1",
        "only where the prefix comes from the cache",
        _words(
            r"\bflush\w*\b.{0,60}\b(?:cures?|works?|fixe?s|helps?|again)\b|\bfrom (?:turn|request) (?:2|two) on\b|"
            r"\b(?:prefix|radix)[ -]cach\w*\b.{0,60}\b(?:never happens|fine|ok|disappears|gone)\b|"
            r"--(?:disable-radix-cache|no-enable-prefix-caching)\b.{0,40}\b(?:never|fine|ok|disappears|gone|not)\b"
        ),
    ),
    _Condition("MIS-5", "only for adapted requests", _words(r"\b(?:lora|adapter|fine-?tuned target)\b")),
    _Condition(
        "SAMP-1",
        "only at a temperature above 0",
        _words(
            r"\btemperature (?:1(?:\.0)?|0\.[5-9])\b.{0,80}\b(?:low|drop|fall|worse|less)|"
            r"\bonly\b.{0,30}\btemperature\b"
        ),
    ),
    _Condition(
        "SAMP-2",
        "in one client only",
        _words(r"\b(?:web ?ui|interface|client|frontend)\b.{0,40}\b(?:slower|worse)\b.{0,30}\bcurl\b"),
    ),
    _Condition(
        "MEAS-4",
        "tokens are counted by chunks",
        _words(r"\bcount\w*\b.{0,40}\b(?:chunks?|events?|sse)\b|\b(?:chunks?|events?)\b.{0,30}\bas (?:one )?tokens?\b"),
    ),
    _Condition(
        "ENV-6",
        "the speed changes with the start",
        _words(
            r"\b(?:some|every other|each|another) (?:re)?starts?\b.{0,60}\b(?:fast|slow)|"
            r"\bafter (?:a|some|another) restart\b.{0,40}\b(?:fast|slow)"
        ),
    ),
    _Condition(
        "ENV-1",
        "a gain on one card, none on several",
        _words(
            r"\b(?:on|with) (?:one|a single|1) (?:gpu|card|rank)\b.{0,60}\b(?:two|four|eight|several|more|[248])\b"
            r".{0,40}\b(?:not|no|none|nothing|slower|loses?)\b|"
            r"\btp ?=? ?1\b.{0,80}\btp ?=? ?[248]\b.{0,40}\b(?:not|no|slower|loses?)\b"
        ),
    ),
    _Condition("ENV-5", "the card reports errors", _words(r"\bXid\b|\bECC error|\breset required\b")),
    _Condition(
        "ENV-4",
        "processes are not bound to a socket",
        _words(r"\bnumactl\b|\bnot bound\b|\bother socket\b|\bremote NUMA\b"),
    ),
    _Condition(
        "VER-1",
        "since an upgrade",
        _words(
            r"\b(?:since|after) (?:the |an? |our )?(?:update|upgrade|upgrading|updating)\b|"
            r"\bfrom (?:\w+ )?v?\d+\.\d+(?:\.\w+)? to (?:\w+ )?v?\d+\.\d+(?!\d*\s*(?:tok|t/s|tps|ms|x\b|%))|"
            r"\bolder (?:release|version|build)\b.{0,30}\b(?:fine|fast|ok|good)"
        ),
    ),
    _Condition(
        "COMPAT-1",
        "with pipeline parallel",
        _words(r"\bpipeline[- ]parallel\w*\b|--pp(?:-size)? [2-9]|--pipeline-parallel-size [2-9]"),
    ),
)


class Told:
    """A claim is no fact: it opens a rival with its deciding test, and nothing more."""

    name = "told"
    summary = (
        "Read in a person's notes under which condition it happens, and name the cause that the condition stands for."
    )
    causes = tuple(sorted({condition.cause for condition in CONDITIONS}))

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if not scene.material.notes:
            return no_data(self.name, None, "no notes were given")
        out: list[Observation] = []
        for cause, says, pattern in CONDITIONS:
            place = next((source for source, _ in found_lines(scene, pattern, "notes", "script")), None)
            if place is not None:
                out.append(suspected(self.name, cause, f"told: {says} ('{place.quote[:100]}')", place))
        return tuple(out) or silent(self.name, None, "the notes name no condition that is known to matter")


check = Told()
