"""Investigate practice worlds with a language model beside the rules, on a virtual clock, and compare with the rules.

The model is any OpenAI-compatible endpoint (OPENAI_BASE_URL or OPENAI_API_KEY, --model NAME or a profile of
specdoctor.toml); without one a small real model is served here. Exit code: 0 no verdict got worse and every budget was
kept, 1 one did or was not, 5 no model can be had.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack
from typing import Literal

from specdoctor.app.investigation import investigate, start
from specdoctor.app.run import Run
from specdoctor.assembly.catalogue import all_checks
from specdoctor.cli.asking import BASE_URL, asked_model, profiles_of
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.errors import UsageError
from specdoctor.core.model import Risk
from specdoctor.lab.simulation import SimulatedHost
from specdoctor.lab.world import World, builtin_worlds
from specdoctor.planners.llm import LlmPlanner
from specdoctor.planners.llm_client import ModelClient
from specdoctor.planners.rules import RulePlanner
from tests.app.investigating import run_of, settings_for
from tests.evaluating.scoring import Score, scored
from tests.evaluating.small_model import NAME, served
from tests.live.engine import cache_folder
from tests.live.missing import Missing

Mode = Literal["llm", "auto"]
FIVE = ("graphs-off-by-flag", "override-is-the-cause", "healthy", "power-capped", "undertrained")
"""A cause in the launch, a replaced value, no fault, the machine, the drafter."""
HEAD = ("world", "rules", "model", "right", "grounded", "calls", "refused", "tokens", "cost", "restarts", "s")


def by_rules(world: World) -> Run:
    run = run_of(SimulatedHost(world, seed=0), planner=RulePlanner())
    start(run, settings_for(world, allow=Risk.RESTART))
    investigate(run, checkpoints=None)
    return run


def by_model(world: World, endpoint: Endpoint, mode: Mode) -> Run:
    host = SimulatedHost(world, seed=0)
    checks = [check.name for check in all_checks()]
    planner = LlmPlanner(endpoint, ModelClient(endpoint, clock=host.clock), checks=checks, mode=mode)
    run = run_of(host, planner=planner)
    start(run, settings_for(world, allow=Risk.RESTART, planner=mode, endpoint=endpoint))
    investigate(run, checkpoints=None)
    return run


def _endpoint(stack: ExitStack, model: str | None) -> Endpoint:
    """The endpoint that is configured, else the small model on this machine. Raises Missing, UsageError."""
    given = {"planner": "llm", "model": model}
    configured = model is not None or os.environ.get(BASE_URL) or "default" in profiles_of(None)
    if configured:
        found = asked_model(given, profiles_of(None))["endpoint"]
        assert isinstance(found, Endpoint)
        return found
    print(f"no endpoint is configured ({BASE_URL}, --model): serving {NAME} here", flush=True)
    address = stack.enter_context(served(cache_folder()))
    # Patience for a busy machine; it says nothing in 256 tokens that it would not say in more.
    return Endpoint(model=NAME, base_url=address, timeout_s=600.0, max_answer_tokens=256)


def _row(name: str, alone: Score, with_model: Score, seconds: float) -> tuple[str, ...]:
    return (
        name,
        alone.verdict,
        with_model.verdict + ("" if with_model.key == alone.key else " (other)"),
        "yes" if with_model.right else "honest" if with_model.honest else "NO",
        "yes" if with_model.grounded else "no",
        str(with_model.calls),
        str(with_model.refused),
        str(with_model.tokens),
        "-" if with_model.cost is None else f"{with_model.cost:.4g}",
        f"{with_model.restarts} ({alone.restarts})",
        f"{seconds:.0f}",
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _share(flags: list[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}"


def evaluate(endpoint: Endpoint, mode: Mode, names: list[str]) -> int:
    """Play each world twice and print the table; 1 where a verdict got worse or a budget was not kept."""
    rows, pairs = [HEAD], []
    for name in names:
        world, began = World.from_yaml(name), time.monotonic()
        alone, advised = scored(by_rules(world), world), scored(by_model(world, endpoint, mode), world)
        pairs.append((alone, advised))
        rows.append(_row(name, alone, advised, time.monotonic() - began))
        print(f"{name}: {advised.verdict}, {advised.calls} calls, {advised.tokens} tokens", file=sys.stderr, flush=True)
    print(_table(rows))
    print(_summary(endpoint, mode, pairs))
    worse = any(alone.right and not advised.right for alone, advised in pairs)
    return 1 if worse or not all(advised.within_budget for _, advised in pairs) else 0


def _summary(endpoint: Endpoint, mode: Mode, pairs: list[tuple[Score, Score]]) -> str:
    alone, models = [a for a, _ in pairs], [m for _, m in pairs]
    costs = [m.cost for m in models if m.cost is not None]
    rows = (
        ("accuracy", _share([m.right for m in models]), _share([a.right for a in alone])),
        ("grounded accuracy", _share([m.grounded for m in models]), _share([a.grounded for a in alone])),
        ("restarts", str(sum(m.restarts for m in models)), str(sum(a.restarts for a in alone))),
        ("tokens", str(sum(m.tokens for m in models)), "0"),
        ("cost", f"{sum(costs):.4g}" if costs else "no prices", "0"),
        ("budgets kept", _share([m.within_budget for m in models]), _share([a.within_budget for a in alone])),
        ("same outcome", _share([m.key == a.key for a, m in pairs]), "-"),
    )
    return "\n" + _table([("", f"{endpoint.model} ({mode})", "rules alone"), *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="make eval-llm", description=__doc__)
    parser.add_argument("--worlds", default=",".join(FIVE), help="names with commas, or all")
    parser.add_argument("--model", help="a profile of specdoctor.toml, or a model at OPENAI_BASE_URL")
    parser.add_argument("--mode", choices=("llm", "auto"), default="llm")
    asked = parser.parse_args()
    names = list(builtin_worlds()) if asked.worlds == "all" else asked.worlds.split(",")
    try:
        with ExitStack() as stack:
            return evaluate(_endpoint(stack, asked.model), asked.mode, names)
    except (Missing, UsageError) as reason:
        print(f"make eval-llm: {reason}", file=sys.stderr)
        return 5


if __name__ == "__main__":
    sys.exit(main())
