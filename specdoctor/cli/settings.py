"""From a target of the file and the options of the command line to the settings of a run; the options win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdoctor.cli.targets import Target, checked_engine
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import is_there, whole_path
from specdoctor.core.model import Risk
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.typed_secrets import redact_typed

_RECALL = 'write for example: --recall "baseline=89 spec=94" --recalled-at "before 25 Feb"'


def settings_of(target: Target, given: dict[str, Any]) -> RunSettings:
    """Settings of a new run. `given` holds the options by name, None where nothing was said. Raises UsageError."""
    wanted: dict[str, Any] = {
        "named": target.name or None,
        "symptom": _typed(given.get("symptom")),
        "recall": _checked_recall(given),
        "recalled_at": _typed(given.get("recalled_at")),
        "allow": _tier(given),
        "dry_run": given.get("dry_run"),
        "planner": "playbook" if given.get("playbook") else given.get("planner"),
        "playbook": given.get("playbook"),
        "playbook_values": given.get("playbook_values"),
        "endpoint": given.get("endpoint"),
        "advice": given.get("advice"),
        "max_restarts": given.get("max_restarts"),
        "max_minutes": given.get("max_minutes"),
        "grace_s": given.get("grace"),
        "concurrency": _first(given.get("concurrency"), target.concurrency),
        "concurrencies": given.get("concurrencies"),
        "launch_spread": given.get("launch_spread"),
        "turns": given.get("turns"),
        "requests": given.get("requests"),
        "max_new_tokens": given.get("max_new_tokens"),
        "prompt_file": checked_prompts(_first(given.get("prompts"), target.prompts)),
        "form": given.get("form"),
        "with_traffic": given.get("with_traffic"),
        "port": _first(given.get("server_port"), target.server_port),
        "interpreter": _first(given.get("interpreter"), target.interpreter),
        "bench_command": target.bench.command if target.bench else None,
        "bench_patterns": target.bench.patterns if target.bench else None,
        "lifecycle": target.lifecycle,
        "other_install": target.other_install,
        "extra_logs": (*target.logs, *(given.get("log") or ())) or None,
        "extra_files": target.config_files or None,
        "engine": checked_engine(target.engine),
        "ssh_config": _whole(_first(given.get("ssh_config"), target.ssh_config)),
        "ssh_transport": _first(given.get("ssh_transport"), target.ssh_transport),
        "via": _first(given.get("via"), target.via),
        "sudo": _first(given.get("sudo"), target.sudo),
        "facts_file": _whole(given.get("facts")),
        "keep_corrected": _place_on_host(given.get("keep_corrected")),
    }
    return RunSettings(**{name: value for name, value in wanted.items() if value is not None})


def _place_on_host(path: str | None) -> str | None:
    """A whole path on the host, without a slash at its end. Raises UsageError."""
    if path is not None and not path.startswith("/"):
        raise UsageError(f"--keep-corrected {path}: no whole path on the host", next_step="begin it with /")
    return path.rstrip("/") if path is not None else None


def _checked_recall(given: dict[str, Any]) -> str | None:
    """Figures from memory that can be read. Raises UsageError naming every fault."""
    text: str | None = given.get("recall")
    if text is None:
        if given.get("recalled_at"):
            raise UsageError("--recalled-at says when, and --recall with the figures is missing", next_step=_RECALL)
        return None
    from specdoctor.analysis.figure import FigureError
    from specdoctor.analysis.recall import read_recall

    try:
        read_recall(text, given.get("recalled_at") or "")
    except FigureError as failure:
        raise UsageError(f"--recall: {failure.message}", next_step=failure.next_step) from failure
    return text


def _tier(given: dict[str, Any]) -> Risk | None:
    """What is allowed beforehand; a dry run allows nothing but reading, whatever else was said."""
    if given.get("dry_run"):
        return Risk.READ
    return Risk[given["allow"].upper()] if given.get("allow") else None


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _typed(text: str | None) -> str | None:
    """What a person typed, before anything keeps it or passes it on."""
    return redact_typed(text) if text is not None else None


def _whole(path: Any) -> str | None:
    """An absolute path, so that a run can be resumed from another folder; a shell's `<(command)` keeps its name.

    Raises UsageError for what leads to no file.
    """
    if path is None:
        return None
    return str(whole_path(path))


def checked_prompts(wanted: str | None) -> str | None:
    """A built-in prompt set's name, or the absolute path of a file that can be read. Raises UsageError."""
    if wanted is None:
        return None
    from specdoctor.app.prompts import built_in, from_file

    if is_there(wanted):
        from_file(Path(wanted))
        return str(whole_path(wanted))
    built_in(wanted)
    return wanted
