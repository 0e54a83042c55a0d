"""Reading what a user typed: numbers become claims with a role, words become complaints. Nothing here is a truth."""

from __future__ import annotations

import re
from typing import Literal

from specdoctor.analysis.then_and_now import of_one_launch
from specdoctor.core.hypothesis import Claim
from specdoctor.core.model import Frozen

Complaint = Literal[
    "slow", "regression", "varies", "low-acceptance", "queueing", "wrong-output", "down", "asks-limit", "asks-setting"
]
UNITS = {
    "throughput_tok_s": "tok/s", "accept_length": "tokens/cycle", "step_ms": "ms", "verify_ms": "ms",
    "draft_tokens": "tokens", "draft_steps": "steps", "concurrency": "clients",
}  # fmt: skip
Role = Literal["with speculation", "baseline", "wished", "unknown"]

_CLAUSE = re.compile(
    r"(?<!\d)[.,;:!?]+|[.,;:!?]+(?!\d)|\u2192|[-=]>|\b(?:but|while|whereas)\b|"
    r"(?=\b(?:against|versus|vs\.?|instead of|compared)\b)",
    re.I,
)
_INSTEAD = r"(?:against|versus|vs\.?|instead of|(?:as )?compared (?:to|with))"
_NUMBER = r"(?:about |around |roughly |only |~|≈)?(?<!\d)(\d+(?:\.\d+)?)(?:\s*(?:-|\u2013|to)\s*(\d+(?:\.\d+)?))?"
_SIGNED = re.compile(r"(?<![\w.,~])[-\u2212]\d+(?:[.,]\d+)*")
_POWER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?[eE][+-]?\d{1,6}\b")
_SPEED = re.compile(_NUMBER + r"\s*(?:tok(?:ens?)?\s*/\s*s(?:ec(?:ond)?)?|tps\b|t/s\b|tok(?:ens)? per second)", re.I)
_WORDS = r"(?:[^\d.;:!?]|(?<=[A-Za-z-])\d)"
"""A letter of words between figures: the digit of a name ("EAGLE-3") is one."""
_BARE_OTHER = re.compile(
    rf"({_SPEED.pattern}{_WORDS}{{0,60}}?(?<!\w){_INSTEAD}\s{_WORDS}{{0,30}}?(?<![\w.-])\d{{1,9}}(?:\.\d+)?)"
    r"(?![\w%]|\.\d)(?!\s*(?:-\s*)?(?:to\b|tok|t/s|tps|ms\b|s\b|%|x\b|times|steps?|clients?|users|draft|requests?|streams|"
    r"gpus?|layers|cycles?|accept|AL\b|[-\u2013]\s*\d))",
    re.I,
)
"""A speed and a bare number that are set against each other: this, and `_BARE_ONE` the other way round."""
_BARE_ONE = re.compile(rf"((?<![\w.=-])\d{{1,9}}(?:\.\d+)?)(?=\s+{_INSTEAD}\s{_WORDS}{{0,15}}?{_SPEED.pattern})", re.I)
_COMPARISON = re.compile(
    r"\b(slow\w*|fast\w*|less|lower|worse|better|higher|more|behind|below|loses?|losing)(?:\s+\w+){0,2}?"
    rf"(?:\s+(?:than|to|{_INSTEAD})|(?<=behind)|(?<=below))\s+(?:\w+\s+){{0,3}}?"
    rf"(?:without|no spec\w*|(?:the )?baseline|plain|vanilla)\b{_WORDS}{{0,40}}?[:,(]?\s*"
    rf"(?={_NUMBER}(?:{_WORDS}|(?<=\d)\.\d){{0,80}}?(?:(?<!\w){_INSTEAD}\s|\bwithout\b|\bbaseline\b){_WORDS}{{0,40}}?\d"
    rf"|{_NUMBER}[^\d.;]{{1,20}}{_WORDS}{{0,40}}?\b\d+(?:\.\d+)?[^\d.;]{{0,20}}(?:without|baseline)\b)",
    re.I,
)
"""Words that say which of the next two figures is the worse: they are of neither alone."""
_ACCEPT_APART = re.compile(
    r"(\b(?:accept(?:ance|ed)?[ -]?len(?:gth)?s?|AL)\b)[^\d,;:.!?(]{0,40}[,;:.(]\s*"
    r"(?:(?:it|which) (?:is|was) |it's |at |is )?(?:about |around |roughly |some |only |~|≈)?\s*(\d{1,2}(?:\.\d+)?)"
    r"(?=\s*(?:$|[,;:!?)]|\.(?!\d)|\b(?:on average|tokens?(?! ?/| per s)|in|and|but|at)\b))",
    re.I,
)
"""An accept length behind a comma: "accept length looks fine, about 2.8"."""
_BARE_BASELINE = re.compile(r"\bbaseline\b[^0-9.;]{0,20}?(\d+(?:\.\d+)?)(?!\s*(?:ms|%|steps?|clients?))", re.I)
_BARE_SPEED = re.compile(
    r"(?:^\s*(?:only |about |~)?|\bwithout\b[^0-9.;]{0,40}?\b(?:it (?:was|is|gave|gives)|was|is|gave|gives|at)\s+)"
    r"(\d+(?:\.\d+)?)(?:\s*[-\u2013]\s*(\d+(?:\.\d+)?))?\s*(?=with\b|without\b|$)",
    re.I,
)
_SAID_SPEED = re.compile(
    r"\b(?:it|we|that|this|speed|throughput)\s+"
    r"(?:was|were|is|had|have|got|get|gets|saw|see|reached|ran at|runs at|gave|gives)\s+"
    + _NUMBER
    + r"\s+(?=with(?:out)?\s+(?:it\b|the drafter|any\b|spec|eagle|mtp|nextn|draft|n-?gram)|with(?:out)?\s*$)",
    re.I,
)
_PAST_SPEED = re.compile(
    r"\b(?:last (?:week|month|year|quarter|time)|yesterday|earlier|previously|ago|used to (?:be|get|have)|"
    r"in (?:spring|summer|autumn|fall|winter|january|february|march|april|may|june|july|august|september|october|"
    r"november|december))\b[^0-9.;]{0,30}?(\d{2,6}(?:\.\d+)?)(?![\w.%-])(?!\s*(?:ms|steps?|clients?|users|tokens?|"
    r"draft|gpus?|days?|weeks?|months?|hours?|minutes?)\b)()",
    re.I,
)
"""A bare number of earlier, where other speeds have their unit."""
_LISTED = re.compile(
    r"\[[^\[\]]*\]|(?<![\w.,])\d+(?:\s*,\s*\d+){1,999}(?:\s*,)?\s*(?:and|or)\s+\d+(?![\w.,-]|\s*(?:tok|t/s|tps|ms))"
    r"|(?<![\w.,])\d+(?:\s*,\s*\d+){2,999}(?![\w.]|\s*(?:tok|t/s|tps|ms|-))",
    re.I,
)
"""Numbers in a list, such as the ids of layers: none of them is a figure of its own."""
_ITEM = re.compile(r"\n\s*(?:[-*]\s+|(?=\w[^\n:]{1,40}:))")
_HEADED = re.compile(r"((?:^|[\n,;(])(?:[^\d\n.,;:()]|(?<=[A-Za-z-])\d){2,40}):(?=\s*(?:about |around |~)?\d)")
"""A few words and a colon before a figure ("without: 90 tok/s") say what it is of."""
_SIDE = re.compile(r"\bwith(?:out)?\b", re.I)
_ACCEPT = re.compile(r"\b(?:accept(?:ance|ed)?[ -]?(?:len(?:gth)?)|AL)\b[^0-9.;]{0,20}?(\d+(?:\.\d+)?)", re.I)
_CYCLE = re.compile(_NUMBER + r"\s*ms\b[^.;]{0,20}\b(?:cycle|step|verify|forward)", re.I)
_CYCLE_FIRST = re.compile(r"\b(?:cycle|step|verify|forward)\b[^0-9.;]{0,20}?" + _NUMBER + r"\s*ms\b", re.I)
_DRAFT_TOKENS = re.compile(r"\b(\d+)\s+draft tokens", re.I)
_CLIENTS = re.compile(
    r"\b(\d+)\s+(?:concurrent |parallel |simultaneous )?(?:clients|users|streams|connections)\b", re.I
)

