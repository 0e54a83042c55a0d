"""How each engine is asked for tokens, and how its answer is read: the request body, and the counts in its chunks."""

import json
from typing import Any, Dict, Iterable, List, Optional, Tuple

from specdoctor.remote.parts.token_choices import asking_for_choices

CORRECT_KEYS = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num", "num_accepted_draft_tokens")
PROPOSED_KEYS = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num", "num_draft_tokens")
HISTOGRAM_KEYS = ("spec_correct_drafts_histogram", "spec_accept_histogram", "acceptance_histogram")
VERIFY_KEYS = ("spec_verify_ct", "num_spec_steps")


def request_for(plan: Dict[str, Any], text: str, extra: Dict[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """(path, JSON body) of one streamed request."""
    engine, limit, temperature = plan["engine"], plan["max_new_tokens"], plan["temperature"]
    extra = dict(extra, ignore_eos=True) if plan.get("ignore_eos") else extra
    if plan.get("keep") == "choices":
        extra = dict(extra, **asking_for_choices(engine, plan["form"]))
    schema = plan.get("json_schema") or ""
    if plan["form"] == "generate" and engine == "sglang":
        sampling = {"temperature": temperature, "max_new_tokens": limit}
        sampling.update({"json_schema": schema} if schema else {})
        if plan.get("ignore_eos"):
            sampling["ignore_eos"] = extra.pop("ignore_eos")
        return "/generate", dict({"text": text, "sampling_params": sampling, "stream": True}, **extra)
    if plan["form"] == "generate" and engine == "llamacpp":
        body = {"prompt": text, "n_predict": limit, "temperature": temperature, "stream": True, "cache_prompt": False}
        body.update({"json_schema": json.loads(schema)} if schema else {})
        return "/completion", dict(body, **extra)
    body = {
        "model": plan["model"],
        "max_tokens": limit,
        "temperature": temperature,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    if schema:
        form = {"name": "answer", "schema": json.loads(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if plan["form"] == "chat":
        return "/v1/chat/completions", dict(body, messages=[{"role": "user", "content": text}], **extra)
    return "/v1/completions", dict(body, prompt=text, **extra)


def new_text(chunk: Dict[str, Any]) -> str:
    """The text of a chunk: all so far (`text` of /generate) or what is new (the others)."""
    found = [chunk.get("text"), chunk.get("content")]
    for choice in chunk.get("choices") or []:
        delta = choice.get("delta") or {}
        found += [choice.get("text"), delta.get("reasoning_content"), delta.get("reasoning"), delta.get("content")]
        found += [json.dumps(delta["tool_calls"])] if delta.get("tool_calls") else []
    return "".join(piece for piece in found if isinstance(piece, str))


def tokens_so_far(chunk: Dict[str, Any]) -> Optional[int]:
    """Completion tokens up to this chunk, None where the server does not say."""
    for place in (chunk.get("meta_info"), chunk.get("usage")):
        if isinstance(place, dict) and isinstance(place.get("completion_tokens"), int):
            return int(place["completion_tokens"])
    return None


def finish_of(chunk: Dict[str, Any]) -> Optional[str]:
    """Why generation ended, in the last chunk that says so."""
    reasons = [(chunk.get("meta_info") or {}).get("finish_reason")]
    reasons += [choice.get("finish_reason") for choice in chunk.get("choices") or []]
    if chunk.get("stop") is True:
        reasons.append(chunk.get("stop_type") or "stop")
    for reason in reasons:
        if reason:
            return str(reason.get("type")) if isinstance(reason, dict) else str(reason)
    return None


def error_of(chunk: Dict[str, Any]) -> Optional[str]:
    """The error that a stream may carry in place of tokens."""
    error = chunk.get("error")
    if error:
        return str(error.get("message") if isinstance(error, dict) else error)[:300]
    reason = (chunk.get("meta_info") or {}).get("finish_reason")
    if isinstance(reason, dict) and reason.get("type") == "abort":
        return "aborted: " + str(reason.get("message"))[:300]
    return None


def _places(chunk: Dict[str, Any]) -> List[Dict[str, Any]]:
    """Where counts of speculation may stand in a chunk."""
    found: List[Any] = [chunk.get("meta_info"), (chunk.get("metrics") or {}).get("speculative_decoding")]
    for holder in [chunk, *(chunk.get("choices") or [])]:
        found.append(holder.get("meta_info"))
        details = (holder.get("sglext") or {}).get("spec_tokens_details")
        found += details if isinstance(details, list) else [details]
    return [place for place in found if isinstance(place, dict)]


def _first(places: List[Dict[str, Any]], names: Iterable[str]) -> Any:
    for name in names:
        for place in places:
            if place.get(name) is not None:
                return place[name]
    return None


def _steps_by_timings(timings: Dict[str, Any]) -> Optional[int]:
    """Target forwards after the prompt, of an engine that counts drafts and not steps: each gives one token of its own,
    the first token comes from the prompt. Those without a draft count too.
    """
    tokens, accepted = timings.get("predicted_n"), timings.get("draft_n_accepted")
    if not isinstance(tokens, int) or not isinstance(accepted, int):
        return None
    return tokens - 1 - accepted if tokens - 1 > accepted else None


def counts_of(chunks: Iterable[Dict[str, Any]]) -> Dict[str, Any]:
    """Token and speculation counts from the last chunks of an answer, by whichever names its version uses."""
    found: Dict[str, Any] = {}
    for chunk in chunks:
        places = _places(chunk)
        usage = chunk.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        timings = chunk.get("timings") or {}
        histogram = _first(places, HISTOGRAM_KEYS)
        values = {
            "prompt_tokens": _first([*places, usage], ["prompt_tokens"]) or timings.get("prompt_n"),
            "completion_tokens": _first([*places, usage], ["completion_tokens"]) or timings.get("predicted_n"),
            "cached_tokens": _first([*places, details], ["cached_tokens"]),
            "verify_ct": _first(places, VERIFY_KEYS),
            "correct_drafts": _first([*places, timings], [*CORRECT_KEYS, "draft_n_accepted"]),
            "proposed_drafts": _first([*places, timings], [*PROPOSED_KEYS, "draft_n"]),
            "histogram": list(histogram) if isinstance(histogram, list) else None,
        }
        found.update((name, value) for name, value in values.items() if value is not None)
        steps = _steps_by_timings(timings)
        if steps is not None:
            found.setdefault("verify_ct", steps)
    if found.get("histogram") and found.get("correct_drafts") is None:
        found["correct_drafts"] = sum(index * count for index, count in enumerate(found["histogram"]))
    return found
