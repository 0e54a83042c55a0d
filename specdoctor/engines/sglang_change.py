"""Changes of a launch line: speculation on, off or other lengths, other flags, and the line to paste."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.argument_values import as_text
from specdoctor.engines.flag_changes import flags_changed, switches_among
from specdoctor.engines.sglang_args import Asked, flags_start, is_speculative, read_flags, read_launch
from specdoctor.engines.sglang_effect import normal_algorithm, predict
from specdoctor.engines.sglang_flags import find_flag, flag_for
from specdoctor.engines.sglang_rules import ALGORITHM, LIMIT, STEPS, TOKENS, TOPK
from specdoctor.engines.shell_line import shell_line
from specdoctor.engines.versions import range_of

_BLOCK = frozenset({"DFLASH", "DSPARK"})
_DRAFT_PATH = "speculative_draft_model_path"
_ADAPTIVE = ("speculative_adaptive", "speculative_adaptive_config")


def _typed(view: ServerView) -> Asked:
    """The flags on the command line itself, without those of a --config file."""
    return read_launch(view.argv)


def _typed_spellings(typed: Asked, keys: Iterable[str]) -> set[str]:
    """The words on the command line that set any of these arguments, abbreviations and aliases included."""
    return {typed.words[key][0] for key in keys if key in typed.words}


def _kept_limit(view: ServerView, typed: Asked) -> dict[str, tuple[str, ...]]:
    """--max-running-requests at its value in force, where only the engine chose it.

    Speculation alone sets its default (48), so a launch without it would also admit more requests.
    """
    if LIMIT in typed.values or LIMIT in view.asked:
        return {}
    value = as_text(view.effective.get(LIMIT))
    return {flag_for(LIMIT).spellings[0]: (value,)} if value and value.isdigit() else {}


def change_spec(view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
    """The change that makes `setting` effective; `setting.on` False removes speculation.

    Kept equal: the limit of running requests, by --max-running-requests with the value in force, wherever the launch
    line left it to the engine. Not kept equal, since no flag can or should: the overlap scheduler, which speculation
    may turn off, and the memory that the draft takes. Raises EngineError if speculation comes from a --config file
    that the command line cannot undo, or if nothing names a draft.
    """
    typed = _typed(view)
    if not setting.on:
        return _without_speculation(view, typed, label)
    algorithm = (setting.algorithm or "").upper()
    now = normal_algorithm(view.asked)
    same = now is not None and (algorithm == now or (view.spec is not None and algorithm == view.spec.algorithm))
    values: dict[str, str] = {}
    if not same:
        values[ALGORITHM] = algorithm
    if algorithm in _BLOCK or algorithm == "NGRAM":
        values[TOKENS] = str(setting.draft_tokens)
    else:
        values.update({STEPS: str(setting.draft_steps), TOPK: str(setting.topk), TOKENS: str(setting.draft_tokens)})
    if now is None and algorithm != "NGRAM" and _DRAFT_PATH not in view.asked:
        if view.draft_path is None:
            raise EngineError(
                f"{algorithm} needs a draft model, and nothing names one",
                tried="the launch line and the values in force",
                next_step="name the draft model with --speculative-draft-model-path",
            )
        values[_DRAFT_PATH] = view.draft_path
    set_flags: dict[str, tuple[str, ...]] = {flag_for(key).spellings[0]: (value,) for key, value in values.items()}
    removed = _typed_spellings(typed, [*values, *_ADAPTIVE]) - set(set_flags)
    if now is None:
        set_flags.update(_kept_limit(view, typed))
    return LaunchChange(
        label=label,
        set_flags=set_flags,
        remove_flags=tuple(sorted(removed)),
        switches=switches_among({*removed, *set_flags}, find_flag),
        lengths_only=same,
    )


def _without_speculation(view: ServerView, typed: Asked, label: str) -> LaunchChange:
    if normal_algorithm(view.asked) is not None and normal_algorithm(typed.values) is None and view.argv:
        raise EngineError(
            "speculation is set in the file given by --config, which the command line cannot undo",
            tried=f"removing flags from the command line of {view.served_model or 'the server'}",
            next_step="remove the speculative entries from that file, or start with a copy of it without them",
        )
    removed = {words[0] for key, words in typed.words.items() if is_speculative(key)}
    if not view.argv:
        removed = {spelling for key in view.asked if is_speculative(key) for spelling in flag_for(key).spellings}
    return LaunchChange(
        label=label,
        set_flags=_kept_limit(view, typed) if view.spec is None or view.spec.on else {},
        remove_flags=tuple(sorted(removed)),
        switches=switches_among(removed, find_flag),
        lengths_only=True,
    )


def change_flags(
    *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
) -> LaunchChange:
    """A change of flags; other spellings of a flag that is set or removed go too, so that none of them stays behind."""
    return flags_changed(find_flag, label=label, set_flags=set_flags, remove_flags=remove_flags)


def changed_asked(view: ServerView, change: LaunchChange) -> dict[str, str]:
    """What the changed launch line will ask for, a --config file included."""
    if view.argv:
        typed = _typed(view)
        changed = read_launch(apply_change(view.argv, change)).values
        from_file = {key: value for key, value in view.asked.items() if key not in typed.values}
        return {**from_file, **changed}
    gone = {flag.key for word in change.remove_flags if (flag := find_flag(word)) is not None}
    words = [part for flag, values in change.set_flags.items() for part in (flag, *values)]
    return {**{k: v for k, v in view.asked.items() if k not in gone}, **read_flags(words).values}


def effective_spec(view: ServerView, change: LaunchChange) -> SpecSetting | None:
    """What `change` will make effective by the rules of the server's version; None where they do not tell."""
    listed = (view.target_config or {}).get("architectures")
    architecture = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], str) else None
    if architecture is None and view.log is not None:
        architecture = next(iter(view.log.weight_classes), None)
    asked = changed_asked(view, change)
    versions = range_of(view.version, view.version_range)
    found = predict(asked, architecture=architecture, versions=versions)
    if found is not None and found.on and asked.get("speculative_adaptive") == "True":
        return None
    return found


def _usual_argv(view: ServerView) -> tuple[str, ...]:
    """A command line for what was asked for, where none was seen; flags of other programs are left out."""
    words = ["python3", "-m", "sglang.launch_server"]
    for key, value in view.asked.items():
        flag = flag_for(key)
        if find_flag(flag.spellings[0]) is None:
            continue
        words.append(flag.spellings[0])
        words += [] if flag.kind == "switch" else value.split() if flag.kind == "list" else [value]
    return tuple(words)


def paste_line(view: ServerView, change: LaunchChange) -> str:
    """The launch line for `change`, to be pasted into a shell: quoted, secrets as `$NAME`.

    Environment variables that the change sets stand before it, those it removes as `env -u NAME`. A view without a
    command line (a benchmark driver's, say) gets the usual one, made of what was asked for.
    """
    argv = redact_argv(apply_change(view.argv or _usual_argv(view), change))
    return shell_line(argv, change, flags_from=flags_start(list(argv)) or 0, prefix="SGLANG")
