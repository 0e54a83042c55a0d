"""Experts that a mixture-of-experts layer reads when several tokens are verified at once."""

from __future__ import annotations

from specdoctor.analysis.figure import FigureError, not_negative


def active_experts(experts: int, per_token: int, tokens: float) -> float:
    """Expected distinct experts for `tokens` tokens routed independently: E * (1 - (1 - K/E)^t).

    Raises FigureError unless 1 <= per_token <= experts.
    """
    if not 1 <= per_token <= experts:
        raise FigureError(f"{per_token} of {experts} experts per token", next_step="read the target's config")
    untouched: float = (1.0 - per_token / experts) ** not_negative("tokens", tokens)
    return experts * (1.0 - untouched)


def expert_traffic_ratio(experts: int, per_token: int, tokens: float) -> float:
    """Upper bound on expert weights read for `tokens` tokens, over one token; real routing is correlated and lower."""
    return active_experts(experts, per_token, tokens) / per_token
