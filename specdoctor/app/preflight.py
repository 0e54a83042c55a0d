"""What will be possible on a target, judged from one look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from specdoctor.app.scene import held_text, resume_line, test_launch_of
from specdoctor.app.surroundings import surroundings_text
from specdoctor.app.unread import BY_SUDO, refused_reads
from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.model import Frozen
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import ServerView

State = Literal["ok", "no", "unknown"]
SHOWN_PROBLEMS = 5


class Finding(Frozen):
    """One thing looked at; `then` says what to do about it, where there is something to do."""

    name: str
    state: State
    text: str
    then: str = ""


def host_findings(facts: Facts) -> list[Finding]:
    """The machine, the interpreter that gathered the facts, and its GPUs."""
    host = facts.host
    who = f"{host.user or '?'} on {host.hostname or '?'}, {host.kernel} {host.machine}".strip()
    who += "; read as root, with sudo" if host.privileged else ""
    found = [Finding(name="login", state="ok", text=who)]
    if host.python:
        found.append(Finding(name="python", state="ok", text=f"{host.python}, {host.interpreter}"))
    else:
        found.append(
            Finding(
                name="python",
                state="no",
                text="none was found; a shell script read less",
                then="name one with --interpreter: without it nothing can be benchmarked or restarted",
            )
        )
    return [*found, _gpus(facts), *_problems(facts)]


def _gpus(facts: Facts) -> Finding:
    asked = facts.commands.get("gpus")
    if asked is None or asked.exit_code != 0:
        said = asked.error if asked is not None and asked.error else "it was not asked"
        return Finding(name="gpus", state="no", text=f"nvidia-smi: {said}", then="GPU memory cannot be watched")
    rows = [line.split(", ") for line in asked.stdout.splitlines() if line.strip()]
    names = sorted({row[1] for row in rows if len(row) > 1})
    return Finding(name="gpus", state="ok", text=f"{len(rows)} x {', '.join(names)}")


def _problems(facts: Facts) -> list[Finding]:
    refused = refused_reads(facts)
    problems = (*refused, *facts.problems)
    if not problems:
        return [Finding(name="permissions", state="ok", text="everything asked for could be read")]
    shown = "; ".join(problems[:SHOWN_PROBLEMS])
    more = len(problems) - SHOWN_PROBLEMS
    text = shown + (f"; and {more} more" if more > 0 else "")
    then = BY_SUDO if refused else "log in as the server's own user, or allow it to read these"
    return [Finding(name="permissions", state="no", text=text, then=then)]


def server_findings(view: ServerView, facts: Facts, *, meant: Sequence[str] = ()) -> list[Finding]:
    """One server: what it is, what can be read, what each tier may do. `meant`: its line by the targets file."""
    return [
        _server(view),
        _version(view),
        _log(view, facts),
        Finding(name="surroundings", state="ok", text=surroundings_text(view)),
        *_launch(view, meant),
        _reading(view),
        _load(view, facts),
        _restart(view, facts),
    ]


def _server(view: ServerView) -> Finding:
    place = f"pid {view.ref.pid}, port {view.ref.port}" if view.ref else "no process"
    spec = view.spec.label if view.spec else "speculation unknown"
    state: State = "ok" if view.state == "running" else "no"
    return Finding(name="server", state=state, text=f"{view.engine}, {view.state}, {place}: {view.model_path}, {spec}")


def _version(view: ServerView) -> Finding:
    known = view.version or view.version_range
    if known is None:
        return Finding(name="version", state="unknown", text="nothing that was read names it")
    source = f" ({view.version_source.where})" if view.version_source else ""
    doubts = "; ".join(view.version_doubts)
    return Finding(
        name="version",
        state="unknown" if doubts or view.version is None else "ok",
        text=f"{known}{source}" + (f"; {doubts}" if doubts else ""),
        then="rules that depend on the version count for less" if doubts else "",
    )


def _log(view: ServerView, facts: Facts) -> Finding:
    if view.log is None and facts.via:
        then = (
            f"what {facts.via.partition(':')[0]} keeps of it is seen from outside: leave out --via, or save its log and"
        )
        return Finding(name="log", state="no", text="none inside the container", then=f"{then} use specdoctor triage")
    if view.log is None:
        return Finding(name="log", state="no", text="none was found", then="name it with --log PATH")
    lines = f"{view.log_path or view.log.where}, {view.log.lines} lines, {len(view.log.decode)} decode lines"
    return Finding(name="log", state="ok", text=lines)


def _launch(view: ServerView, meant: Sequence[str]) -> list[Finding]:
    if not meant or not view.argv:
        return []
    if tuple(redact_argv(meant)) == tuple(view.argv):
        return [Finding(name="launch", state="ok", text="as the targets file says")]
    extra = [word for word in view.argv if word not in meant]
    absent = [word for word in redact_argv(meant) if word not in view.argv]
    said = "; ".join(
        part
        for part in (
            f"runs with {' '.join(extra)}" if extra else "",
            f"runs without {' '.join(absent)}" if absent else "",
        )
        if part
    )
    return [Finding(name="launch", state="unknown", text=f"not as the targets file says: {said or 'another order'}")]


def _reading(view: ServerView) -> Finding:
    shown = [
        name
        for name, there in (
            ("launch line", bool(view.argv)),
            ("values in force", bool(view.effective)),
            ("log", view.log is not None),
            ("target config", view.target_config is not None),
            ("draft config", view.draft_config is not None),
        )
        if there
    ]
    return Finding(name="tier read", state="ok", text=f"possible: {', '.join(shown) or 'processes only'}")


def _load(view: ServerView, facts: Facts) -> Finding:
    if view.state != "running" or view.ref is None:
        return Finding(name="tier load", state="no", text=f"the server is {view.state}")
    replies = facts.http.get(str(view.ref.port), {})
    answered = [path for path, reply in replies.items() if reply.status is not None]
    if not answered:
        return Finding(name="tier load", state="no", text=f"nothing answers on port {view.ref.port} of the host itself")
    if not facts.host.python:
        return Finding(name="tier load", state="no", text="no Python on the host to send requests with")
    key = "; its API key is taken from its own command line there" if view.needs_api_key else ""
    return Finding(name="tier load", state="ok", text=f"possible: it answers on port {view.ref.port}{key}")


def _restart(view: ServerView, facts: Facts) -> Finding:
    tester = test_launch_of(view, facts)
    if tester is not None:
        return Finding(name="tier restart", state="no", text=held_text(tester), then=resume_line(tester))
    keeper = view.keeper
    kept = f"{keeper.kind}{f' ({keeper.detail})' if keeper.detail else ''}"
    if not keeper.restartable:
        return Finding(name="tier restart", state="no", text=f"{kept}: {keeper.reason}", then=keeper.by_hand)
    owner = _process(view, facts)
    if owner is not None and facts.host.uid not in (None, 0, owner.uid):
        return Finding(
            name="tier restart",
            state="no",
            text=f"it belongs to {owner.user or owner.uid}, and you are {facts.host.user}",
            then=f"log in as {owner.user or owner.uid}",
        )
    return Finding(name="tier restart", state="ok", text=f"possible: {kept}, and it is your own")


def _process(view: ServerView, facts: Facts) -> ProcessFacts | None:
    return next((p for p in facts.processes if view.ref is not None and p.pid == view.ref.pid), None)
