"""Which installed engine is meant, and when its own source decides."""

from __future__ import annotations

import pytest

from specdoctor.app.installed_engine import choice_of, doubt_of, install_meant, own_rule
from specdoctor.core.engine_source import InstalledEngine
from specdoctor.core.facts import FileFacts, PackageFacts

RULE = FileFacts(path="/s/llama.py", text="x = 1")


def install(python: str, version: str, *, serving: bool = False, commit: str | None = None) -> InstalledEngine:
    engine = PackageFacts(name="sglang", version=version, git_commit=commit)
    return InstalledEngine(interpreter=python, engine=engine, serving=serving, rule=RULE)


OLD, NEW = install("/a/python", "0.5.12"), install("/b/python", "0.5.17", serving=True)


@pytest.mark.parametrize(
    ("installs", "version", "meant"),
    [
        ((OLD, NEW), None, NEW),
        ((OLD, NEW), "0.5.12", OLD),
        ((OLD, NEW), "0.5.20", None),
        ((OLD, install("/c/python", "0.5.17")), None, None),
        ((NEW, NEW), None, NEW),
        ((), None, None),
    ],
)
def test_which_is_meant(
    installs: tuple[InstalledEngine, ...], version: str | None, meant: InstalledEngine | None
) -> None:
    assert install_meant(installs, version) == meant


def test_a_release_is_known_by_its_version_and_anything_else_by_its_source() -> None:
    assert own_rule(NEW) is None
    assert own_rule(install("/a/python", "0.5.17", commit="5d0c2be")) == ("/s/llama.py", "x = 1")
    assert own_rule(install("/a/python", "0.5.17.dev3+gabc")) == ("/s/llama.py", "x = 1")
    assert own_rule(install("/a/python", "0.9.9")) == ("/s/llama.py", "x = 1")
    assert own_rule(install("/a/python", "main").model_copy(update={"rule": None})) is None
    assert (choice_of(NEW) is not None, choice_of(install("/a/python", "main"))) == (True, None)


def test_what_is_no_release_is_doubted_until_its_source_is_read() -> None:
    assert doubt_of(NEW) == ""
    assert (
        doubt_of(install("/a/python", "0.5.17", commit="5d0c2be81f7a4493")) == "it runs from a checkout at 5d0c2be81f7a"
    )
    edited = NEW.engine.model_copy(update={"record_mismatches": ("sglang/a.py", "sglang/b.py")})
    assert "2 of its files differ" in doubt_of(NEW.model_copy(update={"engine": edited}))
