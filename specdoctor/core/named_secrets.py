"""Values that a text names as secrets: `password: ...`, `the api key is ...`, `token ...`, `... is the password`.

Prose is full of the same words ("key figures", "token 5", "first pass 20 ms"), so the weaker the name and what leads
from it to the value, the more the value must look like a secret. One step from name to name, and a bounded look around
each: the time grows with the length of the text and nothing else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core import secret_words as words
from specdoctor.core.secret_shapes import MASK

_SETS = {
    "assigned": words.PLAIN | words.STATES,
    "said": words.PLAIN | words.STATES | words.TOPICS,
    "bare": words.PLAIN | words.STATES | words.TOPICS | words.LEADS_ON,
}
_WRAP = re.compile(r"[\"'`(\[<*“‘«]{0,3}")
_CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_IN_QUOTES = re.compile("|".join(rf"{o}(?:\\\\.|[^\\\\\n{c}]){{1,256}}{c}" for o, c in _CLOSING.items()))
_TYPED_VALUE = re.compile(r"[^\s，。；、]{1,512}")
_LOG_VALUE = re.compile(r"[^\s\"'\\`<>()\[\]{}]{1,512}+(?![(\[{])")
_REST = re.compile(r"[^\s，。；、\"'\\`<>()\[\]{}]+")
_LONGEST_VALUE = 512
_ENDS = ".,;:!?)]}>…*"
"""What ends a sentence or a bracket, and is kept behind a value."""
_QUOTES = "\"'`”’»"
_SETTING = re.compile(r"[,;&](?=[a-z_][\w.-]{0,40}[=:])")
_UNSET = frozenset(("none", "null", "true", "false", "''", '""', "no", "yes", "off", "on"))
_PARTS = re.compile(r"[/,;–—-]")
_OF_A_NAME = re.compile(r"[a-z_-]{1,40}=")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_SIGN = re.compile(r"[\d!@#$%^&*+=~;?]")
_WORD_BEFORE = re.compile(r"([a-z]{1,12})[ _-]$")
_SPACES = re.compile(r"\s{1,5}")
_NEXT = re.compile(r"\s{0,3}[/,:|]?\s{0,3}(?:pass(?:word)?\s{1,3}|and\s{1,3})?")
_AND = re.compile(r"\s{0,3}(?:,|/|&|;|\band\b|\bund\b|\bor\b)\s{0,3}(?:and\s{1,3})?")
_MOST_MORE = 8
_TO = re.compile(r"\s{1,3}(?:to|into|auf|with|by|->|→)\s{1,3}")
_LOGIN = re.compile(r"[\w.@-]{1,60}[:/](?=\S{0,80}[A-Za-z])(?=\S{0,80}[\d!@#$%^&*+=~])\S+")
_PHRASE_WORD = re.compile(r"[A-Za-z]{2,20}(?![\w'’])")
_LONGEST_LOOK = 256
_MOST_FILLERS = 3
_DETERMINERS = frozenset("the our my its your a an his her their root new old current admin right real user".split())


class _Value(NamedTuple):
    start: int
    end: int
    quoted: bool
    text: str


def without_named(text: str, *, typed: bool = True) -> tuple[str, set[str]]:
    """`text` with the values masked that it names as secrets, and those values. Idempotent.

    Not `typed`: a log, where only what is assigned to a sure name counts, or said of it, and looks like a secret.
    """
    lower = _lower(text)
    if not any(stem in lower for stem in (words.STEMS if typed else _SURE_STEMS)):
        return text, set()
    out: list[str] = []
    found: set[str] = set()
    done = 0
    for name in words.NAME.finditer(lower):
        if name.start() < done:
            continue
        for value in _values(text, lower, name, done, typed):
            if value.start >= done:
                out += (text[done : value.start], MASK)
                found.add(value.text)
                rest = _REST.match(text, value.end) if value.end - value.start >= _LONGEST_VALUE else None
                done = rest.end() if rest else value.end
    out.append(text[done:])
    return "".join(out), found


_SURE_STEMS = tuple(s for s in words.STEMS if s not in ("token", "key", "auth", "sig", "pass", "cookie", "otp", "user"))
_SURE_STEMS = (*_SURE_STEMS, "passw", "passp", "passc", "pass:", "pass=", "-key", "_key", " key", "_token", "-token")


_WIDE = {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)} | {ord(sign): ":" for sign in "﹕︰∶꞉"}


def _lower(text: str) -> str:
    """In small letters of ordinary width, each where it was."""
    if text.isascii():
        return text.lower()
    text = text.translate(_WIDE)
    return text.replace("İ", "I").lower() if "İ" in text else text.lower()


def _values(text: str, lower: str, name: re.Match[str], done: int, typed: bool) -> list[_Value]:
    """What this name names, if anything."""
    kind = str(name.lastgroup)
    before = lower[name.start() - 1] if name.start() else " "
    if kind != words.PASSWORD and before.isalpha() and before.isascii():
        return []
    if before == "$" or lower[max(0, name.start() - 2) : name.start()] == "${":
        return []
    if not typed and kind in (words.WEAK, words.LOGIN, words.BEARER):
        return []
    if (kind == words.WEAK or name.group() == "pass") and _of_speed(lower, name):
        return []
    if name.group() == "key" and before in "-_" and lower[name.end() : name.end() + 1] in tuple(_CLOSING):
        return []  # the end of a longer name, in quotes
    behind = words.BEHIND.match(lower, name.end())
    starts = [name.end()] if behind is None or behind.end() == name.end() else [behind.end(), name.end()]
    if len(starts) > 1 and (words.ASSIGNED.match(lower, starts[0]) or words.SAID.match(lower, starts[0])):
        del starts[1]
    for at in starts:
        value = _behind(text, lower, name, kind, at, typed)
        if value is not None and kind == words.WEAK and at > name.end() and not _numbered(value.text.lower()):
            continue  # "the same key in the JSON: ..."
        if value is not None:
            return [value, *_more(text, lower, kind, value, typed, several=_plural(name.group(), kind))]
    if typed and kind in (words.PASSWORD, words.KEY, words.LOGIN):
        earlier = _in_front(text, lower, name.start(), done)
        return [earlier] if earlier else []
    return []


def _of_speed(lower: str, name: re.Match[str]) -> bool:
    """Whether it is a token of a model, or a step of one."""
    word = _WORD_BEFORE.search(lower, max(0, name.start() - 13), name.start())
    if word is None:
        return False
    if name.group() == "token":
        return word[1] in words.SPEED_BEFORE_TOKEN
    return name.group() == "pass" and word[1] in words.STEP_BEFORE_PASS


def _behind(text: str, lower: str, name: re.Match[str], kind: str, at: int, typed: bool) -> _Value | None:
    assigned = words.ASSIGNED.match(lower, at)
    said = None if assigned else words.SAID.match(lower, at)
    if assigned or said:
        mode, start = ("assigned", assigned.end()) if assigned else ("said", said.end() if said else at)
    else:
        blank = _SPACES.match(lower, at)
        quoted = at < len(text) and text[at] in _CLOSING
        if (blank is None and not quoted) or not (typed or (kind == words.PASSWORD and at == name.end())):
            return None
        mode, start = ("bare" if at == name.end() else "whose"), (blank.end() if blank else at)
    if typed and mode == "assigned" and name.group().startswith("passphrase"):
        phrase = _phrase(text, start)
        if phrase is not None:
            return phrase
    value = _value(text, start, typed)
    if value is None:
        return None
    if _is_secret(value, kind, mode, name.group(), typed):
        return value
    if mode in ("assigned", "said") and typed and kind in (words.PASSWORD, words.KEY, words.BEARER):
        return _after_fillers(text, value)
    return None


def _value(text: str, at: int, typed: bool) -> _Value | None:
    """The word at this place, or all that is in quotes."""
    quoted = _IN_QUOTES.match(text, at)
    if quoted:
        return _Value(at + 1, quoted.end() - 1, True, text[at + 1 : quoted.end() - 1])
    wrap = _WRAP.match(text, at)
    start = wrap.end() if wrap else at
    word = (_TYPED_VALUE if typed else _LOG_VALUE).match(text, start)
    if word is None:
        return None
    said = word.group()
    bare = said.rstrip(_ENDS if wrap and wrap.group() == "" and said[:1] in _QUOTES else _ENDS + _QUOTES)
    return _Value(start, start + len(bare), False, bare) if bare else None


def _phrase(text: str, at: int) -> _Value | None:
    """Several words, up to one that goes on with the sentence."""
    end = at
    count = 0
    for word in _PHRASE_WORD.finditer(text, at, at + _LONGEST_LOOK):
        if word.start() - end > 1 or word.group().lower() in words.PLAIN:
            break
        end, count = word.end(), count + 1
    return _Value(at, end, False, text[at:end]) if count >= 2 else None


def _is_secret(value: _Value, kind: str, mode: str, name: str, typed: bool) -> bool:
    """Whether what stands at a value's place is one."""
    look = value.text[:_LONGEST_LOOK]
    low = look.lower()
    if MASK in look:
        return typed and mode in ("assigned", "said") and kind in (words.PASSWORD, words.KEY) and _left_over(low)
    if words.VARIABLE.match(look) or (mode != "assigned" and words.NAME.fullmatch(low)):
        return False
    first = _SETTING.split(low, maxsplit=1)[0]
    if first not in _UNSET and not words.FIGURE.fullmatch(first):
        first = low
    known = _SETS.get(mode, _SETS["bare"])
    if all(part in known for part in _PARTS.split(first) if part) or first in known:
        return False
    if not typed:
        return _generated(look) if mode == "bare" else _sure(value, kind, mode, look, first)
    if words.FIGURE.fullmatch(first):
        return _number_is_secret(first, kind, mode, name)
    if not look.isascii() and not re.search(r"[A-Za-z0-9]", look) and _LETTER.search(look) and ord(look[0]) > 0x2E7F:
        return False  # the sentence goes on in the same script
    return _RULES[kind](value, mode, name, look, low)


