"""Secrets out of a sentence that a person typed: besides the shapes of `redact`, whatever is named as a secret.

`key=...`, `token: ...`, `password ...`, `the api key is ...`, `bearer ...`, `user:...@host`. Prose is full of the same
words ("key figures", "token 5", "time to first token: 3 s"), so a value behind a mere blank must look like a secret
where its name is an ordinary word, and figures with a unit are always left.
"""

from __future__ import annotations

import re

from specdoctor.core.redact import MASK, redact, redact_known

_NOT_OF_SPEED = (
    "(?<!first )(?<!first-)(?<!per )(?<!per-)(?<!next )(?<!bonus )(?<!draft )(?<!each )(?<!every )(?<!last )"
    "(?<!output )(?<!inter-)(?<!accept )(?<!one )"
)
_PASSWORD = r"(?:pass(?:word|phrase|wd|code))"
_STRONG = (
    rf"(?:{_PASSWORD}|api[-_ ]?(?:key|token|secret)|(?:access|secret|private|license|admin|master|signing)[-_ ]?key|"
    r"client[-_ ]?secret|(?:auth|access|hf|hub|github|bearer|refresh|session)[-_ ]?token|credentials?)"
)
"""Names that mean a secret wherever they stand."""
_WEAK = rf"(?:{_NOT_OF_SPEED}token|(?:ssh|my)?[-_ ]?key|auth|sig(?:nature)?|secret)"
"""Names that mean one only where the value looks like it, or is assigned."""
_FIGURE = (
    r"[~<>]{0,2}\d[\d.,]{0,8}(?:(?:ms|us|ns|s|x|%|k|m|b|gb|gib|mb|mib|min|h|w|tok\w*|hz)(?:/\w+)?)?(?![\w/+@!#$^&*=-])"
)
_ASSIGNED_FIGURE = (
    r"[~<>]{0,2}\d[\d.,]{0,8}(?:ms|us|ns|s|x|%|k|m|b|gb|gib|mb|mib|min|h|w|tok\w*|hz)(?:/\w+)?(?![\w+@!#$^&*=-])"
)
_PLAIN = (
    r"(?:slow\w*|fast\w*|the|it|its|we|i|you|they|he|she|is|was|are|be|been|has|had|have|does|do|did|can|could|will|would|"
    r"should|must|may|no|not|none|an?|with|without|very|too|only|about|that|this|which|when|if|and|or|but|so|as|at|by|"
    r"for|from|in|into|of|off|on|onto|over|to|up|via|than|then|there|here|just|also|never|always|already|still|again|"
    r"now|yet|because|while|until|\*\*\*)(?![\w-])"
)
_STATE = (
    r"(?:\w+(?:ed|ing)|in\w+|un\w+|mis\w+|wrong|right|correct|fine|ok(?:ay)?|good|bad|empty|same|set|sent|read|kept|lost|"
    r"gone|shown|known|taken|given|hidden|new|old|own|valid|optional|enough|longer?|short|equal|identical|absent|"
    r"present|there|stale|public|auth\w*|login|prompt\w*|error\w*|header\w*|fil(?:e|es)|hash\w*|manager|field|check\w*|"
    r"rotation|changes?|flag|option|variable|name|holder|length|size|type|based|less|free|server|list|store|value|"
    r"problems?|for)(?![\w-])"
)
"""What a sentence says of a secret in place of it."""
_WRAP = r"[\"'`(\[<]?"
_VALUE = r"[^\s\"'`,;)\]>]+"
_QUOTED = r"\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`"
_MIXED = r"(?=[^\s\"'`,;]*[A-Za-z])(?=[^\s\"'`,;]*[\d!@#$%^&*+=~])"
"""A letter, and something that is none."""
_OPAQUE = (
    r"(?=[A-Za-z0-9+/-]{0,80}[A-Za-z])(?:(?=[A-Za-z0-9+/]{0,80}?\d[A-Za-z]{0,80}\d)(?=[A-Za-z0-9+/]{8})|"
    r"(?=[0-9a-f]{6,20}-[0-9a-f-]{4}))"
)
"""Eight letters and figures in a row, two of them figures: no word, and no name of a model or a version."""
_IS = r"(?:\s*(?:[:=]{1,2}>?|->|=>)|\s+(?:is|was|are|set\s+to|equals|being)\b(?:\s+(?:set\s+to|now|still))?\s*[:=]?)"

