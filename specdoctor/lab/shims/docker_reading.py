"""What docker and podman of the practice host tell: ps, inspect, images, logs, version, info. Nothing is changed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from specdoctor.lab.containers import (
    containers,
    find_container,
    find_image,
    images,
    live_containers,
    shown_environment,
    status_of,
)
from specdoctor.lab.keeper import Record, read_record
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.shims.docker_call import POLL_S, VERSION, Call
from specdoctor.lab.shims.docker_create import DaemonRefused
from specdoctor.lab.shims.docker_views import describe, podman_row, row, stamp
from specdoctor.lab.shims.go_template import fill

TABLE = ("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES")


def _ps(call: Call) -> int:
    given = call.given
    everything = given.has("all") or given.has("latest") or "last" in given.values
    known = containers(call.state, call.tool) if everything else list(live_containers(call.state, call.tool))
    rows = [record for record in known if _passes(record, given.all("filter"))]
    full = given.has("no-trunc")
    form = given.values.get("format")
    if given.has("quiet"):
        shown = [record["name"] if full else record["name"][:12] for record in rows]
    elif form == "json" and call.tool == "podman":
        shown = [json.dumps([podman_row(record) for record in rows], indent=2)]
    elif form in ("json", "{{json .}}"):
        shown = [json.dumps(row(record, full=full), separators=(",", ":"), ensure_ascii=False) for record in rows]
    elif form is not None:
        table = form.startswith("table ")
        shown = [fill(form.removeprefix("table "), row(record, full=full)) for record in rows]
        if table:
            heads = {key: key.upper() for key in row(rows[0])} if rows else {}
            shown.insert(0, fill(form.removeprefix("table "), {**heads, "ID": "CONTAINER ID"}) if heads else "")
    else:
        shown = _table(rows, full=full)
    if shown:
        print("\n".join(shown))
    return 0


def _table(rows: list[Record], *, full: bool) -> list[str]:
    cells: list[tuple[str, ...]] = [TABLE]
    for record in rows:
        one = row(record, full=full)
        keys = ("ID", "Image", "Command", "RunningFor", "Status", "Ports", "Names")
        cells.append(tuple(str(one[key]) for key in keys))
    widths = [max(len(line[column]) for line in cells) for column in range(len(TABLE))]
    return ["   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _passes(record: Record, filters: tuple[str, ...]) -> bool:
    labels = record["config"].get("Labels") or {}
    for each in filters:
        key, _, value = each.partition("=")
        name, equals, wanted = value.partition("=")
        matches = {
            "name": value.strip("^$/") in record["container_name"],
            "id": record["name"].startswith(value),
            "status": status_of(record) == value,
            "ancestor": value in (record["image"], record["image_id"]),
            "label": name in labels and (not equals or labels[name] == wanted),
        }
        if not matches.get(key, True):
            return False
    return True


def _inspect(call: Call) -> int:
    found, missing = [], []
    for word in call.given.arguments:
        record = find_container(call.state, call.tool, word)
        image = (
            find_image(call.state, word) if record is None and call.given.values.get("type") != "container" else None
        )
        if record is not None:
            found.append(describe(record, tool=call.tool))
        elif image is not None:
            found.append(_described_image(*image))
        else:
            missing.append(word)
    _print_documents(found, call.given.values.get("format"))
    for word in missing:
        sys.stderr.write(f"Error: No such object: {word}\n")
    return 1 if missing else 0


def _print_documents(found: list[dict[str, Any]], form: str | None) -> None:
    if form in (None, "json"):
        print(json.dumps(found, indent=4))
        return
    for document in found:
        print(fill(str(form), document))


def _described_image(name: str, image: Mapping[str, Any]) -> dict[str, Any]:
    digest = f"{name.rsplit(':', 1)[0]}@sha256:{image['id'][::-1][:64]}"
    return {
        "Id": image["id"],
        "RepoTags": [name],
        "RepoDigests": [digest],
        "Created": "2026-01-12T09:14:07.000000000Z",
        "Config": {
            "Env": shown_environment(image["env"]),
            "Cmd": image.get("cmd") or None,
            "Entrypoint": image["entrypoint"] or None,
            "WorkingDir": image.get("workdir", ""),
            "Labels": image.get("labels") or None,
        },
        "Architecture": "amd64",
        "Os": "linux",
        "Size": 33_112_874_551,
    }


def _inspect_image(call: Call) -> int:
    found = [(word, find_image(call.state, word)) for word in call.given.arguments]
    _print_documents([_described_image(*each) for _, each in found if each], call.given.values.get("format"))
    missing = [word for word, each in found if each is None]
    for word in missing:
        sys.stderr.write(f"Error response from daemon: No such image: {word if ':' in word else word + ':latest'}\n")
    return 1 if missing else 0


def _images(call: Call) -> int:
    rows = []
    for name, image in images(call.state).items():
        repository, _, tag = name.rpartition(":")
        rows.append((repository or name, tag or "latest", image["id"][7:19], "6 weeks ago", "33.1GB"))
    if call.given.has("quiet"):
        print("\n".join(cells[2] for cells in rows))
        return 0
    lines = [("REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE"), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    for line in lines:
        print("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _logs(call: Call) -> int:
    given = call.given
    record = call.find(given.arguments[0])
    path = call.state / "kept" / f"{record['name']}-json.log"
    text = given.values.get("tail", "all")
    if text != "all" and not text.lstrip("-").isdecimal():
        raise DaemonRefused(f"tail should be a number: {text}")
    tail = None if text == "all" or int(text) < 0 else int(text)
    lines = read_lines(path, tail=tail, since=_since(given.values.get("since")))
    _print_lines(lines, stamps=given.has("timestamps"))
    shown = len(read_lines(path))
    while given.has("follow") and status_of(read_record(call.state, record["name"])) != "exited":
        fresh = read_lines(path)
        _print_lines(fresh[shown:], stamps=given.has("timestamps"))
        shown = len(fresh)
        time.sleep(POLL_S)
    return 0


def _since(text: str | None) -> float:
    """`10m`, `1h30m`, a stamp or seconds since the epoch."""
    if text is None:
        return 0.0
    if text[-1:] in "smh" and text[:1].isdecimal():
        seconds, number = 0.0, ""
        for letter in text:
            if letter in "smh":
                seconds += float(number) * {"s": 1, "m": 60, "h": 3600}[letter]
                number = ""
            else:
                number += letter
        return time.time() - seconds
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError as error:
        raise DaemonRefused(
            f'invalid value for "since": failed to parse value as time or duration: "{text}"'
        ) from error


def _print_lines(lines: Sequence[Any], *, stamps: bool) -> None:
    for line in lines:
        text = f"{stamp(line.at)} {line.text}" if stamps else line.text
        (sys.stderr if line.stream == "stderr" else sys.stdout).write(text + "\n")
    sys.stdout.flush()
    sys.stderr.flush()


def _version(call: Call) -> int:
    facts = {"Version": VERSION, "ApiVersion": "1.50", "Os": "linux", "Arch": "amd64"}
    document = {"Client": facts, "Server": facts}
    form = call.given.values.get("format")
    if form is not None:
        print(json.dumps(document) if form == "json" else fill(form, document))
        return 0
    for side in ("Client: Docker Engine - Community", "Server: Docker Engine - Community"):
        print(f"{side}\n Version:           {VERSION}\n API version:       1.50\n OS/Arch:           linux/amd64\n")
    return 0


def _info(call: Call) -> int:
    known = containers(call.state, call.tool)
    running = sum(status_of(record) == "running" for record in known)
    document = {"Containers": len(known), "ContainersRunning": running, "ServerVersion": VERSION, "Driver": "overlay2"}
    form = call.given.values.get("format")
    if form is not None:
        print(json.dumps(document) if form == "json" else fill(form, document))
        return 0
    print(f"Server:\n Containers: {len(known)}\n  Running: {running}\n Server Version: {VERSION}")
    return 0


READING: dict[str, Callable[[Call], int]] = {
    "ps": _ps,
    "inspect": _inspect,
    "image inspect": _inspect_image,
    "images": _images,
    "logs": _logs,
    "version": _version,
    "info": _info,
}
