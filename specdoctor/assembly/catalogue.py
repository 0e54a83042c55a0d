"""Every check and every engine there is, found among the modules: a new file needs no list to be put on."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specdoctor.core.engine import Engine
    from specdoctor.core.ports import Check
    from specdoctor.drafter.pair import DrafterCheck


CHECKS = "specdoctor.checks"
ENGINES = "specdoctor.engines"


def _exposed(package: str, name: str) -> list[Any]:
    """The object `name` of every module of a package that has one: a new file needs no list to be put on."""
    folder = importlib.import_module(package)
    modules = [importlib.import_module(f"{package}.{m.name}") for m in pkgutil.iter_modules(folder.__path__)]
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def all_checks() -> tuple[Check, ...]:
    """Every check, sorted by name."""
    return tuple(sorted(_exposed(CHECKS, "check"), key=lambda check: str(check.name)))


def all_engines() -> tuple[Engine, ...]:
    """Every engine adapter, sorted by name."""
    return tuple(sorted(_exposed(ENGINES, "engine"), key=lambda engine: str(engine.name)))


def all_drafter_checks() -> tuple[DrafterCheck, ...]:
    """Every check of a drafter's files, sorted by name."""
    from specdoctor.drafter.every import every_check

    return every_check()


def engines_named(wanted: str | None) -> tuple[Engine, ...]:
    return tuple(engine for engine in all_engines() if wanted in (None, engine.name))
