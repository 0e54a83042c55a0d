"""What lies beside a server's files, put where checks look for it on a host: tensors, GPUs, training records."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

from specdoctor.core.facts import CommandFacts, Facts, FileFacts
from specdoctor.core.material import GpuSheet, Material, TensorList
from specdoctor.core.server import ServerView

TENSORS = "tensors.txt"


def facts_beside(view: ServerView, material: Material, texts: Mapping[str, str]) -> tuple[Facts, dict[str, str]]:
    """Facts as a look at the host would have given them, and the given file behind each name that checks may cite."""
    files: dict[str, FileFacts] = {}
    aliases: dict[str, str] = {}

    def lay(path: str, where: str, text: str) -> None:
        files[path] = FileFacts(path=path, text=text, size=len(text))
        aliases[path] = where

    if view.draft_path is not None:
        own = _own_tensors(material)
        if own is not None:
            lay(f"{view.draft_path}/{TENSORS}", own.where, _listing(own))
        for seen in material.files:
            if seen.kind == "training record" and seen.where in texts:
                lay(f"{view.draft_path}/{seen.where.rpartition('/')[2]}", seen.where, texts[seen.where])
    for folder, role, config in (
        (view.model_path, "target", view.target_config),
        (view.draft_path, "draft", view.draft_config),
    ):
        given = next(
            (c for c in material.configs if c.role == role or (config is not None and c.content == config)), None
        )
        if folder is not None and given is not None:
            lay(f"{folder}/config.json", given.where, texts.get(given.where, json.dumps(given.content)))
    commands = _gpu_commands(material)
    aliases |= {
        " ".join(command.argv[:1] if name == "gpus" else command.argv): where
        for name, (where, command) in commands.items()
    }
    return Facts(files=files, commands={name: command for name, (_, command) in commands.items()}), aliases


def _own_tensors(material: Material) -> TensorList | None:
    """The list of the drafter's tensors: beside its config in a folder of that name, else the plainest name."""
    lists = [found for found in material.tensors if len(found.tensors) > 0]
    heads = [found for found in lists if not found.where.startswith("target/") and "target" not in found.where.lower()]
    return min(heads, key=lambda found: (len(found.where.rpartition("/")[2]), found.where), default=None)


def _listing(found: TensorList) -> str:
    return "".join(f"{t.name} {t.dtype or '?'} {json.dumps(list(t.shape))}\n" for t in found.tensors)


def _gpu_commands(material: Material) -> dict[str, tuple[str, CommandFacts]]:
    """The vendor's tables as its tool would have printed them."""
    commands: dict[str, tuple[str, CommandFacts]] = {}
    for sheet in material.gpus:
        text = material.texts.get(sheet.where, "")
        if sheet.links:
            shown = CommandFacts(argv=("nvidia-smi", "topo", "-m"), exit_code=0, stdout=text)
            commands.setdefault("gpu_topology", (sheet.where, shown))
        elif sheet.rows:
            commands.setdefault("gpus", (sheet.where, _query(sheet)))
    return commands


def _query(sheet: GpuSheet) -> CommandFacts:
    names = list(dict.fromkeys(name for row in sheet.rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name, "") for name in names] for row in sheet.rows)
    argv = ("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv")
    return CommandFacts(argv=argv, exit_code=0, stdout=out.getvalue())
