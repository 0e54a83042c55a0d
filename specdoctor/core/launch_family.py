"""Which launches differ in nothing but how far is drafted, so that their figures may be reckoned with together."""

from __future__ import annotations

import json
import re

from specdoctor.core.launch import START_MARK, LaunchChange
from specdoctor.core.model import Frozen

_LENGTH = re.compile(
    r"--(?:speculative-(?:num-steps|eagle-topk|num-draft-tokens|adaptive(?:-config)?)"
    r"|speculative-config\.num-speculative-tokens[a-z-]*|num-speculative-tokens"
    r"|draft(?:-max|-n)?|spec-draft-n-max|spec-ngram-.*-(?:size-m|n-max))"
)
_LENGTH_VARIABLE = re.compile(r"LLAMA_ARG_.*(?:DRAFT(?:_N)?(?:_MAX)?|SIZE_M|_N_MAX)")
_LENGTH_KEY = "num_speculative_tokens"
_OF_SPECULATION = re.compile(
    r"--(?:speculative-|spec-|draft|model-draft|hf-repo-draft|hf-file-draft|num-speculative-|.*-draft\b).*"
    r"|-(?:md|hfd|hfrd|cd|devd|ngld|ctkd|ctvd|td|tbd)"
)
_KEPT_EQUAL = ("--max-running-requests", "--no-async-scheduling")
"""Set beside "no speculation" at the value that was in force, because speculation alone had set it."""


class LaunchFamily(Frozen):
    """What a launch changes beside the draft length: of the drafter, and of all else. Empty: nothing, as found.

    Without speculation nothing is drafted: such a launch stands beside every drafter whose `rest` is its own.
    """

    drafter: str = ""
    rest: str = ""

    @property
    def as_found(self) -> bool:
        return not self.drafter and not self.rest


AS_FOUND = LaunchFamily()


def family_of(change: LaunchChange, *, on: bool) -> LaunchFamily:
    """The family of a launch made by `change`; `on`: whether it speculates."""
    drafter: list[str] = []
    rest = [f"{old}~{new}" for old, new in sorted(change.words.items())]
    if not change.lengths_only:
        for flag, values in sorted(change.set_flags.items()):
            name, text = flag.replace("_", "-"), _without_length(" ".join(values))
            if _LENGTH.fullmatch(name) or (not on and name in _KEPT_EQUAL):
                continue
            (drafter if _OF_SPECULATION.fullmatch(name) else rest).append(f"{flag} {text}".rstrip())
        for flag in sorted(change.remove_flags):
            name = flag.replace("_", "-")
            if not _LENGTH.fullmatch(name):
                (drafter if _OF_SPECULATION.fullmatch(name) else rest).append(f"without {flag}")
    rest += [f"{name}={value}" for name, value in sorted(change.set_env.items()) if name != START_MARK]
    rest += [f"without {name}" for name in sorted(change.remove_env) if not _unsets_length(name, change, on=on)]
    rest += [f"image {change.image}"] if change.image is not None else []
    if change.copies is not None:
        named = [f for f, values in change.set_flags.items() if change.copies.place in " ".join(values)]
        of_drafter = any(_OF_SPECULATION.fullmatch(flag.replace("_", "-")) for flag in named)
        (drafter if of_drafter else rest).extend(edit.words for edit in change.copies.edits)
    return LaunchFamily(drafter="; ".join(drafter) if on else "", rest="; ".join(rest))


def _unsets_length(name: str, change: LaunchChange, *, on: bool) -> bool:
    """Whether a variable is taken away only because a length, or no speculation, stands on the line instead."""
    return change.lengths_only or bool(_LENGTH_VARIABLE.fullmatch(name)) or (not on and "DRAFT" in name)


def _without_length(text: str) -> str:
    """A configuration of speculation in JSON less its length; any other text as it is."""
    try:
        config = json.loads(text) if text.startswith("{") else None
    except ValueError:
        return text
    if not isinstance(config, dict):
        return text
    return json.dumps({k: v for k, v in config.items() if not k.startswith(_LENGTH_KEY)}, sort_keys=True)
