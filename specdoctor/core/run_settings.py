"""What a run was asked for and allowed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from specdoctor.core.endpoint import Endpoint
from specdoctor.core.install import OtherInstall
from specdoctor.core.model import Frozen, Risk
from specdoctor.core.reach import SshTransport
from specdoctor.core.server import LifecycleCommands
from specdoctor.core.turns import Turns


class RunSettings(Frozen):
    """What the user asked for and allowed; part of the first event, so that a resumed run keeps it.

    `allow` is the highest tier permitted without asking. Budgets: `max_restarts` counts every start, the restoring
    one included; `max_minutes` is wall time. `grace_s` is how long the guard on the host waits for a word from us
    before it puts a changed server back. `ssh_config`, `ssh_transport`, `via` (a container), `sudo` and `facts_file`
    say how the target was reached, `engine` is the only one to look for (None: any), `endpoint` the language model that
    may be asked (`advice`: when, where a playbook proposes). `concurrencies` are the numbers of clients that a search
    for the best setting measures with (empty: `concurrency`), `launch_spread` the relative spread between two launches
    of one setting as it is known here (None: assumed), `keep_corrected` a folder on the host where a corrected copy of
    the drafter's stays (None: none stays). `playbook_values` are its parameters that were set.
    `named` is the target's name in the targets file, "" where its address was given.
    """

    named: str = ""
    symptom: str = ""
    recall: str = ""
    recalled_at: str = ""
    allow: Risk = Risk.READ
    planner: Literal["rules", "llm", "auto", "playbook", "tune", "turns"] = "rules"
    endpoint: Endpoint | None = None
    advice: Literal["llm", "auto"] | None = None
    playbook: str | None = None
    playbook_values: dict[str, str] = Field(default_factory=dict)
    max_restarts: int = 3
    max_minutes: FiniteFloat = 240.0
    grace_s: FiniteFloat = 120.0
    concurrency: int = 1
    concurrencies: tuple[int, ...] = ()
    launch_spread: FiniteFloat | None = None
    turns: Turns | None = None
    requests: int = 12
    warmup: int = 2
    max_new_tokens: int = 160
    prompt_file: str | None = None
    form: Literal["chat", "generate"] = "generate"
    with_traffic: bool = False
    watch_s: FiniteFloat = 5.0
    port: int | None = None
    ready_timeout_s: FiniteFloat | None = None
    interpreter: str | None = None
    bench_command: tuple[str, ...] = ()
    bench_patterns: dict[str, str] = Field(default_factory=dict)
    lifecycle: LifecycleCommands | None = None
    other_install: OtherInstall | None = None
    extra_logs: tuple[str, ...] = ()
    extra_files: tuple[str, ...] = ()
    dry_run: bool = False
    engine: str | None = None
    ssh_config: str | None = None
    ssh_transport: SshTransport = "auto"
    via: str | None = None
    sudo: bool = False
    facts_file: str | None = None
    keep_corrected: str | None = None
