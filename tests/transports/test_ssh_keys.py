"""Identity files and agents: what is offered, in which order, and what is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdoctor.transports.ssh_keys import KeyRing, inspect_identity
from specdoctor.transports.ssh_route import SshHop
from tests.transports.conftest import Keys
from tests.transports.ssh_servers import KeyPair

pytestmark = pytest.mark.thorough

needs_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
needs_agent = pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="no ssh-agent on this machine")


def hop(*files: Path | str, agent: str | None = None, identities_only: bool = False) -> SshHop:
    return SshHop(
        alias="a",
        hostname="a",
        user="me",
        identity_files=tuple(str(file) for file in files),
        agent=agent,
        identities_only=identities_only,
    )


def offered(ring: KeyRing, where: SshHop) -> list[str]:
    return [candidate.label for candidate in ring.candidates(where)]


def label(pair: KeyPair) -> str:
    return f"{pair.path} {pair.public.fingerprint}"


def never(path: str) -> str | None:
    raise AssertionError(f"nobody should be asked for {path}")


def test_files_are_offered_with_their_fingerprints(keys: Keys) -> None:
    ring = KeyRing(never)
    assert offered(ring, hop(keys.user.path, keys.host_rsa.path, keys.host_ecdsa.path)) == [
        label(keys.user),
        label(keys.host_rsa),
        label(keys.host_ecdsa),
    ]
    assert ring.problems == []


def test_files_that_do_not_exist_are_passed_over(keys: Keys, tmp_path: Path) -> None:
    ring = KeyRing(never)
    assert offered(ring, hop(tmp_path / "none", keys.user.path)) == [label(keys.user)]
    assert ring.problems == []


def test_a_locked_key_is_asked_for_last_and_only_when_needed(keys: Keys) -> None:
    asked: list[str] = []

    def ask(path: str) -> str:
        asked.append(path)
        return keys.passphrase

    ring = KeyRing(ask)
    candidates = ring.candidates(hop(keys.locked.path, keys.user.path))
    assert next(candidates).label == label(keys.user)
    assert asked == []
    assert next(candidates).label == label(keys.locked)
    assert asked == [str(keys.locked.path)]
    assert offered(ring, hop(keys.locked.path)) == [label(keys.locked)]
    assert len(asked) == 1


def test_a_wrong_passphrase_can_be_corrected(keys: Keys) -> None:
    answers = iter(["wrong", keys.passphrase])
    assert offered(KeyRing(lambda _: next(answers)), hop(keys.locked.path)) == [label(keys.locked)]


def test_three_wrong_passphrases_are_enough(keys: Keys) -> None:
    asked: list[str] = []

    def ask(path: str) -> str:
        asked.append(path)
        return "wrong"

    ring = KeyRing(ask)
    assert offered(ring, hop(keys.locked.path)) == []
    assert len(asked) == 3
    assert all("could not be unlocked" in problem for problem in ring.problems)
    assert "wrong" not in "".join(ring.problems)


@pytest.mark.parametrize("ask", [None, lambda _: None], ids=["nobody to ask", "no answer"])
def test_a_locked_key_can_be_left_out(keys: Keys, ask: None) -> None:
    ring = KeyRing(ask)
    for _ in range(2):
        assert offered(ring, hop(keys.locked.path)) == []
        assert len(ring.problems) == 1
        assert str(keys.locked.path) in ring.problems[0]


def test_what_is_no_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("not a key")
    (tmp_path / "folder").mkdir()
    ring = KeyRing(never)
    assert offered(ring, hop(tmp_path / "junk", tmp_path / "folder")) == []
    assert len(ring.problems) == 1
    assert f"{tmp_path}/junk could not be read" in ring.problems[0]


def test_looking_without_unlocking(keys: Keys, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_bytes(keys.locked.path.read_bytes())
    seen = inspect_identity(str(locked))
    assert seen is not None
    assert (seen.public, seen.encrypted, seen.has_private) == (keys.locked.public, True, True)
    public_only = inspect_identity(f"{keys.user.path}.pub")
    assert public_only is not None
    assert (public_only.public, public_only.has_private) == (keys.user.public, False)
    assert inspect_identity(str(tmp_path / "none")) is None


@needs_keygen
@pytest.mark.parametrize(
    "options",
    [
        ("-t", "ed25519"),
        ("-t", "rsa", "-b", "2048", "-m", "PEM"),
        ("-t", "rsa", "-b", "2048", "-m", "PKCS8"),
        ("-t", "ecdsa", "-m", "PEM"),
        ("-t", "ecdsa", "-b", "384", "-m", "PKCS8"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("passphrase", ["", "five or more"])
def test_all_formats_of_openssh(tmp_path: Path, options: tuple[str, ...], passphrase: str) -> None:
    path = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", *options, "-a", "1", "-N", passphrase, "-f", str(path)], check=True, capture_output=True
    )
    shown = subprocess.run(["ssh-keygen", "-lf", str(path)], check=True, capture_output=True, text=True).stdout.split()
    ring = KeyRing(lambda _: passphrase or None)
    assert offered(ring, hop(path)) == [f"{path} {shown[1]}"], ring.problems


@pytest.fixture
def agent(keys: Keys, tmp_path: Path) -> Iterator[str]:
    """An agent that holds the locked key (unlocked) and a stranger's."""
    path = tmp_path / "agent.sock"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    answer = tmp_path / "askpass"
    answer.write_text(f"#!/bin/sh\necho '{keys.passphrase}'\n")
    answer.chmod(0o700)
    environ = {**os.environ, "SSH_AUTH_SOCK": str(path), "SSH_ASKPASS": str(answer), "SSH_ASKPASS_REQUIRE": "force"}
    try:
        for _ in range(100):
            if path.exists():
                break
            process.poll()
            subprocess.run(["sleep", "0.02"], check=True)
        subprocess.run(
            ["ssh-add", "-q", str(keys.stranger.path), str(keys.locked.path)],
            env=environ,
            check=True,
            capture_output=True,
        )
        yield str(path)
    finally:
        process.terminate()
        process.wait(timeout=10)


@needs_agent
def test_keys_of_the_agent_come_first_named_ones_before_others(keys: Keys, agent: str) -> None:
    ring = KeyRing(never)
    labels = offered(ring, hop(keys.user.path, keys.locked.path, agent=agent))
    assert [text.split()[0] for text in labels] == ["agent", "agent", str(keys.user.path)]
    assert labels[0].endswith(keys.locked.public.fingerprint)
    assert labels[1].endswith(keys.stranger.public.fingerprint)


@needs_agent
def test_with_identities_only_the_agents_other_keys_stay_hidden(keys: Keys, agent: str) -> None:
    labels = offered(KeyRing(never), hop(f"{keys.locked.path}.pub", agent=agent, identities_only=True))
    assert [text.split()[-1] for text in labels] == [keys.locked.public.fingerprint]


def test_an_agent_that_does_not_answer_is_named(keys: Keys, tmp_path: Path) -> None:
    ring = KeyRing(never)
    assert offered(ring, hop(keys.user.path, agent=str(tmp_path / "none.sock"))) == [label(keys.user)]
    assert "does not answer" in ring.problems[0]
