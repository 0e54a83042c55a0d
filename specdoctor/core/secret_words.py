"""The words around a secret in prose: what it is called, what leads to it, and what stands in place of it.

Closed lists, since a password too may begin or end as a word does.
"""

from __future__ import annotations

import re

SPEED_BEFORE_TOKEN = frozenset(
    """first per next bonus draft each every last output inter accept accepted one verify target stop eos bos pad end
    input prompt decode prefill image mask""".split()
)
"""Before `token` these make it a token of a model."""
STEP_BEFORE_PASS = frozenset(
    """first per next each every last one second third forward backward verify target draft decode prefill extend
    single this we i you they to not can must please tests will should or and""".split()
)
"""Before `pass` these make it a step of a model, or something that is done."""
PLAIN = frozenset(
    """slow slower slowly slowest fast faster fastest the it its we i you they he she is was are were be been has had
    have does do did can could will would should must may might no not none null nil true false yes a an with without
    very too only about that this which when if and or but so as at by for from in into of off on onto over to up via
    than then there here just also never always already still again now yet because while until what where why how who
    cannot isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't
    shouldn't it's that's there's any some all both either neither our my your their *** nicht kein keine für von auf
    der die das den pour de du para le la el""".split()
)
"""Words that go on with the sentence."""
STATES = frozenset(
    """accepted added allowed asked assigned blocked broken cached changed checked chosen cleared compromised configured
    confirmed copied corrupted created declined defined deleted denied deprecated disabled disclosed documented enabled
    encoded encrypted enforced entered escaped expected expired exported exposed failed fixed forgotten found generated
    given gone guessed handled hardcoded hashed hidden ignored included injected inherited kept known leaked limited
    listed loaded locked logged lost made managed masked matched mentioned mounted moved needed omitted passed pasted
    printed prompted protected provided quoted read received recovered redacted refused rejected removed renewed
    replaced requested required reset restored revoked rotated saved scoped sent set shared shown signed skipped solved
    sourced stolen stored stripped supplied supported switched taken tested tried truncated typed updated used validated
    verified wanted written missing invalid incorrect insecure inactive inaccessible irrelevant unavailable unchanged
    unclear undefined unexpected unknown unneeded unnecessary unprotected unreadable unset unsafe unused unverified
    unauthorized unauthenticated misconfigured misread misspelled misspelt mistyped mismatched mismatch wrong right
    correct fine ok okay good bad empty blank same different valid optional mandatory necessary forbidden absent present
    stale falsch richtig abgelaufen incorrecte incorrecta fehlt ready""".split()
)
"""What a sentence says of a secret in place of it; also behind a colon."""
TOPICS = frozenset(
    """arriving being blocking changing checking expiring failing getting handling hashing leaking matching passing
    pending prompting reading rejecting resetting rotating sending setting sharing showing using working work works
    worked fail fails inside based left enough long longer short shorter weak strong secure simple equal identical out
    new old own public private secret safe clear auth authentication authorization login logins prompt prompts error
    errors header headers file files hash hashes manager managers field fields check checks rotation policy change
    changes flag flags option options variable variables name names holder holders length size type types less free
    server list store vault value values problem problems issue issues protection entry input agent parameter argument
    setting settings support reuse expiry strength format string environment env default question failure failures
    mechanism database token tokens key keys password passwords passphrase credential credentials characters chars
    digits letters bytes usage count id ids path dir volume mount reader callback helper function line lines""".split()
)
"""What goes on with the name (`password prompt`), or is said of it and would be a poor password."""
TECHNICAL = re.compile(
    r"(?:eagle|qwen|llama|deepseek|gemma|phi|mixtral|mistral|glm|kimi|gpt|fp\d|bf\d|int\d|nvfp|mxfp|w\da|[tdpes]p\d|cuda|"
    r"h[12]\d\d|a\d\d|b[23]00|l40|rtx|mi\d|v\d|python|gpu|node|host|ngram|mtp|flash|fa\d|num|batch|rank|step|round|layer|"
    r"iter|epoch|run|top|stage|draft|tok|seq|req|bs\d|cu\d|gb\d|utf|sha\d|x86|ipv\d|http|k8s|p\d\d|sm\d|q\d|[-/$+])"
)
"""Beginnings of names in this field, that have figures in them too; of flags, paths and variables."""

