"""Options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from specdoctor.cli import completing
from specdoctor.core.reach import SshTransport

Tier = Literal["read", "load", "restart"]
Form = Literal["chat", "generate"]

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
TargetsFile = Annotated[
    Path | None,
    typer.Option(
        "--targets",
        metavar="FILE",
        help="File of named targets; else ./specdoctor.toml, else the one in the user's configuration folder.",
        show_default=False,
    ),
]
SshConfig = Annotated[
    Path | None,
    typer.Option(
        "--ssh-config", metavar="FILE", help="Use this SSH configuration, as ssh -F does.", show_default=False
    ),
]
Ssh = Annotated[
    SshTransport | None,
    typer.Option(
        "--ssh",
        metavar="auto|openssh|paramiko",
        help="Who speaks SSH: the system's ssh client (openssh), specdoctor itself (paramiko), or the client where the "
        "configuration needs it: ProxyCommand, certificates, hardware keys, GSSAPI.  [default: auto]",
        show_default=False,
    ),
]
Via = Annotated[
    str | None,
    typer.Option(
        "--via",
        metavar="CONTAINER",
        help="Look from inside a container of the host: docker:NAME, podman:NAME, kubectl:NAMESPACE/POD[/CONTAINER].",
        show_default=False,
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
    typer.Option(
        "--interpreter",
        metavar="PATH",
        help="Python on the host to run the probe with; else the server's own, else python3.",
        show_default=False,
    ),
]
ServerPort = Annotated[
    int | None,
    typer.Option(
        "--server-port",
        metavar="PORT",
        help="Which server, where a host runs several.",
        min=1,
        max=65535,
        show_default=False,
    ),
]
Logs = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="PATH",
        help="Also read this server log on the host; may be given several times.",
        show_default=False,
    ),
]
Symptom = Annotated[
    str | None,
    typer.Option(
        "--symptom",
        metavar="TEXT",
        help="What is wrong, in your words, with the figures you know; they are tested, not believed.",
        show_default=False,
    ),
]
Allow = Annotated[
    Tier | None,
    typer.Option(
        "--allow",
        metavar="read|load|restart",
        help="Highest tier to do without asking: only read (the default), also benchmark, also restart the server.",
        show_default=False,
    ),
]
KeepCorrected = Annotated[
    str | None,
    typer.Option(
        "--keep-corrected",
        metavar="DIR",
        help="Leave the corrected copy of the drafter's folder, where one is tried, at this new place on the host.",
        show_default=False,
    ),
]
MaxRestarts = Annotated[
    int | None,
    typer.Option(
        "--max-restarts",
        metavar="N",
        help="At most this many starts of the server, the one that puts it back included.  [default: 3]",
        min=0,
        show_default=False,
    ),
]
MaxMinutes = Annotated[
    float | None,
    typer.Option(
        "--max-minutes",
        metavar="N",
        help="Begin nothing new after this long.  [default: 240]",
        min=0.0,
        show_default=False,
    ),
]
Planner = Annotated[
    Literal["rules", "llm", "auto"] | None,
    typer.Option(
        "--planner",
        metavar="rules|llm|auto",
        help="Who proposes: rules alone; a language model too, before restarts and the end (llm), or only where the "
        "rules have no reason to prefer (auto).  [default: rules; auto with --model or a profile named default]",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Language model to ask: a profile of specdoctor.toml, or a model's name at OPENAI_BASE_URL with "
        "OPENAI_API_KEY.",
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        help="Ask the language model no more after so many tokens, prompts and answers.  [default: 40000]",
        min=0,
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="AMOUNT",
        help="Ask no more after so much money; the profile names the prices (price_in, price_out).",
        min=0.0,
        show_default=False,
    ),
]
Grace = Annotated[
    float | None,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        help="A guard on the host puts a changed server back when nothing was heard from here for this long.  "
        "[default: 120]",
        min=1.0,
        show_default=False,
    ),
]
Recall = Annotated[
    str | None,
    typer.Option(
        "--recall",
        metavar="FIGURES",
        help='Figures from memory, each with its role: "baseline=89 spec=94 cycle_ms=20 verify_ms=19 accept_length=2". '
        "Older logs on the host are searched for them.",
        show_default=False,
    ),
]
RecalledAt = Annotated[
    str | None,
    typer.Option(
        "--recalled-at",
        metavar="WHEN",
        help='When they were seen, such as "before 25 Feb".',
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        help="Clients at once in a benchmark: as many as complain.  [default: 1]",
        min=1,
        show_default=False,
    ),
]
LaunchSpread = Annotated[
    float | None,
    typer.Option(
        "--launch-spread",
        metavar="SHARE",
        help="Relative spread between two launches of one setting on this host, such as 0.01 for 1 %; it enters every "
        "interval.  [default: 0.05, assumed]",
        min=0.0,
        max=0.5,
        show_default=False,
    ),
]
MaxNewTokens = Annotated[
    int | None,
    typer.Option(
        "--max-new-tokens",
        metavar="N",
        help="Longest answer of a benchmark's request.  [default: 160]",
        min=16,
        show_default=False,
    ),
]
Requests = Annotated[
    int | None,
    typer.Option(
        "--requests",
        metavar="N",
        help="Requests of one benchmark, warm-up apart.  [default: 12]",
        min=1,
        show_default=False,
    ),
]
Prompts = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="SET|FILE",
        help="Prompts to measure with: mixed, chat, code, maths, short, long, predictable, records, or a file (one "
        "a line, or JSON lines).  [default: mixed]",
        show_default=False,
    ),
]
PromptForm = Annotated[
    Form | None,
    typer.Option(
        "--form",
        metavar="chat|generate",
        help="Send prompts to the chat endpoint, or rendered to the engine's own.  [default: generate]",
        show_default=False,
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
