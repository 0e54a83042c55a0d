"""What a column of a table is about, told from its heading in any of many spellings."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNIT = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_PREFIX = r"(?:mean|avg|average|median|p50|overall|measured|server|decode|spec|speculative|spec_decode)?_?"
_SPELLINGS: tuple[tuple[str, str], ...] = (
    ("throughput_low_tok_s", rf"{_PREFIX}(?:output_)?(?:token_)?(?:throughput|tok_s|tps)(?:_tok_s|_tps)?_(?:min|low)"),
    (
        "throughput_high_tok_s",
        (rf"{_PREFIX}(?:output_)?(?:token_)?(?:throughput|tok_s|tps)(?:_tok_s|_tps)?_(?:max|high)"),
    ),
    (
        "throughput_tok_s",
        (
            rf"{_PREFIX}(?:(?:output|gen|generation|decode|eval|tg)_)?(?:token_)?"
            r"(?:throughput|speed|tps|tg|tok_s|toks_s|tokens_s|t_s|tok_sec|tokens_sec|tokens?_per_s(?:ec(?:ond)?)?|"
            r"toks?_per_s(?:ec(?:ond)?)?)(?:_(?:tok_s|toks_s|tps|t_s|tokens?_s|tok_sec|tokens_per_s(?:ec(?:ond)?)?))?"
            r"|predicted_per_second|eval_rate"
        ),
    ),
    (
        "accept_length",
        (
            rf"{_PREFIX}(?:accept(?:ance|ed)?_?(?:len(?:gth)?s?)|acc_len(?:gth)?|al|mal|tau"
            r"|tokens_per_(?:step|forward|verify|cycle|iteration|target_forward)|(?:mean_)?acceptance_len(?:gth)?)"
        ),
    ),
    (
        "acceptance",
        (
            rf"{_PREFIX}(?:draft_)?(?:token_)?(?:accept(?:ance)?(?:_?(?:rate|ratio|share|fraction))?|acc_rate"
            r"|accepted_(?:rate|ratio|share|fraction)|alpha)(?:_pct|_percent)?|(?:pct_)?accepted_(?:pct|percent)|pct_accepted"
        ),
    ),
    (
        "accepted_tokens",
        (r"(?:spec_decode_)?(?:n_|num_)?(?:draft_)?(?:n_)?accepted(?:_draft)?(?:_tokens?|_drafts?|_count)?|n_accepts?"),
    ),
    ("drafts", r"(?:spec_decode_)?num_drafts|drafts|(?:spec_)?verify_(?:ct|steps)|target_forwards"),
    (
        "drafted_tokens",
        (r"(?:spec_decode_)(?:n_|num_)?(?:drafted|proposed|drafts?_generated)(?:_tokens?|_drafts?)?|draft_n|n_drafts?"),
    ),
    (
        "draft_steps",
        (
            r"(?:num_)?(?:spec(?:ulative)?_)?(?:num_|draft_)?steps|(?:num_)?spec(?:ulative)?_(?:num_)?tokens|k|gamma"
            r"|(?:spec_)?(?:draft_)?n_max|draft_max|(?:num_)?mtp_(?:tokens|steps|k|n)|mtp|draft_len(?:gth)?|max_draft_len"
            r"|spec_k|num_draft|draft_depth|lookahead|spec_draft_n_max|n_draft"
        ),
    ),
    ("topk", r"(?:speculative_)?(?:eagle_)?top_?k"),
    ("draft_tokens", r"(?:speculative_|spec_decode_)?(?:num_)?draft_tokens|ndt|verify_tokens|tree_size"),
    (
        "concurrency",
        (
            r"(?:max_|num_|maximum_)?(?:(?:request_)?concurrency|concurrent(?:_requests|_users)?|parallel(?:ism)?|clients?|users|streams|conc)"
            r"|batch(?:_?size)?|bs|running(?:_req(?:uest)?s)?|req_in_flight|requests_in_flight|np|slots"
        ),
    ),
    ("request_rate", r"(?:request_)?rate(?:_qps|_rps)?|request_rate_(?:qps|rps)|qps|rps|req_s"),
    ("tpot_ms", rf"{_PREFIX}(?:tpot|time_per_output_token|ms_per_token|per_token_latency|token_latency|ms_tok)"),
    ("itl_ms", rf"{_PREFIX}(?:itl|inter_token_latency)"),
    ("ttft_ms", rf"{_PREFIX}(?:ttft|time_to_first_token)"),
    ("step_ms", rf"{_PREFIX}(?:step|cycle|iter(?:ation)?|verify_step|forward)_?(?:time|latency|duration)?"),
    ("latency_s", rf"{_PREFIX}(?:e2e_)?(?:latency|wall|wall_time|elapsed|duration|time|benchmark_duration)"),
    ("input_tokens", r"(?:mean_|num_)?(?:input|prompt|prefill)_(?:tokens?|len(?:gth)?)|isl|context(?:_len(?:gth)?)?"),
    (
        "output_tokens",
        (
            r"(?:mean_|num_)?(?:output|completion|predicted|generated|decode)_(?:tokens?|len(?:gth)?)|osl|predicted_n|n_predict"
        ),
    ),
    ("position", r"(?:token_)?(?:position|pos)(?:_bucket|_range)?(?:_tokens)?|(?:context|length)_bucket(?:_tokens)?"),
    ("prompt", r"prompts?|datasets?|benchmarks?|tasks?|workload|prompt_set|category|suite"),
    (
        "label",
        (
            r"configs?|configuration|name|settings?|runs?|mode|variants?|what|labels?|method|algorithm|server|scenario|case"
            r"|drafter|draft(?:_model)?|model|speculation|spec|setup|build|version|engine|arm|row"
        ),
    ),
)
_COMPILED = tuple((field, re.compile(rf"(?:{pattern})")) for field, pattern in _SPELLINGS)
_TIMES = {"tpot_ms": 1.0, "itl_ms": 1.0, "ttft_ms": 1.0, "step_ms": 1.0, "latency_s": 1.0}
MEASURES = frozenset(
    {"throughput_tok_s", "throughput_low_tok_s", "throughput_high_tok_s", "accept_length", "acceptance", "tpot_ms"}
    | {"itl_ms", "ttft_ms", "step_ms", "latency_s"}
)
FEWER = frozenset({"draft_steps", "topk", "draft_tokens", "concurrency"})


class Column(NamedTuple):
    """The field of `Row` that a column fills ("" for none), and what its numbers are multiplied by."""

    field: str
    scale: float = 1.0


def normalised(heading: str) -> tuple[str, str]:
    """A heading in lower case with underscores, and its unit, whether in brackets or at its end."""
    text = heading.strip().strip("*`\"' ").lower()
    unit = "".join(_UNIT.findall(text))
    text = _UNIT.sub(" ", text).replace("#", " num ").replace("%", " pct ").replace("\u03c4", "tau")
    name = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    return name, unit.strip()


def column_of(heading: str) -> Column:
    """Which field a heading names. Percentiles other than the median are no field: they stay among the raw cells."""
    name, unit = normalised(heading)
    if re.search(r"(?:^|_)p(?:9\d|99|75|25)(?:_|$)|(?:^|_)std(?:_|$)", name):
        return Column("")
    for ending, scale in (("_ms", 1.0), ("_us", 1e-3), ("_s", 1e3), ("_sec", 1e3), ("_seconds", 1e3)):
        stem = name.removesuffix(ending)
        found = _field(stem) if stem != name else ""
        if found in _TIMES:
            return Column(found, scale / 1e3 if found == "latency_s" else scale)
    found = _field(name)
    if found in _TIMES:
        seconds = unit in ("s", "sec", "seconds")
        if found == "latency_s":
            return Column(found, 1e-3 if unit == "ms" else 1.0)
        if found == "step_ms" and not unit:
            return Column("")
        return Column(found, 1e3 if seconds else 1e-3 if unit in ("us", "\u00b5s") else 1.0)
    if found == "acceptance" and ("%" in unit or name.endswith(("pct", "percent")) or name.startswith("pct")):
        return Column(found, 0.01)
    if not found and unit in ("tok/s", "tokens/s", "t/s", "tps") and not re.search(r"prompt|prefill|input|total", name):
        return Column("throughput_tok_s")
    return Column(found)


def _field(name: str) -> str:
    return next((field for field, pattern in _COMPILED if pattern.fullmatch(name)), "")


def columns_of(header: tuple[str, ...]) -> tuple[Column, ...]:
    """The columns of a table. What a heading means may hang on the others: `draft_tokens` beside a count of accepted
    ones is a count, beside steps and topk the size of a tree."""
    found = [column_of(heading) for heading in header]
    fields = [column.field for column in found]
    if "accepted_tokens" in fields:
        found = [Column("drafted_tokens") if c.field == "draft_tokens" else c for c in found]
    if "draft_tokens" in fields and "draft_steps" not in fields and "topk" not in fields:
        found = [Column("draft_steps") if c.field == "draft_tokens" else c for c in found]
    seen: set[str] = set()
    out: list[Column] = []
    for column in found:
        again = column.field in seen and column.field != "label"
        seen.add(column.field)
        out.append(Column("") if again else column)
    return tuple(out)