PASSWORD, KEY, SHORT, WEAK, BEARER, LOGIN = "password", "key", "short", "weak", "bearer", "login"
NAME = re.compile(
    r"""
    (?P<password>pass[-\ ]?(?:words?|phrases?|wd|codes?)(?![a-z0-9])|passw(?![a-z0-9])|passwort|kennwort
      |mot\ de\ passe|contrase[nñ]a|senha(?![a-z])
      |wachtwoord|lösenord|adgangskode|salasana|hasło|şifre|parola(?![a-z])|пароль|密码|密碼|口令
      |パスワード|비밀번호|암호)
    |(?P<key>(?:api|x-api)[-_ ]?(?:keys?|tokens?|secrets?|schlüssel)(?![a-z0-9])|(?:api[-_ ]?)?密钥|api密钥
      |cl[eé]\ (?:d['’])?api|clave\ (?:de\ )?api|chiave\ api
      |(?:access|secret|private|license|admin|master|signing|encryption|account|service|webhook)
        [-_ ]?key(?:[-_]?id)?(?![a-z0-9])
      |client[-_ ]?secret(?![a-z0-9])
      |(?:auth|access|hf|hub|github|gitlab|slack|deploy|refresh|session|id|personal\ access)[-_ ]?token(?![a-z0-9]))
    |(?P<login>credentials?(?![a-z0-9])|creds(?![a-z0-9])|basic\ auth(?:entication)?(?![a-z0-9])|log-?in(?![a-z0-9])
      |user(?:name)?(?:/|\ and\ )pass(?:word)?(?![a-z0-9]))
    |(?P<bearer>bearer(?:[-_ ]token)?(?![a-z0-9]))
    |(?P<short>(?:pass|pwd|psw|pw|p/w|pin)(?![a-z0-9]))
    |(?P<weak>(?:token|(?:(?:ssh|my)[-_ ]?)?key|auth|sig(?:nature)?|secret|cookie|otp|passkey)(?![a-z0-9_]))
    """,
    re.VERBOSE,
)
"""In text of small letters. What must hold around it is asked of each match."""
NAMES_ABROAD = (
    *"kennwort contrase senha wachtwoord lösenord adgangskode salasana hasło şifre parola пароль".split(),
    *"密码 密碼 密钥 口令 パスワード 비밀번호 암호 schlüssel clave chiave clé".split(),
    "mot de passe",
)
STEMS = (
    *"pass key token secret auth sig cred login log-in bearer pwd pw p/w psw pin cookie otp api user".split(),
    *NAMES_ABROAD,
)
"""Without one of these no name is in a text."""

SIGN = r"(?:[:=＝：]{1,3}>?|[-=]>|→|⇒)"
BEHIND = re.compile(
    r"""
    (?:\s{1,3}(?:(?:(?:that|which)\s{1,3})?(?:i|we|you|they|he|she)\s{1,3}(?:use|have|set|gave|type|enter|got)|used)(?!\w))?
    (?:\s{1,3}(?:of|for|on|at|to|in|from|für|von|auf|pour|de|du|para)\s{1,3}
       (?:(?:the|our|my|an?|this|that|its|your|all|user|host|login|account|den|der|dem|la|le|el)\s{1,3}){0,2}
       (?!(?:is|was|has|ist|est|es)\s)[\w.@/-]{1,60}(?:\s{1,3}(?:user|host|login|account|server|machine|node|box|one)(?!\w))?
    ){0,2}
    """,
    re.VERBOSE,
)
"""Whose it is."""
_LED = (
    r"is|was|are|were|be|been|being|has|had|have|will|would|should|must|now|still|just|already|also|currently|recently|"
    r"probably|really|actually|simply|likely|only|always|again|then|since|set|reset|changed|rotated|switched|updated|moved|"
    r"made|chosen|renewed|replaced|equals|became|becomes|reads|goes|to|as|with|by|from|called|like|namely|"
    r"ist|war|lautet|wurde|auf|zu|geändert|est|était|es|era|é|è|som|är|er|jest|это"
)
_AGAIN = r"(?:(?:it|this|that|which)(?:['’]s|\s{1,3}(?:is|was))\s{1,3})?"
ASSIGNED = re.compile(
    rf"(?:\s{{1,3}}\([^()\n]{{1,40}}\))?(?:\s{{1,3}}(?:is|was|are|to|as|ist|est|es)){{0,3}}[\"'`*_]{{0,3}}\s{{0,5}}"
    rf"(?:{SIGN}|(?:是|为|為|は|는|은)[:：]?)[*_]{{0,2}}\s{{0,5}}{_AGAIN}"
)
SAID = re.compile(
    rf"(?:\s{{1,3}}\([^()\n]{{1,40}}\))?(?:['’]s(?=\s)|,?(?:\s{{1,3}}(?:that|which|and\s+it|it))?(?:\s{{1,3}}(?:{_LED})(?!['’\w-])){{1,7}})"
    rf"\s{{1,5}}{_AGAIN}"
)
LEADS_ON = frozenset(_LED.split("|"))
UNIT = (
    r"(?:(?:ms|us|ns|s|sec|x|%|k|m|b|gb|gib|mb|mib|min|h|w|tok|tokens?|hz|tps)"
    r"(?:/(?:s|sec|second|min|h|req|request|user|gpu|tok|token|step|round|draft|layer))?)"
)
FIGURE = re.compile(rf"[~<>≈≤≥]{{0,2}}\d[\d.,]{{0,12}}(?:[-–/]\d[\d.,]{{0,12}})?{UNIT}?")
UNITED = re.compile(rf"[~<>≈≤≥]{{0,2}}\d[\d.,]{{0,12}}(?:[-–/]\d[\d.,]{{0,12}})?{UNIT}")
VARIABLE = re.compile(r"[\"']?(?:\$\{?[A-Z_][A-Z0-9_]*\}?[\"']?$|\$\(|%[A-Z_]+%$)")
OPAQUE = re.compile(
    r"(?=[A-Za-z0-9+/-]{0,80}[A-Za-z])(?:(?=[A-Za-z0-9+/]{0,80}?\d[A-Za-z]{0,80}\d)(?=[A-Za-z0-9+/]{8})|"
    r"(?=[0-9a-f]{6,20}-[0-9a-f-]{4}))"
)
"""Eight letters and figures in a row, two of them figures: no word, and no name of a model or a version."""
