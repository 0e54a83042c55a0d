"""One command line of systemctl on one practice host."""

from __future__ import annotations

import sys
from typing import Any

from specdoctor.lab.keeper import read_record
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.units import Manager, UnitFault

VALUE_OPTIONS = (
    "--property",
    "-p",
    "--lines",
    "-n",
    "--output",
    "-o",
    "--type",
    "-t",
    "--state",
    "--signal",
    "-s",
    "--kill-whom",
    "--kill-who",
    "--job-mode",
)
SWITCHES = (
    "--user",
    "--system",
    "--no-pager",
    "--value",
    "--quiet",
    "-q",
    "--no-block",
    "--now",
    "--runtime",
    "--full",
    "-l",
    "--all",
    "-a",
    "--plain",
    "--no-legend",
    "--no-ask-password",
    "--force",
    "-f",
    "--wait",
)


class Call:
    """One command line."""

    def __init__(self, verb: str, names: list[str], switches: set[str], values: list[tuple[str, str]]) -> None:
        self.verb = verb
        self.names = [name if "." in name else f"{name}.service" for name in names]
        self.switches = switches
        self.values = values
        self.state = state_dir()
        self.world = read_world(self.state)
        scope = "user" if "--user" in switches else "system"
        self.manager = Manager(self.state, scope, self.state / "home")

    def properties(self) -> list[str]:
        given = [value for name, value in self.values if name in ("--property", "-p")]
        return [name for value in given for name in value.split(",") if name]

    def record(self, unit: str) -> dict[str, Any] | None:
        try:
            return read_record(self.state, self.manager.record_name(unit))
        except FileNotFoundError:
            return None


def read_call(words: list[str]) -> Call:
    verb, names, switches, values = "", [], set(), []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word in SWITCHES:
            switches.add(word)
        elif name in VALUE_OPTIONS and equals:
            values.append((name, value))
        elif word in VALUE_OPTIONS:
            if not words:
                raise UnitFault(f"systemctl: option requires an argument -- '{word.lstrip('-')}'")
            values.append((word, words.pop(0)))
        elif word[:2] in ("-p", "-n", "-o", "-t") and not word.startswith("--") and len(word) > 2:
            values.append((word[:2], word[2:]))
        elif word.startswith("--"):
            raise UnitFault(f"systemctl: unrecognized option '{word}'")
        elif word.startswith("-") and len(word) > 1:
            raise UnitFault(f"systemctl: invalid option -- '{word[1]}'")
        elif not verb:
            verb = word
        else:
            names.append(word)
    return Call(verb or "list-units", names, switches, values)


def warn_if_stale(call: Call, name: str) -> None:
    if call.manager.is_stale(name):
        user = " --user" if call.manager.scope == "user" else ""
        sys.stderr.write(
            f"Warning: The unit file, source configuration file or drop-ins of {name} changed on disk. "
            f"Run 'systemctl{user} daemon-reload' to reload units.\n"
        )