def _left_over(low: str) -> bool:
    """Whether of a value, masked up to a sign in it, something still stands there."""
    return f"{MASK}@" not in low and any(c.isalnum() for c in _SETTING.split(low.replace(MASK, ""))[0])


def _sure(value: _Value, kind: str, mode: str, look: str, first: str) -> bool:
    """In a log, where nobody speaks of passwords: what is quoted, long, or has letters and other signs."""
    if mode == "assigned" and (value.quoted or (kind == words.PASSWORD and len(look) >= 6)):
        return True
    if words.FIGURE.fullmatch(first):
        return mode == "assigned" and first.isdigit() and len(first) >= 8
    return _mixed(look) and len(look) >= 3


def _number_is_secret(figure: str, kind: str, mode: str, name: str) -> bool:
    """A figure with a unit never is; long ones are behind a sure name."""
    if words.UNITED.fullmatch(figure):
        return False
    digits = sum(c.isdigit() for c in figure)
    if kind == words.PASSWORD and mode == "assigned":
        return not name.endswith("s") or digits >= 4
    if kind == words.PASSWORD or (name in ("pw", "pwd", "psw", "p/w", "pin") and mode != "bare"):
        return digits >= 4
    return mode == "assigned" and digits >= 8


def _password(value: _Value, mode: str, name: str, look: str, low: str) -> bool:
    if mode == "whose" or (name in ("passwords", "passcodes") and mode == "bare"):
        return value.quoted or _numbered(low)
    return not (mode == "bare" and low.startswith(("-", "/", "$")))


