"""Changes of a llama.cpp launch line: speculation on, off or other lengths, other flags, and the line to paste."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.flag_changes import flags_changed, switches_among
from specdoctor.engines.llamacpp_args import Asked, program_of, read_flags, read_launch
from specdoctor.engines.llamacpp_effect import DRAFT, N_MAX, TYPE, Build, era_of, given_draft, predict, types_asked
from specdoctor.engines.llamacpp_flags import find_flag, flag_for, is_speculative, variable_key
from specdoctor.engines.shell_line import shell_line

_LENGTH_KEYS = {
    "ngram-simple": "spec_ngram_simple_size_m",
    "ngram-map-k": "spec_ngram_map_k_size_m",
    "ngram-map-k4v": "spec_ngram_map_k4v_size_m",
    "ngram-mod": "spec_ngram_mod_n_max",
}
_OLD_SPELLING = {N_MAX: "--draft-max"}


def _typed(view: ServerView) -> Asked:
    """The flags on the command line itself, without the environment."""
    return read_launch(view.argv)


def _asked(view: ServerView) -> Asked:
    """All that was asked for: the command line and the environment."""
    found = read_launch(view.argv, env=view.env)
    return found if found.values else Asked(values=dict(view.asked))


def _build(view: ServerView) -> Build:
    return Build(view.version, view.version_range)


def _variables(view: ServerView, keys: Iterable[str] | None = None) -> tuple[str, ...]:
    """Environment variables that set any of these arguments; of all speculative ones without `keys`."""
    wanted = set(keys) if keys is not None else None
    found = {name: variable_key(name) for name in view.env}
    return tuple(
        sorted(
            name
            for name, key in found.items()
            if key is not None and (is_speculative(key) if wanted is None else key in wanted)
        )
    )


def _spelling(view: ServerView, typed: Asked, key: str) -> str:
    """How to write a flag on this line: as it is written there, else as this build knows it."""
    if key in typed.words:
        return typed.words[key][0]
    era = era_of(_asked(view), _build(view))
    return _OLD_SPELLING[key] if era == "old" and key in _OLD_SPELLING else flag_for(key).spellings[0]


def change_spec(view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
    """The change that makes `setting` effective; `setting.on` False removes speculation, the draft model with it.

    `algorithm` is a value of --spec-type. Raises EngineError where a draft model is needed and nothing names one, and
    for trees: this engine drafts chains.
    """
    typed, asked = _typed(view), _asked(view)
    if not setting.on:
        return _without_speculation(view, typed, label)
    if setting.topk > 1:
        raise EngineError(
            "llama.cpp drafts chains only",
            tried=f"a setting with topk {setting.topk}",
            next_step="choose topk 1",
        )
    kind = str(setting.algorithm).split(",")[0]
    values: dict[str, str] = {_LENGTH_KEYS.get(kind, N_MAX): str(setting.draft_steps)}
    if era_of(asked, _build(view)) != "old" and types_asked(asked.values) != tuple(str(setting.algorithm).split(",")):
        values[TYPE] = str(setting.algorithm)
    if kind.startswith("draft-") and kind != "draft-mtp" and given_draft(asked.values) is None:
        if view.draft_path is None:
            raise EngineError(
                f"{kind} needs a draft model, and nothing names one",
                tried="the launch line and the log",
                next_step="name the draft model with --spec-draft-model",
            )
        values[DRAFT] = view.draft_path
    set_flags: dict[str, tuple[str, ...]] = {_spelling(view, typed, key): (value,) for key, value in values.items()}
    same = TYPE not in values and DRAFT not in values
    return LaunchChange(label=label, set_flags=set_flags, remove_env=_variables(view, values), lengths_only=same)


def _without_speculation(view: ServerView, typed: Asked, label: str) -> LaunchChange:
    removed = {words[0] for key, words in typed.words.items() if is_speculative(key)}
    if not view.argv:
        removed = {spelling for key in view.asked if is_speculative(key) for spelling in flag_for(key).spellings}
    return LaunchChange(
        label=label,
        remove_flags=tuple(sorted(removed)),
        remove_env=_variables(view),
        switches=switches_among(removed, find_flag),
        lengths_only=True,
    )


def change_flags(
    *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
) -> LaunchChange:
    """A change of flags; other spellings of a flag that is set or removed go too, so that none of them stays behind."""
    return flags_changed(find_flag, label=label, set_flags=set_flags, remove_flags=remove_flags)


def effective_spec(view: ServerView, change: LaunchChange) -> SpecSetting | None:
    """What `change` will make effective by the rules of the server's build; None where they do not tell."""
    if view.argv:
        env = {name: value for name, value in view.env.items() if name not in change.remove_env}
        asked = read_launch(apply_change(view.argv, change), env={**env, **change.set_env})
    else:
        gone = {flag.key for word in change.remove_flags if (flag := find_flag(word)) is not None}
        words = [part for flag, values in change.set_flags.items() for part in (flag, *values)]
        kept = {key: value for key, value in view.asked.items() if key not in gone}
        asked = Asked(values={**kept, **read_flags(words).values})
    return predict(asked, _build(view), config=view.draft_config)


def _usual_argv(view: ServerView) -> tuple[str, ...]:
    """A command line for what was asked for, where none was seen."""
    words = ["llama-server"]
    for key, value in view.asked.items():
        flag = flag_for(key)
        words += [flag.spellings[0]] if flag.kind == "switch" else [flag.spellings[0], value]
    return tuple(words)


def paste_line(view: ServerView, change: LaunchChange) -> str:
    """The launch line for `change`, to be pasted into a shell: quoted, secrets as `$NAME`."""
    argv = redact_argv(apply_change(view.argv or _usual_argv(view), change))
    known = program_of(argv)
    return shell_line(argv, change, flags_from=known[1] if known is not None else 1, prefix="LLAMA")