_BASELINE_WORDS = re.compile(
    r"\bwithout\b|\bbaseline\b|\bno spec|\bspec\w* (?:is )?off\b|\bnon-spec|\bplain\b|\bvanilla\b|\boff\b|"
    r"\bdisabl|\bswitched off\b|\b(?:with no|not|non-) ?(?:spec|draft|eagle|mtp)",
    re.I,
)
_SET_AGAINST = re.compile(rf"^\s*{_INSTEAD}(?!\w)", re.I)
_OWN_SPEC_WORDS = re.compile(
    r"\bwith (?:it|the drafter)\b|\bwith\s*$|\b(?:eagle|mtp\b|nextn|spec|n-?gram|draft|now\b)", re.I
)
_WISH_WORDS = re.compile(
    r"\bshould\b|\bexpect\w*|\bwant\b|\bhop(?:e|ing)\b|\bbring|\btarget of\b|\bgoal\b|\babove\b|\bat least\b|>=", re.I
)
_SPEC_WORDS = re.compile(
    r"\bwith\b|\beagle|\bmtp\b|\bnextn\b|\bspec|\bn-?gram|\bdraft|\bnow\b|\bgives?\b|\bonly\b", re.I
)

_COMPLAINTS: tuple[tuple[Complaint, re.Pattern[str]], ...] = (
    (
        "slow",
        re.compile(
            r"\bslow|\bloses?\b|\bregress|\bworse\b|\bno (?:gain|speed-?up|faster)|\bnot faster|\bdropped\b|"
            r"\bsmall(?:er)? (?:speed-?up|gain)|\bspeed-?up (?:is|was) (?:small|far|below)|"
            r"\bhardly (?:more|faster)|\bgains? less|\bhurts?\b|\bhalf (?:as fast|the speed)|\bhalves\b|"
            r"\b(?:no|without|zero) (?:benefit|effect|advantage)|"
            r"\b(?:gives?|gains?|brings?|does|do) (?:\w+ )?nothing\b|"
            r"\bless than (?:the |it )?(?:\w+ ){0,3}(?:without|plain|baseline)|\bcollapses\b|\bbelow the baseline|"
            r"\b(?:only|just|merely) (?:get |gives? |gets )?1\.[0-3]\d?\s*x\b|\b(?:0\.\d+|1\.[0-2]\d?)\s*x only\b|"
            r"\b(?:drops?|fell|falls) (?:from|by|to)\b",
            re.I,
        ),
    ),
    (
        "regression",
        re.compile(
            r"\bfrom (?:\w+ )?v?\d+\.\d+\.\d+ to (?:\w+ )?v?\d+\.\d+\.\d+|"
            r"\bregress|\bsince (?:the |an? |our |its )?(?:\w+ )?(?:was )?(?:updat|upgrad|restart|reboot|mov)|"
            r"\bused to\b|\bgot slower|\bslower than (?:before|last|in)\b|\bafter (?:the |an? )?(?:updat|upgrad)",
            re.I,
        ),
    ),
    (
        "varies",
        re.compile(
            r"\bsometimes\b|\bdepends on the (?:re)?start|\b(?:each|every|some|another) (?:re)?starts?\b|"
            r"\b(?:fast|slow) (?:re)?starts\b",
            re.I,
        ),
    ),
    (
        "low-acceptance",
        re.compile(
            r"accept\w*[ -]?(?:len\w*|rate)?(?:[^.;]|\.\d){0,25}\b(?:low|poor|bad|near|close to|only)\b|\blow accept|"
            r"\baccept\w*(?:[ -](?:len\w*|rate))?(?: (?:is|of|was|at))? (?:exactly )?(?:1\.0\d?|"
            r"0(?:\.0+)?\s*%?)(?![\d.])|"
            r"\b(?:nothing|never|hardly|fewer|less|no (?:draft|token)\w*|not (?:one|a single))\b[^.;]{0,40}\baccept",
            re.I,
        ),
    ),
    (
        "queueing",
        re.compile(
            r"\bqueu|\bwait(?:s|ing)?\b|\bttft\b|\bstall|\bplateau|\blatency\b|\bdoes not scale|\bstops scaling", re.I
        ),
    ),
    (
        "wrong-output",
        re.compile(
            r"\bgarbage\b|\bgibberish\b|\bwrong (?:text|output|answers?)|"
            r"\b(?<!throughput )differs?\b(?! by\b)|\brepeat(?:s|ed)?\b|!!!",
            re.I,
        ),
    ),
    (
        "down",
        re.compile(
            r"(?<!not )\bdown\b(?! to\b| by\b| from\b)|\bcrash|\bdied\b|\bdies\b|"
            r"\b(?:does not|doesn't|refuses to|fails to|never|cannot|can't) (?:start|come up|load|launch|boot)|"
            r"\bwon't start|"
            r"\bnot respond|\brefused",
            re.I,
        ),
    ),
    (
        "asks-setting",
        re.compile(
            r"(?<!\w)--[a-z][a-z0-9-]{3,}|\b(?:setting|flag|value|option|argument)s?\b[^.?!]{0,60}"
            r"\b(?:ignored|overrid\w+|replaced|no effect|not applied|changed by|not taken)\b",
            re.I,
        ),
    ),
    (
        "asks-limit",
        re.compile(
            r"\b(?:which|what|who)\b[^.?!]{0,40}\b(?:limit|cap|maximum|ceiling)\b|\bwho (?:has )?set\b|"
            r"\b(?:limit|cap|maximum|ceiling)s?\b[^.?!]{0,60}\b(?:in force|documentation|effective)\b",
            re.I,
        ),
    ),
)

