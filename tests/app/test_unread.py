"""What an account may not read is named, with the option that helps."""

from __future__ import annotations

from specdoctor.app.preflight import host_findings
from specdoctor.app.unread import refused_reads
from specdoctor.core.facts import CommandFacts, Facts, FileFacts, HostFacts, LogFacts, ProcessFacts


def facts(**host: object) -> Facts:
    closed = [
        ProcessFacts(pid=pid, ppid=1, start_ticks=1, uid=0, user="root", unreadable=("env", "cwd"))
        for pid in (100, 101, 102)
    ]
    own = ProcessFacts(pid=200, ppid=1, start_ticks=1, uid=1000, user="ml", unreadable=("env",))
    return Facts(
        host=HostFacts.model_validate({"uid": 1000, "user": "ml", "python": "3.11", **host}),
        processes=(*closed, own),
        logs=(LogFacts(path="/var/log/sglang.log", error="Permission denied"),),
        files={"/m/config.json": FileFacts(path="/m/config.json", error="Permission denied")},
        commands={
            "container": CommandFacts(
                argv=("docker", "inspect", "x"), exit_code=1, error="permission denied while trying to connect"
            )
        },
    )


def test_each_kind_of_thing_that_may_not_be_read_is_one_line() -> None:
    assert refused_reads(facts()) == (
        "environment, directory of pid 100 and 2 more (user root): permission denied",
        "log /var/log/sglang.log: permission denied",
        "/m/config.json: permission denied",
        "docker inspect: permission denied",
    )


def test_root_is_refused_nothing() -> None:
    assert refused_reads(facts(uid=0)) == ()
    assert refused_reads(facts(privileged=True)) == ()


def test_doctor_names_the_option() -> None:
    found = {finding.name: finding for finding in host_findings(facts())}
    assert found["permissions"].state == "no"
    assert "--sudo" in found["permissions"].then
    assert "--sudo" not in {f.name: f for f in host_findings(facts(privileged=True))}["permissions"].then
