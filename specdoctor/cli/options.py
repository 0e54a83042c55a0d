"""Options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from specdoctor.cli import completing
from specdoctor.core.reach import SshTransport

Tier = Literal["read", "load", "restart"]
Form = Literal["chat", "generate"]


def value(flag: str, metavar: str, told: str, *, lowest: float | None = None, highest: float | None = None) -> Any:
    """An option that takes a value and has none unless it is given; its help, `told`, says what holds then."""
    return typer.Option(flag, metavar=metavar, help=told, min=lowest, max=highest, show_default=False)


Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        help="ssh://[user@]host[:port], local:, or a name from specdoctor.toml; may be left out when that file names "
        "one target only.",
        show_default=False,
        autocompletion=completing.targets,
    ),
]
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Id of a run or its beginning, or a transcript folder or events.jsonl.",
        autocompletion=completing.runs,
    ),
]
TargetsFile = Annotated[
    Path | None,
    value(
        "--targets",
        "FILE",
        "File of named targets; else ./specdoctor.toml, else the one in the user's configuration folder.",
    ),
]
SshConfig = Annotated[Path | None, value("--ssh-config", "FILE", "Use this SSH configuration, as ssh -F does.")]
Ssh = Annotated[
    SshTransport | None,
    value(
        "--ssh",
        "auto|openssh|paramiko",
        "Who speaks SSH: the system's ssh client (openssh), specdoctor itself (paramiko), or the client where the "
        "configuration needs it: ProxyCommand, certificates, hardware keys, GSSAPI.  [default: auto]",
    ),
]
Via = Annotated[
    str | None,
    value(
        "--via",
        "CONTAINER",
        "Look from inside a container of the host: docker:NAME, podman:NAME, kubectl:NAMESPACE/POD[/CONTAINER].",
    ),
]
Sudo = Annotated[
    bool, typer.Option("--sudo", help="Read with sudo -n what this account may not; nothing else runs under it.")
]
AcceptNew = Annotated[
    bool,
    typer.Option(
        "--accept-new-host-key",
        help="Record the key of a host never seen before; a changed key is refused all the same.",
    ),
]
Interpreter = Annotated[
    str | None,
    value("--interpreter", "PATH", "Python on the host to run the probe with; else the server's own, else python3."),
]
ServerPort = Annotated[
    int | None, value("--server-port", "PORT", "Which server, where a host runs several.", lowest=1, highest=65535)
]
Logs = Annotated[
    list[str] | None, value("--log", "PATH", "Also read this server log on the host; may be given several times.")
]
Symptom = Annotated[
    str | None,
    value(
        "--symptom", "TEXT", "What is wrong, in your words, with the figures you know; they are tested, not believed."
    ),
]
Allow = Annotated[
    Tier | None,
    value(
        "--allow",
        "read|load|restart",
        "Highest tier to do without asking: only read (the default), also benchmark, also restart the server.",
    ),
]
KeepCorrected = Annotated[
    str | None,
    value(
        "--keep-corrected",
        "DIR",
        "Leave the corrected copy of the drafter's folder, where one is tried, at this new place on the host.",
    ),
]
MaxRestarts = Annotated[
    int | None,
    value(
        "--max-restarts",
        "N",
        "At most this many starts of the server, the one that puts it back included.  [default: 3]",
        lowest=0,
        highest=1000,
    ),
]
MaxMinutes = Annotated[
    float | None,
    value("--max-minutes", "N", "Begin nothing new after this long.  [default: 240]", lowest=0.0, highest=1e6),
]
Planner = Annotated[
    Literal["rules", "llm", "auto"] | None,
    value(
        "--planner",
        "rules|llm|auto",
        "Who proposes: rules alone; a language model too, before restarts and the end (llm), or only where the "
        "rules have no reason to prefer (auto).  [default: rules; auto with --model or a profile named default]",
    ),
]
Model = Annotated[
    str | None,
    value(
        "--model",
        "NAME",
        "Language model to ask: a profile of specdoctor.toml, or a model's name at OPENAI_BASE_URL with "
        "OPENAI_API_KEY.",
    ),
]
MaxTokens = Annotated[
    int | None,
    value(
        "--max-tokens",
        "N",
        "Ask the language model no more after so many tokens, prompts and answers.  [default: 40000]",
        lowest=0,
        highest=10**9,
    ),
]
MaxCost = Annotated[
    float | None,
    value(
        "--max-cost",
        "AMOUNT",
        "Ask no more after so much money; the profile names the prices (price_in, price_out).",
        lowest=0.0,
        highest=1e6,
    ),
]
Grace = Annotated[
    float | None,
    value(
        "--grace",
        "SECONDS",
        "A guard on the host puts a changed server back when nothing was heard from here for this long.  "
        "[default: 120]",
        lowest=1.0,
        highest=86400.0,
    ),
]
Recall = Annotated[
    str | None,
    value(
        "--recall",
        "FIGURES",
        'Figures from memory, each with its role: "baseline=89 spec=94 cycle_ms=20 verify_ms=19 accept_length=2". '
        "Older logs on the host are searched for them.",
    ),
]
RecalledAt = Annotated[str | None, value("--recalled-at", "WHEN", 'When they were seen, such as "before 25 Feb".')]
Concurrency = Annotated[
    int | None,
    value(
        "--concurrency",
        "N",
        "Clients at once in a benchmark: as many as complain.  [default: 1]",
        lowest=1,
        highest=4096,
    ),
]
LaunchSpread = Annotated[
    float | None,
    value(
        "--launch-spread",
        "SHARE",
        "Relative spread between two launches of one setting on this host, such as 0.01 for 1 %; it enters every "
        "interval.  [default: 0.05, assumed]",
        lowest=0.0,
        highest=0.5,
    ),
]
MaxNewTokens = Annotated[
    int | None,
    value(
        "--max-new-tokens", "N", "Longest answer of a benchmark's request.  [default: 160]", lowest=16, highest=1 << 20
    ),
]
Requests = Annotated[
    int | None,
    value("--requests", "N", "Requests of one benchmark, warm-up apart.  [default: 12]", lowest=1, highest=100_000),
]
Prompts = Annotated[
    str | None,
    value(
        "--prompts",
        "SET|FILE",
        "Prompts to measure with: mixed, chat, code, maths, short, long, predictable, records, or a file (one "
        "a line, or JSON lines).  [default: mixed]",
    ),
]
PromptForm = Annotated[
    Form | None,
    value(
        "--form",
        "chat|generate",
        "Send prompts to the chat endpoint, or rendered to the engine's own.  [default: generate]",
    ),
]
WithTraffic = Annotated[
    bool, typer.Option("--with-traffic", help="Benchmark and restart even while others use the server.")
]
Plain = Annotated[
    bool,
    typer.Option("--plain", help="At a terminal: a list and plain questions only, no line to type commands in."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output; an error is one too.")]