_ASSIGNED = re.compile(
    rf"((?<![A-Za-z])(?:{_STRONG}|{_WEAK}|pwd|pw)\s{{0,3}}(?:[=:]|->|=>)[=>]?\s{{0,3}})"
    rf"(?!{_PLAIN}|{_ASSIGNED_FIGURE})"
    rf"({_QUOTED}|{_WRAP}(?=[^\s\"'`,;]*[A-Za-z]|[^\s\"'`,;]{{8}}){_VALUE})",
    re.IGNORECASE,
)
"""In a sentence that somebody types whatever is assigned to such a name may be a secret; figures are left."""
_SAID = re.compile(
    rf"((?<![A-Za-z])(?:{_STRONG}|pwd|pw)\s+(?:is|was|are|set\s+to|equals)(?:\s+(?:set\s+to|now|still))?\s*[:=]?\s*{_WRAP})"
    rf"(?!{_PLAIN}|{_STATE}|{_FIGURE})({_VALUE})",
    re.IGNORECASE,
)
_QUOTED_BARE = re.compile(rf"((?<![A-Za-z])(?:{_STRONG})(?:{_IS})?\s*)({_QUOTED})", re.IGNORECASE)
_PHRASE = re.compile(
    rf"((?<![A-Za-z])passphrase\s*[:=]\s*)((?:(?!{_PLAIN})[A-Za-z]{{2,20}}[ -]){{2,9}}(?!{_PLAIN})[A-Za-z]{{2,20}})",
    re.IGNORECASE,
)
"""A passphrase is several words."""
_PASSWORD_BARE = re.compile(
    rf"((?<![A-Za-z])(?:{_PASSWORD})\s+{_WRAP})(?!{_PLAIN}|{_STATE}|\d{{1,3}}(?!\w)|{_IS})({_VALUE})", re.IGNORECASE
)
_STRONG_BARE = re.compile(
    rf"((?<![A-Za-z])(?:{_STRONG}|secret)\s+{_WRAP})(?!\$|{_FIGURE}){_MIXED}(?=\S{{4}})({_VALUE})", re.IGNORECASE
)
_WEAK_BARE = re.compile(rf"((?<![A-Za-z])(?:{_WEAK})(?:{_IS})?\s+{_WRAP}){_OPAQUE}({_VALUE})", re.IGNORECASE)
_BEARER = re.compile(
    rf"(\bbearer(?:\s*[:=]|\s)\s*(?:token\s*[:=]?\s*)?{_WRAP})(?!token\b|{_PLAIN}|{_STATE})({_VALUE})", re.IGNORECASE
)
_LOGIN = re.compile(r"(?<![\w:/.@-])([\w.-]{1,40}:)(?=[^\s@]*[A-Za-z]|[^\s@]{4})([^\s:@/\"'`]{1,80})(?=@[\w.-])")
"""`user:secret@host` without a scheme before it."""
_SHAPE = re.compile(
    r"(?<![\w-])(?:sk-(?:(?:proj|ant|or|svcacct)-|(?=[A-Za-z_-]*\d))[A-Za-z0-9_-]{3,}|hf_(?=[A-Za-z]*\d)[A-Za-z0-9]{6,}|gh[pousr]_[A-Za-z0-9]{6,}|"
    r"eyJ[A-Za-z0-9_-]{5,}[\w.-]*)"
)
"""Beginnings that only secrets have, also of short ones: somebody may have typed a part."""
_SECRET_KEY = re.compile(
    r"(?<![A-Za-z0-9/+=_.-])(?=[A-Za-z0-9/+]*[a-z])(?=[A-Za-z0-9/+]*[A-Z])(?=[A-Za-z0-9/+]*\d)[A-Za-z0-9/+]{40}"
    r"(?![A-Za-z0-9/+=_.-])"
)
"""Forty letters of base64 that stand alone, as the secret half of an AWS key."""
_NAMED = (_QUOTED_BARE, _PHRASE, _ASSIGNED, _SAID, _STRONG_BARE, _PASSWORD_BARE, _WEAK_BARE, _BEARER, _LOGIN)
_FIGURES = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d")
_LEAST_REPEATED = 6
"""A value that is shorter, or without letters and figures, may be a word: masked where it is named, nowhere else."""


def redact_typed(text: str) -> str:
    """A sentence that a person typed, without what may be a secret in it. Idempotent."""
    text, found = _without_named(redact(text))
    return _SECRET_KEY.sub(MASK, _SHAPE.sub(MASK, redact_known(text, found)))


def typed_secrets(text: str) -> frozenset[str]:
    """The values that prose names as secrets, to be masked wherever else they stand."""
    return frozenset(_without_named(text)[1])


def _without_named(text: str) -> tuple[str, set[str]]:
    """`text` without the values that it names as secrets, and those of them that are no words."""
    found: set[str] = set()

    def masked(match: re.Match[str]) -> str:
        said = match.group(2)
        value = said.rstrip(".:!?")
        bare = value.strip("\"'`([<")
        if MASK in said or not bare:
            return match.group(0)
        if len(bare) >= _LEAST_REPEATED and _FIGURES.search(bare):
            found.add(bare)
        return f"{match.group(1)}{MASK}{said[len(value) :]}"

    for named in _NAMED:
        text = named.sub(masked, text)
    return text, found
