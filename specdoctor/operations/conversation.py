"""Sending one program to the host and understanding what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import JsonValue

from specdoctor.core.errors import PolicyError, ServerGone, TargetError
from specdoctor.core.host import CommandResult, Host
from specdoctor.operations.interpreter import NO_PYTHON, picking, picking_as_root, running
from specdoctor.operations.privileged import under_sudo, why_no_sudo
from specdoctor.operations.programs import ProgramName, program_text

Document = dict[str, JsonValue]

REFUSALS_BY_RULE = frozenset({"not-restored", "busy", "no-way-back", "no-guard", "held", "which-run"})
GONE = frozenset({"not-the-server", "gone", "unknown-action"})


class Refused(Exception):
    """The program on the host would not do it: a value for the caller, who knows what a refusal means there."""

    def __init__(self, kind: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.next_step = next_step

    def as_error(self, tried: str) -> TargetError | PolicyError:
        """The refusal as an error of ours, for callers that have no outcome to put it in."""
        kind = PolicyError if self.kind in REFUSALS_BY_RULE else ServerGone if self.kind in GONE else TargetError
        return kind(self.message, tried=tried, next_step=self.next_step or "look at the host again")


class Conversation:
    """Programs run on one host, with the interpreter remembered once it is known.

    With `look_as_root` the probe, which only reads, runs under sudo.
    """

    def __init__(self, host: Host, *, interpreter: str | None, target: str, look_as_root: bool = False) -> None:
        self.host = host
        self.target = target
        self._configured = interpreter
        self._look_as_root = look_as_root
        self._known: str | None = None

    def remember(self, interpreter: str) -> None:
        """The Python that has just answered; later programs go straight to it, unless it was found as root."""
        self._known = self._known if self._look_as_root else interpreter or self._known

    def run(
        self,
        name: ProgramName,
        params: Document,
        *,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        fallback: str = "",
        arguments: tuple[str, ...] = (),
    ) -> CommandResult:
        """One remote command; its result whatever the exit code. Raises TargetError where root is refused to a look."""
        if name == "probe" and self._look_as_root:
            return self._run_as_root(name, params, timeout_s=timeout_s, fallback=fallback, arguments=arguments)
        argv = (
            running(self._known) if self._known else picking(self._configured, fallback=fallback, arguments=arguments)
        )
        text = program_text(name, params).encode("ascii")
        return self.host.run(argv, stdin=text, timeout_s=timeout_s, on_line=on_line)

    def _run_as_root(
        self, name: ProgramName, params: Document, *, timeout_s: float, fallback: str, arguments: tuple[str, ...]
    ) -> CommandResult:
        argv = under_sudo(picking_as_root(self._configured, fallback=fallback, arguments=arguments))
        result = self.host.run(argv, stdin=program_text(name, params).encode("ascii"), timeout_s=timeout_s)
        refused = why_no_sudo(result, target=self.target)
        if refused is not None:
            raise refused
        return result

    def ask(
        self,
        name: ProgramName,
        params: Document,
        *,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
    ) -> Document:
        """The JSON document that the program printed. Raises Refused, or TargetError when there is none."""
        return self.document(name, self.run(name, params, timeout_s=timeout_s, on_line=on_line))

    def document(self, name: str, result: CommandResult) -> Document:
        """The document in a program's output, past anything that a login script may have printed before it."""
        for line in reversed(result.stdout.splitlines()):
            if line.startswith(b"{"):
                document = self._parsed(name, line)
                error = document.get("error")
                if isinstance(error, dict) and "kind" in error:
                    raise Refused(str(error["kind"]), str(error.get("message")), str(error.get("next") or ""))
                return document
        raise self.no_answer(name, result)

    def _parsed(self, name: str, line: bytes) -> Document:
        try:
            document = json.loads(line)
        except ValueError as failure:
            raise TargetError(
                f"the answer of the {name} program on {self.target} is cut off after {len(line)} bytes",
                tried=f"run {name} with Python on {self.target}",
                next_step="ask for less (a smaller log limit), or look at the connection",
            ) from failure
        return document if isinstance(document, dict) else {}

    def no_answer(self, name: str, result: CommandResult) -> TargetError:
        if result.exit_code == NO_PYTHON:
            return TargetError(
                f"{self.target} has no Python 3.6 or later that can be found",
                tried="python3, python, and the programs of running processes",
                next_step="name one in the target's settings (interpreter = /path/to/python3)",
            )
        words = result.error_text.strip().splitlines()[-3:] or ["nothing on standard error"]
        return TargetError(
            f"the {name} program on {self.target} gave no answer (exit {result.exit_code}): " + " | ".join(words),
            tried=f"run {name} with Python on {self.target}",
            next_step="try the same over plain ssh: ssh HOST python3 -c 'print(1)'",
        )
