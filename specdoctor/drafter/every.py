"""All checks of a drafter's files: a new file in `checks` needs no list to be put on."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from specdoctor.drafter import checks
from specdoctor.drafter.pair import DrafterCheck


@functools.cache
def every_check() -> tuple[DrafterCheck, ...]:
    """Every check, sorted by name."""
    modules = [importlib.import_module(f"{checks.__name__}.{m.name}") for m in pkgutil.iter_modules(checks.__path__)]
    found: list[DrafterCheck] = [module.check for module in modules if hasattr(module, "check")]
    return tuple(sorted(found, key=lambda check: check.name))