def _key(value: _Value, mode: str, name: str, look: str, low: str) -> bool:
    if mode == "assigned":
        return bool(_LETTER.search(look)) or len(look) >= 8
    if mode == "said" or value.quoted:
        return True
    return _mixed(look) and len(look) >= 4 and not low.startswith(("-", "/", "$"))


def _short(value: _Value, mode: str, name: str, look: str, low: str) -> bool:
    if name == "pin":
        return _numbered(low)
    if low.startswith(("-", "/", "~")):
        return False
    if mode == "assigned" or (mode == "said" and name != "pass"):
        return True
    return (value.quoted and mode == "said") or (_mixed(look) and len(look) >= 5 and not _field(low))


def _weak(value: _Value, mode: str, name: str, look: str, low: str) -> bool:
    if mode == "assigned":
        return bool(_LETTER.search(look)) or len(look) >= 8
    if words.OPAQUE.match(look) or _generated(look) or (value.quoted and _numbered(low)):
        return True
    if name in ("secret", "otp", "passkey"):
        return _mixed(look) and len(look) >= 4 and not low.startswith(("-", "/", "$"))
    return mode == "said" and (_numbered(low) or (name == "cookie" and "=" in low))


def _login(value: _Value, mode: str, name: str, look: str, low: str) -> bool:
    if "://" in look or low.startswith(("/", "-", "~")):
        return False
    if _LOGIN.match(look):
        return True
    return (name.startswith("cred") and mode in ("assigned", "said")) or (
        name.startswith("user") and mode == "assigned"
    )