_SOUND = re.compile(
    r"\b(?:is|are|does|do|did|was|can|have)\b[^?!]{0,160}\b(?:broken|correct(?:ly)?|right|ok(?:ay)?|fine|healthy|normal|"
    r"fault\w*|wrong|properly|sound|bug|saturat\w*|problem|expected|before we)\b[^?]*\?",
    re.I,
)

_ANSWERS = re.compile(
    r"\btemp(?:erature)?s?\b\s*(?:of|is|=|at|above|over|>)?\s*\d|\bat (?:\w+ )?temperature|"
    r"\bwhen (?:it |we )?sampl(?:es?|ing)\b|"
    r"\bsampled\b|\blossless\w*|\b(?:same|other|another|identical) (?:text|output|answers?)\b",
    re.I,
)
_HEAT = re.compile(r"\btemp(?:erature)?s?\b\s*(?:of|is|=|at|:)?\s*(\d+(?:\.\d+)?)", re.I)
_MOST_HEAT = 2.0
_LOADED = re.compile(
    r"\b(?:many|more|several|lots of|all (?:of )?(?:the|our)) (?:people|users|clients|requests|colleagues|tenants)\b|"
    r"\b(?:under|with|at|high(?:er)?|heavy|peak) load\b|\bbusy\b|\bpeak hours?\b|\brush hours?\b|\bin parallel\b",
    re.I,
)


