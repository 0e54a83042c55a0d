"""A triage document for people: verdict, facts with where they stand, findings with quotes, what to do next."""

from __future__ import annotations

from typing import Any

from specdoctor.render.layout import labelled, paste_lines

LABEL_WIDTH = 12
MOST_LOADS = 8
_STATES = {
    "served": "served when these files were written; whether it runs now they do not say",
    "starting": "was starting: its log ends before it was ready",
    "down": "had ended when these files were written, or never came up",
    None: "by its launch line: whether it runs is not said",
}
_ESTIMATOR = "_estimator"
_COMPUTED = "computed"
_ROLES = {
    "explains": "explains it",
    "contributes": "has a part in it; how large is not measured",
    "present": "real, and not shown to be the reason",
}


def triage_lines(document: dict[str, Any], *, width: int) -> str:
    """The document as text, wrapped to `width`; the launch line can be pasted as it stands."""
    rows = [("verdict", document["headline"])]
    engine = document["engine"]
    if engine["name"]:
        version = engine["version"] or engine["version_range"] or "of unknown version"
        state = _STATES[document["state"]]
        rows.append(("server", f"{engine['name']} {version}, {state}"))
    rows += [*_payoff(document), *_facts(document)]
    rows += [("identity" if n == 0 else "", check["text"]) for n, check in enumerate(document["identity"])]
    rows += _told(document)
    rows += [("but" if n == 0 else "", text) for n, text in enumerate(document["contradicted"])]
    for finding in document["findings"]:
        rows += _finding(finding, document["missing"])
    rows += [("would tell", text) for text in document["missing"]]
    rows += [("not read", f"{name} {why}") for name, why in document["unread"].items()]
    out = [line for label, text in rows for line in labelled(label, text, label_width=LABEL_WIDTH, width=width)]
    return "\n".join(out + _to_try(document["to_try"], width=width))


def _to_try(given: dict[str, Any] | None, *, width: int) -> list[str]:
    """The changed launch, as it can be put in place of what was given."""
    if not given:
        return []
    if not given["line"]:
        place = f" ({given['where']})" if given["where"] else ""
        text = f"{given['label']}{place}: {'; '.join(given['remarks'])}"
        return labelled("not to try", text, label_width=LABEL_WIDTH, width=width)
    place = f" (in place of {given['where']})" if given["where"] else ""
    texts = [f"{given['label']}{place}", *given["remarks"]]
    out = [
        line
        for n, text in enumerate(texts)
        for line in labelled("try" if n == 0 else "", text, label_width=LABEL_WIDTH, width=width)
    ]
    if given["shape"] == "yaml" or "\n" in given["line"]:
        return [*out, *str(given["line"]).split("\n")]
    return out + paste_lines(given["line"], width=width)


def _facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """One line for each place that figures were read from."""
    by_place: dict[str, list[str]] = {}
    for name, value in document["facts"].items():
        if name.endswith(_ESTIMATOR):
            continue
        place, how = document["facts_from"].get(name, ""), str(document["facts"].get(f"{name}{_ESTIMATOR}", ""))
        if not place or how.startswith(_COMPUTED):
            place = f"{_COMPUTED} from {place}" if place else _COMPUTED
        by_place.setdefault(place, []).append(f"{name} {_shown(value)}")
    return [
        ("facts" if n == 0 else "", f"{', '.join(figures)}  [{place}]")
        for n, (place, figures) in enumerate(by_place.items())
    ]


def _told(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What a person typed, one line for each place, and what follows from it."""
    by_place: dict[str, list[str]] = {}
    for told in document["told"]:
        side = "" if told["role"] == "unknown" else f" {told['role']}"
        name = str(told["metric"]).removesuffix("_ms").replace("throughput_tok_s", "").replace("_", " ")
        figure = f"{name} {told['value']:g} {told['unit']}{side}".strip()
        by_place.setdefault(told["where"], []).append(figure)
    rows = [f"{', '.join(figures)}  [{place}; typed, not checked]" for place, figures in by_place.items()]
    return [("told" if n == 0 else "", text) for n, text in enumerate([*rows, *document["told_sums"]])]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _payoff(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What the figures say of speculation against none, a sentence for each load that both sides were measured at."""
    facts, gains = document["facts"], document.get("gains", ())
    told = [gain for gain in gains if gain["throughput_tok_s"] and gain["baseline_tok_s"]]
    if len(gains) > 1 or (told and "speedup" not in facts):
        return [_at_load(gain) for gain in _spread(gains)]
    now, base, gain = (facts.get(name) for name in ("throughput_tok_s", "baseline_tok_s", "speedup"))
    if now is None or base is None or gain is None:
        return []
    return [(_word(gain), f"{now:g} tok/s with speculation, {base:g} without: {gain:.2f} times")]


def _spread(gains: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The gains to show: all of a few; of many the first, each at least twice the load of the one before, the last."""
    if len(gains) <= MOST_LOADS:
        return gains
    kept = gains[:1]
    for gain in gains[1:-1]:
        if gain["concurrency"] >= 2 * kept[-1]["concurrency"]:
            kept.append(gain)
    return [*kept, gains[-1]]


def _at_load(gain: dict[str, Any]) -> tuple[str, str]:
    at, now, base = gain["concurrency"], gain["throughput_tok_s"], gain["baseline_tok_s"]
    figures = f"{now:g} tok/s with speculation, {base:g} without: " if now and base else ""
    where = f"at {at:g} request{'s' if at > 1 else ''}"
    return _word(gain["speedup"]), f"{where}: {figures}{gain['speedup']:.2f} times  [{', '.join(gain['sources'])}]"


def _word(gain: float) -> str:
    return "gains" if gain >= 1.0 else "loses"


def _finding(finding: dict[str, Any], missing: list[str]) -> list[tuple[str, str]]:
    cause = f"{finding['cause']}: " if finding["cause"] else ""
    role = {"suspected": "possible", "falsified": "ruled out"}.get(finding["status"], _ROLES[finding["role"]])
    rows = [(finding["status"], f"{cause}{finding['claim']} ({role})")]
    rows += [("", f"{q['source']}:{q['line']}  {q['quote']}") for q in finding["evidence"]]
    tells = finding["next_check"] if finding["status"] == "suspected" else ""
    rows += [("  tells", tells)] if tells and not any(tells in text for text in missing) else []
    return rows + ([("  fix", finding["fix"])] if finding["fix"] else [])