_RULES = {
    words.PASSWORD: _password,
    words.BEARER: _password,
    words.KEY: _key,
    words.SHORT: _short,
    words.WEAK: _weak,
    words.LOGIN: _login,
}


def _mixed(look: str) -> bool:
    """A letter, and something that is none."""
    return bool(_LETTER.search(look) and _SIGN.search(look))


def _field(low: str) -> bool:
    """A name or a setting of this field, a flag or a path."""
    return bool(words.TECHNICAL.match(low) or _OF_A_NAME.match(low) or words.FIGURE.fullmatch(low))


def _numbered(low: str) -> bool:
    """Letters and figures in a word that is no name of this field."""
    return len(low) >= 6 and bool(_LETTER.search(low) and _DIGIT.search(low)) and not _field(low)


def _generated(look: str) -> bool:
    """Small and large letters and a figure in one long word that is no name of this field: nobody's prose."""
    return (
        len(look) >= 8 and look.isalnum() and look != look.lower() != look.upper() != look and _numbered(look.lower())
    )


def _after_fillers(text: str, value: _Value) -> _Value | None:
    """The value behind words such as `not` or `of course`, where nothing else can be meant."""
    for _ in range(_MOST_FILLERS):
        if value.text.lower() not in words.PLAIN or text[value.end : value.end + 1] not in (" ", "\t", "\n"):
            return None
        following = _value(text, value.end + 1, True)
        if following is None:
            return None
        value = following
        if _numbered(value.text[:_LONGEST_LOOK].lower()) and MASK not in value.text:
            return value
    return None


def _more(text: str, lower: str, kind: str, value: _Value, typed: bool, *, several: bool) -> list[_Value]:
    """The other half of a login, what the value was changed to, and the others of several."""
    found: list[_Value] = []
    while len(found) < _MOST_MORE:
        led = _TO.match(lower, value.end)
        if led is None and typed and (several or kind == words.LOGIN):
            led = (_AND if several else _NEXT).match(lower, value.end)
        more = _value(text, led.end(), typed) if led is not None and led.end() > value.end else None
        if more is None or MASK in more.text:
            break
        low = more.text[:_LONGEST_LOOK].lower()
        if not _mixed(low) or len(low) < 5 or _field(low):
            break
        found.append(more)
        value = more
    return found


def _plural(name: str, kind: str) -> bool:
    return kind in (words.PASSWORD, words.KEY) and name.endswith("s")


def _in_front(text: str, lower: str, end: int, done: int) -> _Value | None:
    """`... is the password`."""
    begin = max(done, end - _LONGEST_LOOK)
    window = lower[begin:end]
    left = window.rstrip()
    for _ in range(_MOST_FILLERS + 1):
        rest, _, last = left.rpartition(" ")
        if last not in _DETERMINERS:
            break
        left = rest.rstrip()
    rest, _, last = left.rpartition(" ")
    if last not in ("is", "was", "as", "=", "ist") or not rest.strip():
        return None
    rest = rest.rstrip()
    at = max(rest.rfind(" "), rest.rfind("\n"), rest.rfind("\t")) + 1
    if at == 0 and begin > done and not text[begin - 1].isspace():
        return None
    value = _value(text, begin + at, True)
    if value is None or value.end > end or MASK in value.text or not _numbered(value.text.lower()):
        return None
    return value