class Symptom(Frozen):
    """What the user reports: complaints by kind, and numbers with the role that their clause gives them."""

    text: str
    complaints: tuple[Complaint, ...]
    claims: tuple[Claim, ...]

    def figure(self, metric: str, role: Role) -> float | None:
        """The first claimed value of a metric in a role."""
        return next((c.value for c in self.claims if c.metric == metric and c.role == role), None)

    @property
    def clients(self) -> int:
        """How many clients the user speaks of; 1 where nothing was said."""
        return int(next((c.value for c in self.claims if c.metric == "concurrency"), 1))

    def at(self, concurrency: int) -> Symptom:
        """The symptom as it compares with a measurement at `concurrency`: speeds of another load are left out."""
        if self.clients == concurrency:
            return self
        kept = tuple(c for c in self.claims if c.metric != "throughput_tok_s")
        return self.model_copy(update={"claims": kept})

    @property
    def asks_about_answers(self) -> bool:
        """Whether what the server writes is complained of, or how it fares when it samples."""
        return "wrong-output" in self.complaints or bool(_ANSWERS.search(self.text))

    @property
    def speaks_of_load(self) -> bool:
        """Whether the complaint is of many requests at once, however many."""
        return self.clients > 1 or bool(_LOADED.search(self.text))

    @property
    def temperature(self) -> float:
        """The temperature that the user speaks of; 1 where none above 0 was said."""
        told = [float(m[1]) for m in _HEAT.finditer(self.text)]
        return next((t for t in told if 0.0 < t <= _MOST_HEAT), 1.0)

    @property
    def only_asks(self) -> bool:
        """Whether nothing is said, or only asked if all is well; words that were not understood are a complaint."""
        return not self.text.strip() or bool(_SOUND.search(self.text))

    @property
    def asks_about_speed(self) -> bool:
        """Whether the question is if speculation pays. Words that were not understood count as that question.

        Not so where the complaint is of another kind alone, or where the typed figures say that it pays and nobody
        calls it slow: then the figures are what is tested.
        """
        if "slow" in self.complaints:
            return True
        if set(self.complaints) & {"queueing", "wrong-output", "down"}:
            return False
        baseline = self.figure("throughput_tok_s", "baseline")
        now = self.figure("throughput_tok_s", "with speculation")
        return baseline is None or now is None or now <= baseline


