"""Named targets: the file that describes them, and the target that a command is about."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import Field, ValidationError, field_validator

from specdoctor.cli.toml_places import TomlPlaces
from specdoctor.core.endpoint import Endpoint
from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, explained, nearest, refusal, unknown_word
from specdoctor.core.input_file import is_file, read_input, whole_path
from specdoctor.core.install import OtherInstall
from specdoctor.core.model import Frozen
from specdoctor.core.reach import SshTransport
from specdoctor.core.server import LifecycleCommands
from specdoctor.core.via import parse_via

FILE_NAME = "specdoctor.toml"
LARGEST_BYTES = 8 << 20
Words = tuple[str, ...]


class ModelPaths(Frozen):
    """Where the models lie on the host; their configs are read even if the launch line does not name them."""

    target: str | None = None
    draft: str | None = None


class OwnBench(Frozen):
    """The user's own benchmark: a command run on the host, and patterns whose first group is a figure."""

    command: Words
    patterns: dict[str, str] = Field(default_factory=dict)

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return _words(value)

    @field_validator("patterns")
    @classmethod
    def _compile(cls, value: dict[str, str]) -> dict[str, str]:
        import re

        for name, pattern in value.items():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"pattern {name} is no regular expression: {error}") from error
            if groups < 1:
                raise ValueError(f"pattern {name} has no group; put the figure in parentheses")
        return value


