"""Host keys: what is trusted, what is refused, and what the user is told to do."""

from __future__ import annotations

import base64
import shutil
import subprocess

import pytest

from specdoctor.core.errors import HostKeyChanged, HostKeyUnknown, TargetError
from specdoctor.transports.ssh_known_hosts import known_hosts_line
from tests.transports.conftest import Keys, SshHome, StartServer
from tests.transports.ssh_servers import LOOPBACK, InProcessServer, KeyPair, OpenSshServer

pytestmark = pytest.mark.ssh


def name_of(server: InProcessServer) -> str:
    return f"[{LOOPBACK}]:{server.server.port}"


def refused(home: SshHome, alias: str, kind: type[TargetError], *, accept_new: bool = False) -> TargetError:
    with pytest.raises(kind) as caught:
        home.connect(alias, accept_new=accept_new)
    return caught.value


def works(home: SshHome, alias: str) -> bool:
    with home.connect(alias) as host:
        return host.run(("echo", "in")).text == "in\n"


def test_an_unknown_host_is_refused_with_what_to_do(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    seen_before = len(in_process.keys_seen)
    error = refused(ssh_home, "eagle", HostKeyUnknown)
    assert error.message.splitlines() == [
        "eagle: host key is not known (ED25519)",
        f"  got  {keys.host.public.fingerprint}",
        "  nothing was sent",
    ]
    port = in_process.server.port
    assert f"ssh -F {ssh_home.config} -p {port} tester@eagle" in error.next_step
    assert f"ssh-keyscan -t ed25519 -p {port} {LOOPBACK} >> {ssh_home.known_hosts}" in error.next_step
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in error.next_step
    assert "--accept-new-host-key" in error.next_step
    assert str(ssh_home.known_hosts) in error.tried
    assert len(in_process.keys_seen) == seen_before
    assert not ssh_home.known_hosts.exists()


@pytest.mark.skipif(shutil.which("ssh-keyscan") is None, reason="no ssh-keyscan on this machine")
def test_the_command_it_names_helps(openssh: OpenSshServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", openssh.server, key=keys.user)
    error = refused(ssh_home, "eagle", HostKeyUnknown)
    command = error.next_step.rpartition("or record it:")[2].strip().splitlines()[0]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert works(ssh_home, "eagle")


def test_a_changed_key_is_refused_with_its_place(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(f"# mine\nother {keys.host.public_line}\n{name_of(in_process)} {keys.other_host.public_line}\n")
    for accept_new in (False, True):
        error = refused(ssh_home, "eagle", HostKeyChanged, accept_new=accept_new)
        assert error.message.splitlines() == [
            f"eagle: host key has changed ({ssh_home.known_hosts} line 3, ED25519)",
            f"  expected  {keys.other_host.public.fingerprint}",
            f"  got       {keys.host.public.fingerprint}",
            "  nothing was sent",
        ]
        assert f"ssh-keygen -R '{name_of(in_process)}' -f {ssh_home.known_hosts}" in error.next_step


def test_a_revoked_key_is_refused(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(in_process.server.known_hosts() + f"@revoked * {keys.host.public_line}\n")
    error = refused(ssh_home, "eagle", HostKeyChanged, accept_new=True)
    assert f"host key is revoked ({ssh_home.known_hosts} line 2, ED25519)" in error.message


def test_an_authority_alone_is_not_enough_and_says_why(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(f"@cert-authority [{LOOPBACK}]:* {keys.other_host.public_line}\n")
    error = refused(ssh_home, "eagle", HostKeyUnknown)
    assert f"{ssh_home.known_hosts} line 1 trusts a certificate authority" in error.message


@pytest.mark.parametrize("hashed", [False, True], ids=["plain", "hashed"])
def test_a_known_host_is_trusted(in_process: InProcessServer, keys: Keys, ssh_home: SshHome, hashed: bool) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(known_hosts_line(name_of(in_process), keys.host.public, hashed=hashed))
    assert works(ssh_home, "eagle")


def test_a_name_recorded_without_its_port_is_trusted(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome
) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(f"{LOOPBACK} {keys.host.public_line}\n")
    assert works(ssh_home, "eagle")


def test_another_port_is_another_host(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user)
    ssh_home.know(f"[{LOOPBACK}]:1 {keys.host.public_line}\n")
    assert "not known" in refused(ssh_home, "eagle", HostKeyUnknown).message


def test_a_host_is_looked_up_by_its_key_alias(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user, HostKeyAlias="farm")
    error = refused(ssh_home, "eagle", HostKeyUnknown)
    assert "ssh-keyscan" not in error.next_step
    ssh_home.know(in_process.server.known_hosts(name="farm"))
    assert works(ssh_home, "eagle")


def test_the_global_file_counts(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    global_file = ssh_home.folder / "global"
    global_file.write_text(in_process.server.known_hosts())
    ssh_home.add("eagle", in_process.server, key=keys.user, GlobalKnownHostsFile=str(global_file))
    assert works(ssh_home, "eagle")


@pytest.mark.parametrize("known", ["host", "host_ecdsa", "host_rsa"])
def test_a_server_with_several_keys_shows_the_known_one(
    start_server: StartServer, keys: Keys, ssh_home: SshHome, known: str
) -> None:
    server = start_server(host_keys=(keys.host_rsa, keys.host_ecdsa, keys.host))
    pair: KeyPair = getattr(keys, known)
    ssh_home.add("eagle", server.server, key=keys.user)
    ssh_home.know(f"{name_of(server)} {pair.public_line}\n")
    assert works(ssh_home, "eagle")


def test_a_key_of_another_type_is_unknown_not_changed(start_server: StartServer, keys: Keys, ssh_home: SshHome) -> None:
    server = start_server(host_keys=(keys.host_ecdsa,))
    ssh_home.add("eagle", server.server, key=keys.user)
    ssh_home.know(f"{name_of(server)} {keys.host.public_line}\n")
    for accept_new in (False, True):
        error = refused(ssh_home, "eagle", HostKeyUnknown, accept_new=accept_new)
        assert "host key is not known (ECDSA)" in error.message
        assert f"known for this host, but not shown by it: ED25519 ({ssh_home.known_hosts} line 1)" in error.message
        assert "--accept-new-host-key" not in error.next_step


@pytest.mark.parametrize("by", ["flag", "configuration"])
@pytest.mark.parametrize("hashed", ["no", "yes"])
def test_first_contact_can_be_allowed(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome, by: str, hashed: str
) -> None:
    strict = "accept-new" if by == "configuration" else "ask"
    ssh_home.add("eagle", in_process.server, key=keys.user, StrictHostKeyChecking=strict, HashKnownHosts=hashed)
    ssh_home.know("other ssh-ed25519 AAAA")
    ssh_home.connect("eagle", accept_new=by == "flag").close()
    assert ssh_home.notices == [
        f"eagle: first contact; its ED25519 key {keys.host.public.fingerprint} was added to {ssh_home.known_hosts}"
    ]
    lines = ssh_home.known_hosts.read_text().splitlines()
    assert lines[0] == "other ssh-ed25519 AAAA"
    assert lines[1].startswith("|1|" if hashed == "yes" else name_of(in_process))
    assert works(ssh_home, "eagle")
    assert len(ssh_home.notices) == 1


@pytest.mark.parametrize("file", ["none", "/dev/null", "/proc/no/known_hosts"])
def test_first_contact_needs_a_place_to_record_it(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome, file: str
) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user, UserKnownHostsFile=file)
    message = refused(ssh_home, "eagle", HostKeyUnknown, accept_new=True).message
    assert "no file to record it" in message or "could not be recorded" in message


def test_turning_the_check_off_is_not_followed(in_process: InProcessServer, keys: Keys, ssh_home: SshHome) -> None:
    ssh_home.add("eagle", in_process.server, key=keys.user, StrictHostKeyChecking="no")
    refused(ssh_home, "eagle", HostKeyUnknown)
    assert len(ssh_home.notices) == 1
    assert "StrictHostKeyChecking" in ssh_home.notices[0]
    assert "not followed" in ssh_home.notices[0]


@pytest.mark.parametrize("form", ["key", "fingerprint", "krl"])
def test_a_list_of_revoked_keys_is_obeyed(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome, form: str
) -> None:
    revoked = ssh_home.folder / "revoked"
    if form == "krl":
        if shutil.which("ssh-keygen") is None:
            pytest.skip("no ssh-keygen on this machine")
        subprocess.run(
            ["ssh-keygen", "-q", "-k", "-f", str(revoked), f"{keys.host.path}.pub"], check=True, capture_output=True
        )
    else:
        revoked.write_text(f"{keys.host.public_line if form == 'key' else keys.host.public.fingerprint}\n")
    ssh_home.know(in_process.server.known_hosts())
    ssh_home.add("eagle", in_process.server, key=keys.user, RevokedHostKeys=str(revoked))
    assert f"revoked ({revoked}" in refused(ssh_home, "eagle", HostKeyChanged).message


def test_other_revoked_keys_do_not_matter_but_an_unreadable_list_does(
    in_process: InProcessServer, keys: Keys, ssh_home: SshHome
) -> None:
    revoked = ssh_home.folder / "revoked"
    ssh_home.know(in_process.server.known_hosts())
    ssh_home.add("eagle", in_process.server, key=keys.user, RevokedHostKeys=str(revoked))
    assert "cannot be read" in refused(ssh_home, "eagle", HostKeyUnknown).message
    revoked.write_text(f"{keys.other_host.public_line}\n")
    assert works(ssh_home, "eagle")
    if shutil.which("ssh-keygen"):
        subprocess.run(
            ["ssh-keygen", "-q", "-k", "-f", str(revoked), f"{keys.other_host.path}.pub"],
            check=True,
            capture_output=True,
        )
        assert works(ssh_home, "eagle")


def test_fingerprints_are_those_of_openssh(keys: Keys) -> None:
    text = keys.host.public.fingerprint
    assert text.startswith("SHA256:")
    assert len(base64.b64decode(text.removeprefix("SHA256:") + "=")) == 32