def _role(clause: str) -> Role:
    if _WISH_WORDS.search(clause):
        return "wished"
    if _BASELINE_WORDS.search(clause):
        return "baseline"
    if _SET_AGAINST.search(clause) and not _OWN_SPEC_WORDS.search(clause):
        return "baseline"
    if _SPEC_WORDS.search(clause):
        return "with speculation"
    return "unknown"


def _middle(match: re.Match[str]) -> float:
    low = float(match.group(1))
    return (low + float(match.group(2))) / 2 if match.group(2) else low


def read_symptom(text: str) -> Symptom:
    """Numbers and complaints of a sentence."""
    claims = claims_of(text)
    complaints = [name for name, pattern in _COMPLAINTS if pattern.search(text)]
    symptom = Symptom(text=text, complaints=tuple(complaints), claims=tuple(claims))
    baseline, now = (
        symptom.figure("throughput_tok_s", "baseline"),
        symptom.figure("throughput_tok_s", "with speculation"),
    )
    if "slow" not in complaints and baseline is not None and now is not None and now < baseline:
        complaints.insert(0, "slow")
    return symptom.model_copy(update={"complaints": tuple(complaints)})


def claims_of(text: str) -> list[Claim]:
    """Numbers with a unit. A range ("82-83 tok/s") counts as its middle.

    A number whose clause gives it no role takes the one role that is left when the other speed has one.
    """
    claims: list[Claim] = []
    numbers = _compared(_ACCEPT_APART.sub(r"\1 \2", _plain_numbers(text)))
    speeds_elsewhere = bool(_SPEED.search(numbers))
    for clause in (c.strip() for c in _CLAUSE.split(_HEADED.sub(r"\1 ", _ITEM.sub("; ", numbers))) if c and c.strip()):
        claims += _clause_claims(clause, speeds_elsewhere=speeds_elsewhere)
    return filled_roles(claims if _BASELINE_WORDS.search(numbers) else of_one_launch(numbers, claims))


def _compared(numbers: str) -> str:
    """A pair of figures with the unit on both, and without the words that say which of them is the worse."""
    numbers = re.sub(r"\b(vs)\.", r"\1 ", numbers, flags=re.I)
    if len(_SPEED.findall(numbers)) == 1:
        numbers = _BARE_ONE.sub(r"\1 tok/s", numbers)
    return _COMPARISON.sub(r"\1: ", _BARE_OTHER.sub(r"\1 tok/s", numbers))


