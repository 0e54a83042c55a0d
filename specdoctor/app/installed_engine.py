"""Which engine a question about a drafter on a host is about, and whether that engine's own source has to be read."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.engine_source import InstalledEngine
from specdoctor.drafter.comparison import EngineChoice
from specdoctor.drafter.rules.rule import rule_for
from specdoctor.drafter.rules.table import ENGINES


def install_meant(installs: Sequence[InstalledEngine], version: str | None) -> InstalledEngine | None:
    """The one that serves the target, else the only one; with a version only one of that version. None where several
    come into question.
    """
    fitting = [one for one in installs if version in (None, one.engine.version)]
    serving = [one for one in fitting if one.serving]
    candidates = {(one.interpreter, one.engine.version): one for one in serving or fitting}
    return next(iter(candidates.values())) if len(candidates) == 1 else None


def own_rule(install: InstalledEngine) -> tuple[str, str] | None:
    """Name and text of its source where its version alone does not tell its rule."""
    rule = install.rule
    if rule is None or rule.text is None:
        return None
    known = rule_for(ENGINES["sglang"], install.engine.version, None)
    if install.as_published and known is not None and not known.doubt:
        return None
    return rule.path, rule.text


def doubt_of(install: InstalledEngine) -> str:
    """Why the rule of its version may not hold for it; empty for a release as published."""
    if install.as_published:
        return ""
    one = install.engine
    if one.record_mismatches:
        return f"{len(one.record_mismatches)} of its files differ from those released, {one.record_mismatches[0]} first"
    return f"it runs from {one.editable_url or 'a checkout'}" + (f" at {one.git_commit[:12]}" if one.git_commit else "")


def choice_of(install: InstalledEngine) -> EngineChoice | None:
    """The installed version; None for one that is no version."""
    version = install.engine.version
    return EngineChoice(name="sglang", version=version) if ENGINES["sglang"].release(version) else None
