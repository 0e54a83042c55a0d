"""Secrets out before anything leaves the host: known by the name beside them, by their shape, or as seen before."""

import json
import re
from typing import Any, Dict, Iterable, List, Match, Set, Tuple

MASK = "***"
SECRET_WORDS = frozenset(
    "secret secrets password passwd passphrase credential credentials apikey apikeys authorization".split()
)
# `--api-key-file` names a file, `--hf-token-env` a variable: neither is the secret itself.
POINTER_WORDS = frozenset("file path dir folder env name map id ids format usage type length len count".split())
# Tokens of language models, not of an account: --think-end-token, mask_token, ...
MODEL_TOKENS = frozenset(
    """bos eos pad unk mask cls sep stop start begin end first last next new image video audio vision mm special
    think draft bonus placeholder pending full swa used per max min num total prefill decode extra added cached input
    output single boi eoi""".split()
)
ORDINARY_KEYS = frozenset("routing sort partition primary cache cached query kv public config crash dict state".split())
ACCOUNT_WORDS = frozenset("api access private secret admin auth ssh signing encryption master service account".split())
NOT_A_SECRET = frozenset(["", MASK, "none", "null", "true", "false", "[redacted]"])

_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_NAMED = re.compile(
    r"(?i)(?<![\w-])(?P<name>(?:--?)?(?:[a-z_][\w.-]{0,60}?)?(?:key|token|secret|passw(?:or)?d|passphrase|credential)s?)"
    r"(?P<mark>(?P<quote>\\*[\"'])?(?P<sign>\s*[:=]\s*)|[ \t]+|\\*[\"']\s*,\s*)"
    r"(?P<value>\\*\"[^\"\\\n]*\\*\"|\\*'[^'\\\n]*\\*'|[^\s\"'\\,;)\]}&]+)"
)
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@:\"']*:[^\s/@\"']+@")
_URL_TOKEN = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@:\"']{16,}@")
_HEADER = re.compile(r"(?i)\b((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{4,}")
# The beginnings of core/secret_shapes.py, which cannot be imported on a host; a test holds the two together.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?<![A-Za-z0-9][_-])(?:sk-[A-Za-z0-9_-]{16,}|hf_(?:[A-Za-z0-9]{16,}|(?=[A-Za-z]*\d)[A-Za-z0-9]{10,})"
    r"|gh[pousr]_[A-Za-z0-9]{10,}|github_pat_\w{6,}|xox[abeprs]-[A-Za-z0-9-]{6,}|[prs]k_(?:live|test)_[A-Za-z0-9]{6,}"
    r"|(?:glpat-|gldt-|glrt-|nvapi-|dckr_pat_|pypi-AgE)[\w-]{6,}|AIza[\w-]{30,}|A(?:KI|SI)A[0-9A-Z]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|whsec_[A-Za-z0-9+/=]{6,}"
    r"|(?:gsk_|npm_|rpa_|r8_|xai-|pplx-|jina_)(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}"
    r"|(?:tgp_v1_|dop_v1_|lsv2_pt_|lsv2_sk_|glsa_|shpat_)[\w-]{8,}|(?:hvs|ya29)\.[\w-]{16,}|AGE-SECRET-KEY-[0-9A-Z]{8,}"
    r"|hooks\.slack\.com/services/[\w/-]{6,})"
)
_PRIVATE_KEY = re.compile(
    r"(?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?"
    r"(-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_COOKIE = re.compile(r"(?i)(\b(?:set-)?cookies?\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?)(?=[\w.-]{1,80}=)([^\r\n\"'\\]+)")
_USER_OPTION = re.compile(
    r"(\b(?:curl|wget)\b[^\n|;&]{0,400}?\s"
    r"(?:-u\s{0,3}|--(?:proxy-)?user[\s=]{1,3})[\"']?[\w.@\\+-]{1,60}:)(?!\$[\w{])([^\s\"']+)"
)
_ASKING = ("curl", "wget")
_LOGIN_FLAGS = ("-u", "--user", "--proxy-user")


def secret_name(name: str, spoken: bool = False) -> bool:
    """Whether what stands under this name is a secret. `spoken`: the name was met in running text, not as a flag."""
    words = [word for word in re.split(r"[^a-z0-9]+", _HUMP.sub(r"\1-\2", name).lower()) if word]
    if not words or words[-1] in POINTER_WORDS:
        return False
    if SECRET_WORDS.intersection(words):
        return not (spoken and len(words) == 1 and words[0] not in ("password", "passwd", "passphrase", "apikey"))
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if last in ("key", "keys"):
        return (
            before not in ORDINARY_KEYS and (bool(before) or not spoken) and (last == "key" or before in ACCOUNT_WORDS)
        )
    if last == "token":
        return before not in MODEL_TOKENS and (bool(before) or not spoken)
    if last == "tokens":
        return before in ACCOUNT_WORDS
    return any(pair[0] in ACCOUNT_WORDS and pair[1] == "key" for pair in zip(words, words[1:]))


def _telling(value: str) -> bool:
    """Worth removing wherever it stands: long, or no plain word that may mean something else elsewhere."""
    return len(value) >= 8 or (len(value) >= 4 and not re.match(r"^(?:[a-z]+|[A-Z]+|[0-9]+)$", value))


def _masked_word(word: str, secrets: Set[str]) -> str:
    """One argument with URL passwords, known shapes and named values inside it (JSON) masked."""
    for match in re.finditer(r"://[^\s/@:]*:([^\s/@]+)@", word):
        secrets.add(match.group(1))
    for match in _SHAPES.finditer(word):
        secrets.add(match.group(0))
    for match in _NAMED.finditer(word):
        if secret_name(match.group("name"), True) and match.group("sign"):
            secrets.add(match.group("value").strip("\\\"'"))
    return mask_text(word, ())


def mask_argv(argv: Iterable[str], secrets: Set[str]) -> List[str]:
    """The command line with secret values masked, each word kept a word; what was masked is added to `secrets`."""
    out: List[str] = []
    owner = ""  # the secret flag whose values may follow
    taken = 0
    argv = list(argv)
    asks = any(word.rpartition("/")[2] in _ASKING for word in argv)
    before = ""
    for word in argv:
        login = asks and before in _LOGIN_FLAGS and ":" in word
        before = word
        if login:
            user, _, password = word.partition(":")
            secrets.add(password)
            out.append(user + ":" + MASK)
            continue
        is_flag = word.startswith("-") and len(word) > 1
        if owner and not is_flag and (taken == 0 or (owner.endswith("key") and "/" not in word)):
            secrets.add(word)
            out.append(MASK)
            taken += 1
            continue
        flag, equals, value = word.partition("=")
        owner, taken = "", 0
        named = bool(equals) and re.match(r"^[\w.-]+$", flag) is not None
        if (is_flag or named) and secret_name(flag):
            if equals:
                secrets.add(value)
                out.append(flag + "=" + MASK)
                continue
            owner = flag.lower()
            out.append(word)
            continue
        out.append(_masked_word(word, secrets))
    return out


def mask_env(env: Dict[str, str], shown: Iterable[str], secrets: Set[str]) -> Dict[str, str]:
    """The variables of `shown` with secrets masked; secrets of all others are collected too."""
    masked: Dict[str, str] = {}
    wanted = set(shown)
    for name, value in env.items():
        hidden = secret_name(name)
        if hidden:
            secrets.add(value)
        text = MASK if hidden and value else _masked_word(value, secrets)
        if name in wanted:
            masked[name] = text
    return masked


def url_quoted(value: str) -> str:
    """As urllib.parse.quote with nothing safe, which would cost its import at every start of a program."""
    raw = value.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if re.match(r"[\w.~-]", chr(byte), re.ASCII) else "%%%02X" % byte for byte in raw)


def spellings(secrets: Iterable[str]) -> Tuple[str, ...]:
    """Every form in which the values may stand (plain, in JSON, in a URL), longest first; common words are left out."""
    forms: Set[str] = set()
    for value in secrets:
        value = value.strip()
        if value.lower() in NOT_A_SECRET or not _telling(value):
            continue
        forms.update((value, json.dumps(value)[1:-1], url_quoted(value)))
    return tuple(sorted(forms, key=len, reverse=True))


def _mask_named(match: Match[str]) -> str:
    name, value = match.group("name"), match.group("value")
    bare = value.strip("\\\"'")
    if bare.lower() in NOT_A_SECRET or value.startswith("-") or not secret_name(name, not name.startswith("--")):
        return match.group(0)
    if not match.group("sign") and not name.startswith("--"):
        return match.group(0)
    if value == bare and re.match(r"^[0-9.]{1,6}$", bare) and not name.startswith("--"):
        return match.group(0)
    return name + match.group("mark") + (value.replace(bare, MASK) if bare else value)


def mask_text(text: str, known: Iterable[str]) -> str:
    """`text` without secrets: the `known` spellings (see `spellings`), named values, URL passwords, known shapes."""
    for value in known:
        if value in text:
            text = text.replace(value, MASK)
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(r"\1" + MASK + r"\2", text)
    if "ookie" in text or "OOKIE" in text:
        text = _COOKIE.sub(r"\1" + MASK, text)
    if any(command in text for command in _ASKING):
        text = _USER_OPTION.sub(r"\1" + MASK, text)
    text = _NAMED.sub(_mask_named, text)
    text = _URL.sub(r"\1" + MASK + "@", text)
    text = _URL_TOKEN.sub(r"\1" + MASK + "@", text)
    text = _HEADER.sub(r"\1" + MASK, text)
    return _SHAPES.sub(MASK, text)


def mask_all(value: Any, known: Iterable[str]) -> Any:
    """A JSON value with every string in it masked."""
    if isinstance(value, str):
        return mask_text(value, known)
    if isinstance(value, dict):
        return {key: mask_all(item, known) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_all(item, known) for item in value]
    return value
