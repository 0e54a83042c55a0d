"""Changes of a vLLM launch line: speculation on, off or longer, other flags, and the line to paste."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from specdoctor.core.errors import EngineError
from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import ServerView, SpecSetting
from specdoctor.engines.shell_line import shell_line
from specdoctor.engines.vllm_args import (
    METHOD,
    MODEL,
    NESTED,
    SPEC,
    SPEC_FLAG_KEYS,
    Asked,
    flags_start,
    is_speculative,
    read_flags,
    read_launch,
)
from specdoctor.engines.vllm_effect import predict, speculates
from specdoctor.engines.vllm_flags import find_flag, is_switch, normal_spelling, spellings_of

_FLAG = "--speculative-config"
_NEEDS_MODEL = frozenset({"eagle", "eagle3", "draft_model", "medusa", "mlp_speculator", "dflash", "dspark"})
_ASYNC = "async_scheduling"
_WITHOUT_ASYNC = frozenset({"ngram", "suffix", "medusa", "mlp_speculator", "custom_class"})


def _typed(view: ServerView) -> Asked:
    """The flags on the command line itself, without those of a --config file."""
    return read_launch(view.argv)


def _speculative_words(typed: Asked) -> set[str]:
    """The flags on the command line that set anything of speculation, as they were typed."""
    return {words[0] for key, words in typed.words.items() if is_speculative(key) and len(words) > 0}


def _switches(spellings: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in spellings if "." not in word and is_switch(word)))


def _value(text: str) -> JsonValue:
    """A value of the speculative configuration as JSON would hold it."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)
    return found


def _nested(asked: Mapping[str, str]) -> dict[str, JsonValue]:
    """The speculative configuration asked for, whichever flags it was spread over."""
    whole = asked.get(SPEC)
    found = _value(whole) if whole is not None else None
    out = dict(found) if isinstance(found, dict) else {}
    for key, value in asked.items():
        name = key.removeprefix(f"{SPEC}.")
        if name != key and name.replace("_", "-") not in out:
            out.setdefault(name, _value(value))
    return out


