"""The tokens of an answer, each with the gap between the log-probabilities of the two best ones at its place."""

from typing import Any, Dict, Iterable, List, Optional, Tuple

Choice = Tuple[str, Optional[float]]


def asking_for_choices(engine: str, form: str) -> Dict[str, Any]:
    """What a request says more, to be told the two best tokens of each place."""
    if form == "chat":
        return {"logprobs": True, "top_logprobs": 2}
    if engine == "sglang":
        return {"return_logprob": True, "top_logprobs_num": 2, "return_text_in_logprobs": True}
    if engine == "llamacpp":
        return {"n_probs": 2}
    return {"logprobs": 2}


def gap_of(best: Iterable[Any]) -> Optional[float]:
    """How far the likeliest of some tokens is before the second, in nats."""
    values = sorted((float(v) for v in best if isinstance(v, (int, float))), reverse=True)
    return values[0] - values[1] if len(values) > 1 else None


def choices_of(chunk: Dict[str, Any]) -> List[Choice]:
    """The tokens that a chunk tells of, in whichever form its endpoint has."""
    meta = chunk.get("meta_info") or {}
    found: List[Choice] = []
    tops = meta.get("output_top_logprobs") or []
    for place, told in enumerate(meta.get("output_token_logprobs") or []):
        best = tops[place] if place < len(tops) else None
        found.append((str(told[2] or "") if len(told) > 2 else "", gap_of(one[0] for one in best or [])))
    for one in chunk.get("completion_probabilities") or []:
        best = one.get("top_logprobs") or []
        found.append((str(one.get("token") or ""), gap_of(top.get("logprob") for top in best)))
    for choice in chunk.get("choices") or []:
        found += _of_openai(choice.get("logprobs") or {})
    return found


def _of_openai(told: Dict[str, Any]) -> List[Choice]:
    found: List[Choice] = []
    for one in told.get("content") or []:
        best = one.get("top_logprobs") or []
        found.append((str(one.get("token") or ""), gap_of(top.get("logprob") for top in best)))
    tops = told.get("top_logprobs") or []
    for place, token in enumerate(told.get("tokens") or []):
        best = tops[place] if place < len(tops) else None
        found.append((str(token), gap_of((best or {}).values())))
    return found


def joined(before: List[Choice], new: List[Choice], tokens: Optional[int]) -> List[Choice]:
    """All tokens so far: some servers repeat them in each chunk, others tell only what is new."""
    repeats = tokens is not None and len(new) == tokens and tokens >= len(before)
    return new if repeats else before + new
