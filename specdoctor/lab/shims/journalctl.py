"""journalctl of the practice host: the journal of its units."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from specdoctor.lab.kept_output import Line, read_lines
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.shims.option_words import read_options
from specdoctor.lab.units import Manager

NAMED = {
    "-u": "unit",
    "--unit": "unit",
    "--user-unit": "user-unit",
    "-n": "lines",
    "--lines": "lines",
    "-o": "output",
    "--output": "output",
    "-S": "since",
    "--since": "since",
    "-U": "until",
    "--until": "until",
    "-p": "priority",
    "--priority": "priority",
}
SWITCHES = (
    "--no-pager",
    "-q",
    "--quiet",
    "-f",
    "--follow",
    "-e",
    "-b",
    "--user",
    "--system",
    "-r",
    "--no-hostname",
    "-a",
    "--all",
    "-x",
    "--utc",
)
LINES = 10


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is journalctl; returns its exit code."""
    given, switches, unknown = read_options(argv[1:], named=NAMED, switches=SWITCHES)
    if unknown is not None:
        kind = "unrecognized option" if unknown.startswith("--") else "invalid option --"
        sys.stderr.write(f"journalctl: {kind} '{unknown.lstrip('-') if kind.endswith('--') else unknown}'\n")
        return 1
    state = state_dir()
    scope = "user" if "--user" in switches or "user-unit" in given else "system"
    unit = given.get("unit", given.get("user-unit", ""))
    name = unit if "." in unit else f"{unit}.service"
    manager = Manager(state, scope, state / "home")
    lines = read_lines(state / "kept" / f"{manager.record_name(name)}.journal", since=_since(given.get("since")))
    if not lines:
        print("-- No entries --")
        return 0
    if "lines" in given and given["lines"] not in ("all", ""):
        lines = lines[-int(given["lines"].lstrip("+")) :] if given["lines"] != "0" else []
    host, form = read_world(state)["host"]["name"], given.get("output", "short")
    for line in lines if "-r" not in switches else reversed(lines):
        print(_shown(line, form, host=host, unit=name))
    return 0


def _since(text: str | None) -> float:
    if not text or text in ("today", "yesterday"):
        return 0.0
    if text.startswith("@"):
        return float(text[1:])
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return float(time.mktime(time.strptime(text.removesuffix(" UTC"), form)))
        except ValueError:
            continue
    number = "".join(letter for letter in text if letter.isdecimal())
    factor = 3600 if "hour" in text else 60 if "min" in text else 86400 if "day" in text else 1
    return time.time() - int(number or 0) * factor


def _shown(line: Line, form: str, *, host: str, unit: str) -> str:
    source = "systemd[1]" if line.stream == "systemd" else "python3[4121]"
    if form == "cat":
        return line.text
    if form == "json":
        stamp = str(round(line.at * 1e6))
        return json.dumps({"__REALTIME_TIMESTAMP": stamp, "_SYSTEMD_UNIT": unit, "MESSAGE": line.text})
    if form.startswith("short-iso"):
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S+00:00', time.gmtime(line.at))} {host} {source}: {line.text}"
    return f"{time.strftime('%b %d %H:%M:%S', time.gmtime(line.at))} {host} {source}: {line.text}"
