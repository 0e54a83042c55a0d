"""nvidia-smi of the practice host: queries, `-L`, `topo -m`, `nvlink -s`, `pmon`, `-q` and the table.

Memory is what living processes hold, so it falls when a server ends. Formats are those of the 580 driver.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from specdoctor.lab.lab_state import state_dir
from specdoctor.lab.shims.gpu_pages import full_page, nvlink_page, pmon_page, table_page, topology_page
from specdoctor.lab.shims.gpu_view import ComputeApp, Gpu, QueryField, gpu_fields, gpus_now

NOT_SUPPORTED = "[N/A]"
APP_COLUMNS: dict[str, tuple[str, str]] = {
    "timestamp": ("timestamp", ""),
    "gpu_name": ("gpu_name", ""),
    "gpu_uuid": ("gpu_uuid", ""),
    "gpu_bus_id": ("gpu_bus_id", ""),
    "gpu_serial": ("gpu_serial", ""),
    "pid": ("pid", ""),
    "process_name": ("process_name", ""),
    "name": ("process_name", ""),
    "used_gpu_memory": ("used_gpu_memory", "MiB"),
    "used_memory": ("used_gpu_memory", "MiB"),
}


class BadCall(Exception):
    """Arguments that the real program refuses, with its words and exit code."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code


def main(argv: Sequence[str]) -> int:
    """Answer one call; returns the exit code."""
    try:
        state = state_dir()
        sys.stdout.write(_answer(list(argv), state))
    except BadCall as refusal:
        sys.stdout.write(refusal.text)
        return refusal.exit_code
    return 0


def _answer(argv: list[str], state: Path) -> str:
    gpus, apps = gpus_now(state)
    if not gpus:
        raise BadCall("No devices were found\n", 6)
    if not argv:
        return table_page(gpus, apps)
    if argv[0] in ("topo", "nvlink", "pmon"):
        return _subcommand(argv, gpus, apps)
    options = _options(argv)
    gpus = _selected(gpus, options)
    apps = [app for app in apps if any(app.gpu == gpu.index for gpu in gpus)]
    if "-L" in options or "--list-gpus" in options:
        return "".join(f"GPU {gpu.index}: {gpu.facts['name']} (UUID: {gpu.uuid})\n" for gpu in gpus)
    if "--query-gpu" in options:
        return _query_gpu(options["--query-gpu"], _format(options), gpus)
    if "--query-compute-apps" in options:
        return _query_apps(options["--query-compute-apps"], _format(options), gpus, apps)
    if "-q" in options or "--query" in options:
        return full_page(gpus, apps)
    return table_page(gpus, apps)


def _options(argv: list[str]) -> dict[str, str]:
    """Options with their values; `--name=value` and `--name value` are the same."""
    with_value = {"--query-gpu", "--query-compute-apps", "--format", "-i", "--id", "-d", "--display"}
    bare = {"-L", "--list-gpus", "-q", "--query"}
    found: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name in with_value:
            found[name] = value if equals else next(words, "")
        elif word in bare:
            found[word] = ""
        else:
            raise BadCall("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n", 1)
    return found


def _selected(gpus: list[Gpu], options: dict[str, str]) -> list[Gpu]:
    wanted = options.get("-i", options.get("--id"))
    if wanted is None:
        return gpus
    chosen = []
    for name in wanted.split(","):
        match = [gpu for gpu in gpus if name in (str(gpu.index), gpu.uuid, gpu.bus_id)]
        if not match:
            raise BadCall("No devices were found\n", 6)
        chosen += match
    return chosen


def _format(options: dict[str, str]) -> tuple[bool, bool]:
    """(with header, with units)."""
    words = options.get("--format", "").split(",")
    if "csv" not in words:
        raise BadCall("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n\n", 1)
    return "noheader" not in words, "nounits" not in words


def _csv(
    names: str, known: Callable[[str], tuple[str, str] | None], rows: list[list[str]], style: tuple[bool, bool]
) -> str:
    with_header, with_units = style
    columns = [_column(name, known) for name in names.split(",")]
    lines = []
    if with_header:
        lines.append(", ".join(f"{header} [{unit}]" if unit else header for header, unit in columns))
    for row in rows:
        cells = [
            f"{value} {unit}" if unit and with_units and value != NOT_SUPPORTED else value
            for value, (_, unit) in zip(row, columns, strict=True)
        ]
        lines.append(", ".join(cells))
    return "".join(line + "\n" for line in lines)


def _column(name: str, known: Callable[[str], tuple[str, str] | None]) -> tuple[str, str]:
    column = known(name.strip())
    if column is None:
        raise BadCall(f'Field "{name.strip()}" is not a valid field to query.\n\n', 2)
    return column


def _timestamp() -> str:
    now = time.time()
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"


def _query_gpu(names: str, style: tuple[bool, bool], gpus: list[Gpu]) -> str:
    fields = gpu_fields()
    fields["timestamp"] = QueryField("timestamp", "", lambda gpu: _timestamp())

    def known(name: str) -> tuple[str, str] | None:
        return (fields[name].header, fields[name].unit) if name in fields else None

    for name in names.split(","):
        _column(name, known)
    rows = [[fields[name.strip()].value(gpu) for name in names.split(",")] for gpu in gpus]
    return _csv(names, known, rows, style)


def _query_apps(names: str, style: tuple[bool, bool], gpus: list[Gpu], apps: list[ComputeApp]) -> str:
    by_index = {gpu.index: gpu for gpu in gpus}
    fields = gpu_fields()

    def value(name: str, app: ComputeApp) -> str:
        gpu = by_index[app.gpu]
        own = {"timestamp": _timestamp(), "pid": str(app.pid), "process_name": app.name, "name": app.name}
        own |= {"used_gpu_memory": str(app.memory_mib), "used_memory": str(app.memory_mib)}
        own["gpu_serial"] = fields["serial"].value(gpu)
        return own[name] if name in own else fields[name].value(gpu)

    for name in names.split(","):
        _column(name, APP_COLUMNS.get)
    rows = [[value(name.strip(), app) for name in names.split(",")] for app in apps]
    return _csv(names, APP_COLUMNS.get, rows, style)


def _subcommand(argv: list[str], gpus: list[Gpu], apps: list[ComputeApp]) -> str:
    if argv[0] == "topo" and argv[1:] in (["-m"], ["--matrix"]):
        return topology_page(gpus)
    if argv[0] == "nvlink" and argv[1:] in (["-s"], ["--status"]):
        return nvlink_page(gpus)
    if argv[0] == "pmon":
        return pmon_page(gpus, apps)
    raise BadCall("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n", 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