def change_spec(view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
    """The change that makes `setting` effective: one --speculative-config in place of all flags that set parts of it.

    Whatever else the configuration holds is kept. Kept equal where a flag allows it: asynchronous scheduling, which
    some methods turn off, so that a launch without speculation differs in nothing else. Raises EngineError if
    speculation comes from a --config file that the command line cannot undo, or if nothing names a draft.
    """
    typed = _typed(view)
    words = _speculative_words(typed)
    if not setting.on:
        return _without_speculation(view, typed, words, label)
    method = (setting.algorithm or "").lower()
    config = _nested(view.asked)
    now = predict(view.asked, draft=view.draft_config, target=view.target_config)
    same = now is not None and now.on and (now.algorithm or "").lower() == method
    if setting.draft_steps < 1:
        raise EngineError(
            f"{method} needs at least one draft token",
            tried=f"a setting of {setting.label}",
            next_step="name the number of draft tokens",
        )
    if not same and not _is_unknown(method):
        config["method"] = method
    config["num_speculative_tokens"] = setting.draft_steps
    config.pop("num_speculative_tokens_per_batch_size", None)
    if method in _NEEDS_MODEL and "model" not in config:
        if view.draft_path is None:
            raise EngineError(
                f"{method} needs a draft model, and nothing names one",
                tried="the launch line and the values in force",
                next_step='name the draft model with "model" in --speculative-config',
            )
        config["model"] = view.draft_path
    set_flags: dict[str, tuple[str, ...]] = {_FLAG: (json.dumps(config, separators=(",", ":")),)}
    removed = words - {_FLAG}
    return LaunchChange(
        label=label,
        set_flags=set_flags,
        remove_flags=tuple(sorted(removed)),
        switches=_switches(removed),
        lengths_only=same,
    )


def _is_unknown(method: str) -> bool:
    return method in ("auto", "unknown", "")


def _without_speculation(view: ServerView, typed: Asked, words: set[str], label: str) -> LaunchChange:
    if speculates(view.asked) and not speculates(typed.values) and view.argv:
        raise EngineError(
            "speculation is set in the file given by --config, which the command line cannot undo",
            tried=f"removing flags from the command line of {view.served_model or 'the server'}",
            next_step="remove speculative_config from that file, or start with a copy of it without it",
        )
    if not view.argv:
        words = {spelling for key in SPEC_FLAG_KEYS for spelling in spellings_of(key)}
    return LaunchChange(
        label=label,
        set_flags=_kept_scheduling(view, typed),
        remove_flags=tuple(sorted(words)),
        switches=("--no-async-scheduling",) if _kept_scheduling(view, typed) else _switches(words),
        lengths_only=True,
    )


def _kept_scheduling(view: ServerView, typed: Asked) -> dict[str, tuple[str, ...]]:
    """--no-async-scheduling where the method alone had turned it off: else two things would change at once."""
    off = view.effective.get(_ASYNC) is False or _method(view) in _WITHOUT_ASYNC
    turned_off = any(r.key == _ASYNC for r in view.rewrites)
    return {"--no-async-scheduling": ()} if off and turned_off and _ASYNC not in typed.values else {}


def _method(view: ServerView) -> str:
    return str(view.argument(METHOD) or "")


def change_flags(
    *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
) -> LaunchChange:
    """A change of flags; other spellings of a flag that is set or removed go too, `--no-...` included."""
    aliases: set[str] = set()
    for word in (*set_flags, *remove_flags):
        if "." not in word:
            spelled = {normal_spelling(word), *spellings_of(find_flag(word).key)}
            aliases |= spelled | {"--" + one.removeprefix("--").replace("-", "_") for one in spelled if one[:2] == "--"}
    removed = (aliases | set(remove_flags)) - set(set_flags)
    return LaunchChange(
        label=label,
        set_flags=dict(set_flags),
        remove_flags=tuple(sorted(removed)),
        switches=_switches({*removed, *set_flags}),
    )


def changed_asked(view: ServerView, change: LaunchChange) -> dict[str, str]:
    """What the changed launch line will ask for, a --config file included."""
    if view.argv:
        typed = _typed(view)
        changed = read_launch(apply_change(view.argv, change)).values
        from_file = {key: value for key, value in view.asked.items() if key not in typed.values}
        return {**from_file, **changed}
    words = [part for flag, values in change.set_flags.items() for part in (flag, *values)]
    gone = {find_flag(word.partition(".")[0]).key for word in (*change.remove_flags, *change.set_flags)}
    kept = {k: v for k, v in view.asked.items() if k.partition(".")[0] not in gone}
    return {**kept, **read_flags(words).values}


def effective_spec(view: ServerView, change: LaunchChange) -> SpecSetting | None:
    """What `change` will make effective; None where the rules do not tell."""
    asked = changed_asked(view, change)
    other = asked.get(MODEL) != view.asked.get(MODEL)
    return predict(asked, draft=None if other else view.draft_config, target=view.target_config)


def _usual_argv(view: ServerView) -> tuple[str, ...]:
    """A command line for what was asked for, where none was seen."""
    model = view.asked.get("model") or view.model_path
    words = ["vllm", "serve", *([model] if model else [])]
    nested = _nested(view.asked)
    for key, value in view.asked.items():
        if key == "model" or "." in key or key in NESTED:
            continue
        flag = find_flag("--" + key.replace("_", "-"))
        spelling = spellings_of(key)[0]
        if flag.kind == "switch":
            words.append(spelling if value != "False" else "--no-" + spelling.removeprefix("--"))
        else:
            words += [spelling, *(value.split() if flag.kind == "list" else [value])]
    if nested:
        words += [_FLAG, json.dumps(nested, separators=(",", ":"))]
    if "compilation_config" in view.asked:
        words += ["--compilation-config", view.asked["compilation_config"]]
    return tuple(words)


def paste_line(view: ServerView, change: LaunchChange) -> str:
    """The launch line for `change`, to be pasted into a shell: quoted, secrets as `$NAME`."""
    argv = redact_argv(apply_change(view.argv or _usual_argv(view), change))
    return shell_line(argv, change, flags_from=flags_start(list(argv)) or 0, prefix="VLLM")