class Target(Frozen):
    """One target of the file. `launch` is the line it is meant to be started with; `doctor` compares it."""

    name: str = ""
    transport: str
    engine: str | None = None
    launch: Words = ()
    models: ModelPaths = ModelPaths()
    prompts: str | None = None
    interpreter: str | None = None
    ssh_config: str | None = None
    ssh_transport: SshTransport | None = None
    via: str | None = None
    sudo: bool | None = None
    server_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    logs: Words = ()
    concurrency: Annotated[int, Field(ge=1, le=4096)] | None = None
    bench: OwnBench | None = None
    lifecycle: LifecycleCommands | None = None
    other_install: OtherInstall | None = None

    @field_validator("launch", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return _words(value)

    @field_validator("transport")
    @classmethod
    def _known(cls, value: str) -> str:
        if ":" not in value:
            raise ValueError(f'"{value}" is no way to a host; write ssh://[user@]host[:port] or local:')
        return value

    @field_validator("via")
    @classmethod
    def _container(cls, value: str | None) -> str | None:
        try:
            return None if value is None else str(parse_via(value))
        except UsageError as error:
            raise ValueError(error.message) from error

    @property
    def config_files(self) -> Words:
        """The config.json files of the models that the file names."""
        folders = (self.models.target, self.models.draft)
        return tuple(f"{folder.rstrip('/')}/config.json" for folder in folders if folder)


class TargetsDocument(Frozen):
    """The whole file; `profiles` are language models that may be asked."""

    targets: dict[str, Target] = Field(default_factory=dict)
    profiles: dict[str, Endpoint] = Field(default_factory=dict)


ADDRESSES = "name one: ssh://[user@]host[:port], or local:"
NAME = re.compile(r"[\w.-]+")

_TABLES: dict[str, type[Frozen]] = {
    "models": ModelPaths,
    "bench": OwnBench,
    "lifecycle": LifecycleCommands,
    "other_install": OtherInstall,
}


def _words(value: Any) -> Any:
    return tuple(shlex.split(value)) if isinstance(value, str) else value


def default_file() -> Path | None:
    """specdoctor.toml here, else the one in the user's configuration folder, else None."""
    places = (Path(FILE_NAME), platformdirs.user_config_path("specdoctor") / FILE_NAME)
    return next((path for path in places if is_file(path)), None)


def read_targets(path: Path) -> dict[str, Target]:
    """The targets of a file. Raises UsageError as read_document."""
    return {name: _placed(target, name, path.parent) for name, target in read_document(path).targets.items()}


def read_document(path: Path) -> TargetsDocument:
    """The file as it stands. Raises UsageError with every fault, each with line, key and message."""
    try:
        text = read_input(path, limit=LARGEST_BYTES, pipes=False).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said = (error.strerror or str(error)) if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"cannot read {path}: {said}", next_step="name a readable TOML file with --targets") from error
    places = TomlPlaces(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, column, said = places.of_syntax_error(error)
        raise refusal(str(path), [Fault(line=line, column=column, key="(syntax)", message=said)]) from error
    try:
        return TargetsDocument.model_validate(data)
    except ValidationError as error:
        raise refusal(str(path), _faults(error, places)) from error


def _faults(error: ValidationError, places: TomlPlaces) -> list[Fault]:
    faults: list[Fault] = []
    for item in error.errors(include_url=False):
        loc = tuple(str(part) for part in item["loc"])
        line, column = places.find(loc)
        message = explained(item, known_keys=_known_keys(loc))
        faults.append(Fault(line=line, column=column, key=".".join(loc), message=message))
    return faults


def _known_keys(loc: tuple[str, ...]) -> list[str]:
    """The keys that the table holding `loc` may have."""
    if len(loc) == 1:
        return list(TargetsDocument.model_fields)
    if loc[0] == "profiles":
        return list(Endpoint.model_fields)
    model = _TABLES.get(loc[2], Target) if len(loc) > 3 else Target
    return [name for name in model.model_fields if name != "name"]


def _placed(target: Target, name: str, folder: Path) -> Target:
    """The target with its name, and paths of this machine taken from where the file lies."""
    prompts, ssh_config = target.prompts, target.ssh_config
    if prompts is not None and is_file(folder / prompts):
        prompts = str(whole_path(prompts, under=folder))
    if ssh_config is not None:
        ssh_config = str(whole_path(ssh_config, under=folder))
    return target.model_copy(update={"name": name, "prompts": prompts, "ssh_config": ssh_config})


def resolve(wanted: str | None, file: Path | None) -> Target:
    """The target a command is about: an address as it stands, a name from the targets file, or the only one in it.

    Raises UsageError when there is no such target, with what there is.
    """
    if wanted is not None and not wanted.strip():
        raise UsageError("the target is empty", next_step=ADDRESSES)
    if wanted is not None and ":" in wanted and file is None:
        return Target(transport=wanted)
    path = file or default_file()
    known = read_targets(path) if path is not None else {}
    if wanted is None:
        return _sound(_only(known, path))
    if wanted in known:
        return _sound(known[wanted])
    if ":" in wanted:
        return Target(transport=wanted)
    where = f"in {path}" if path else f"(no {FILE_NAME} here or in the configuration folder)"
    if not NAME.fullmatch(wanted):
        raise UsageError(f"{wanted!r} is no way to a host, and names no target {where}", next_step=ADDRESSES)
    listed = f"it has: {', '.join(known)}" if known else f"or write the address: ssh://{wanted}"
    raise UsageError(
        f'no target is named "{wanted}" {where}{nearest(wanted, known)}', next_step=f"name one that exists; {listed}"
    )


def _sound(target: Target) -> Target:
    """The target, whose words of a closed list are known. Raises UsageError, before anything is reached."""
    checked_engine(target.engine)
    return target


def checked_engine(wanted: str | None) -> str | None:
    """An engine that has an adapter. Raises UsageError."""
    if wanted is None:
        return None
    from specdoctor.assembly.catalogue import all_engines

    known = [engine.name for engine in all_engines()]
    if wanted not in known:
        raise UsageError(unknown_word("engine", wanted, known), next_step="correct it in the targets file")
    return wanted


def _only(known: dict[str, Target], path: Path | None) -> Target:
    if len(known) == 1:
        return next(iter(known.values()))
    what = (
        f"{path} names {len(known)} targets: {', '.join(known) or 'none'}"
        if path
        else f"there is no {FILE_NAME} to take it from"
    )
    raise UsageError(f"no target was named, and {what}", next_step=ADDRESSES)
