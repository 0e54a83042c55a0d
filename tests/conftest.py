"""What holds for every test: no network beyond loopback, a home of its own, and no live target unless asked for."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.network_guard import NetworkGuard

# Time limits per example fail at random on a busy machine; pytest-timeout bounds the whole test.
# The same examples each time, so that a change is judged by itself; --hypothesis-profile=search draws new ones.
settings.register_profile("specdoctor", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("specdoctor")

# Settings of the person at the keyboard that change what the code under test does.
PERSONAL_VARIABLES = (
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "NO_COLOR",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "SSH_AUTH_SOCK",
)
PERSONAL_PREFIXES = ("SPECDOCTOR_", "XDG_")

# Several processes work beside each other; threads of each that spin while they wait for work would cost all of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Thousands of listed tests and modules live on to the end; looking through them for garbage again and again costs a
# tenth of the processors' time.
gc.set_threshold(50_000, 20, 50)

# Whoever starts the tests in the background or under nohup has these ignored, and what they start inherits that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="run the tests marked live, which may use the network")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--live"):
        return
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason="needs a live target: --live"))


def pytest_collection_finish() -> None:
    gc.freeze()


def use_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make `home` the only place that personal settings can come from."""
    for name in os.environ:
        if name in PERSONAL_VARIABLES or name.startswith(PERSONAL_PREFIXES):
            patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("COLUMNS", "80")


@pytest.fixture(scope="session", autouse=True)
def network_guard() -> Iterator[NetworkGuard]:
    """Session-wide, so that fixtures of any scope are guarded too."""
    guard = NetworkGuard()
    with pytest.MonkeyPatch.context() as patch:
        guard.install(patch)
        yield guard


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The empty home that fixtures of a wider scope than a test see."""
    home = tmp_path_factory.mktemp("session-home")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, home)
        yield home


@pytest.fixture(autouse=True)
def loopback_only(request: pytest.FixtureRequest, network_guard: NetworkGuard) -> Iterator[None]:
    """Lift the guard for the time of a test marked live."""
    network_guard.lifted = request.node.get_closest_marker("live") is not None
    yield
    network_guard.lifted = False


_unused: list[Path] = []
"""The last test's home, where that test left nothing in it: thousands of folders take long to make and to remove."""


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home for this test alone; ask for it by name to put files in it."""
    path = _unused.pop() if _unused and is_empty(_unused[0]) else tmp_path_factory.mktemp("home")
    use_home(monkeypatch, path)
    yield path
    if is_empty(path):
        _unused[:] = [path]


def is_empty(folder: Path) -> bool:
    """Whether it is there and holds nothing."""
    return folder.is_dir() and next(folder.iterdir(), None) is None
