"""Which configurations need the system's own ssh client."""

from __future__ import annotations

import pytest

from specdoctor.transports.openssh_needs import needs_system_client
from specdoctor.transports.ssh_route import parse_settings

AS_SSH_PRINTS = """
gssapiauthentication no
kbdinteractiveauthentication yes
proxyusefdpass no
securitykeyprovider internal
identityfile ~/.ssh/id_ed25519
"""


def needs(lines: str, *, environ: dict[str, str] | None = None, keys: dict[str, str] | None = None) -> tuple[str, ...]:
    public = keys or {}
    return needs_system_client(
        parse_settings(lines + AS_SSH_PRINTS),
        identity_files=tuple(public),
        environ=environ or {},
        public_half=lambda path: public[path],
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", None),
        ("proxycommand none", None),
        ("proxycommand nc -x proxy %h %p", "ProxyCommand"),
        ("proxycommand cloudflared access ssh\nproxyusefdpass yes", "ProxyCommand"),
        ("certificatefile ~/.ssh/id-cert.pub", "CertificateFile"),
        ("pkcs11provider /usr/lib/opensc-pkcs11.so", "PKCS11Provider"),
        ("pkcs11provider none", None),
        ("securitykeyprovider /usr/lib/sk.so", "SecurityKeyProvider"),
        ("knownhostscommand /usr/bin/keys %H", "KnownHostsCommand"),
        (
            "preferredauthentications keyboard-interactive,publickey",
            "PreferredAuthentications with keyboard-interactive",
        ),
        ("preferredauthentications publickey", None),
    ],
)
def test_a_setting_that_only_the_client_follows(line: str, reason: str | None) -> None:
    found = needs(line)
    assert reason in found if reason else found == ()


def test_gssapi_counts_only_with_a_ticket() -> None:
    assert needs("gssapiauthentication yes", environ={"KRB5CCNAME": "FILE:/tmp/cc"}) == (
        "GSSAPIAuthentication with a ticket",
    )
    assert needs("gssapiauthentication no", environ={"KRB5CCNAME": "FILE:/tmp/cc"}) == ()


def test_a_hardware_key_is_known_by_its_public_half() -> None:
    keys = {"/home/me/.ssh/id_sk": "sk-ssh-ed25519@openssh.com AAAA me", "/home/me/.ssh/id": "ssh-ed25519 AAAA me"}
    assert needs("", keys=keys) == ("hardware key /home/me/.ssh/id_sk",)