def _clause_claims(clause: str, *, speeds_elsewhere: bool) -> list[Claim]:
    if not any(c.isdigit() for c in clause):
        return []
    out: list[Claim] = []
    for part, role in _halves(clause):
        speeds = [(_middle(m), m.group(0)) for m in _SPEED.finditer(part)]
        if not speeds and (m := _BARE_BASELINE.search(part)) and not _ACCEPT.search(part):
            speeds = [(float(m.group(1)), m.group(0))]
        bare = (
            (_BARE_SPEED.search(part) or _SAID_SPEED.search(part) or _PAST_SPEED.search(part))
            if speeds_elsewhere and not speeds
            else None
        )
        if bare is not None:
            speeds = [(_middle(bare), bare.group(0))]
        out += [Claim(metric="throughput_tok_s", value=v, role=role, text=t.strip()) for v, t in speeds]
        if (
            not speeds
            and role == "wished"
            and (m := re.search(r"\b(?:above|over|at least|>=|to)\s*(\d+(?:\.\d+)?)\s*$", part))
        ):
            out.append(Claim(metric="throughput_tok_s", value=float(m.group(1)), role="wished", text=m.group(0)))
        for m in _ACCEPT.finditer(part):
            out.append(Claim(metric="accept_length", value=float(m.group(1)), role="with speculation", text=m.group(0)))
        for m in _CYCLE.finditer(part) if _CYCLE.search(part) else _CYCLE_FIRST.finditer(part):
            out.append(Claim(metric="step_ms", value=_middle(m), role="with speculation", text=m.group(0)))
        for m in _DRAFT_TOKENS.finditer(part):
            out.append(Claim(metric="draft_tokens", value=float(m.group(1)), role="unknown", text=m.group(0)))
        for m in _CLIENTS.finditer(part):
            out.append(Claim(metric="concurrency", value=float(m.group(1)), role="unknown", text=m.group(0)))
    return out


def _halves(clause: str) -> list[tuple[str, Role]]:
    """A clause that gives two speeds ("56 with and 90 without") is read half by half."""
    parts = re.split(r"\band\b|\bor\b", clause)
    sided = sum(1 for p in parts if re.search(r"\d", p) and _SIDE.search(p))
    if len(_SPEED.findall(clause)) < 2 and sided < 2:
        return [(clause, _role(clause))]
    return [(p, _role(p)) for p in parts]


def _written_out(power: re.Match[str]) -> str:
    value = float(power.group(0))
    return f"{value:.12g}" if 1e-3 < value < 1e9 else "?"


def _plain_numbers(text: str) -> str:
    """Thousands without their comma, a decimal comma before a unit as a point, "from A to B" as before and now.

    A number with a sign or beyond all measure is no figure.
    """
    text = _SIGNED.sub("?", _POWER.sub(_written_out, text))
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = _LISTED.sub("?", text)
    text = re.sub(r"(?<=\d),(?=\d{1,2}\s*(?:tok|t/s|tps|ms)\b)", ".", text, flags=re.I)
    change = r"\bfrom\s+(\d+(?:\.\d+)?)\s*(?:tok\w*\s*/\s*s\w*|t/s|tps)?\s+to\s+(\d+(?:\.\d+)?)\s*(?=tok|t/s|tps)"
    return re.sub(change, r"\1 tok/s before, now \2 ", text, flags=re.I)


def filled_roles(claims: list[Claim]) -> list[Claim]:
    """The claims; one speed without a side takes the side that the others leave."""
    speeds = [c for c in claims if c.metric == "throughput_tok_s" and c.role != "wished"]
    unknown = [c for c in speeds if c.role == "unknown"]
    if len(unknown) != 1:
        return claims
    known = {c.role for c in speeds} - {"unknown"}
    missing: Role = (
        "with speculation" if known == {"baseline"} else "baseline" if known == {"with speculation"} else "unknown"
    )
    return [c.model_copy(update={"role": missing}) if c is unknown[0] else c for c in claims]
