"""A second installation of the engine on a host, and the launch that runs the server from it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Self

from pydantic import Field, model_validator

from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Frozen

SOURCE_FOLDERS = ("python", "")
"""Where a checkout keeps its packages: SGLang's below `python`, others at its top."""

IMAGE = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"
"""A name with tag, a digest or an id, as docker and podman take them; never an option."""


class OtherInstall(Frozen):
    """An engine to be measured against the one that runs: another commit, version or build, on the same host.

    `venv` is a virtual environment that holds it; `checkout` a source folder that is imported before what is installed,
    with the kernels of the present environment; `image` an image of docker or podman, by tag or id, that lies on the
    host already, for a server that they keep. One of the three.
    """

    label: str = "other install"
    venv: str | None = None
    checkout: str | None = None
    image: str | None = Field(default=None, pattern=IMAGE)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum(place is not None for place in (self.venv, self.checkout, self.image)) != 1:
            raise ValueError("name one of venv, checkout and image")
        place = self.venv or self.checkout
        if place is not None and not place.startswith("/"):
            raise ValueError(f"{place!r} is not an absolute path on the host")
        return self


def install_change(other: OtherInstall, *, argv: tuple[str, ...], env: dict[str, str]) -> LaunchChange:
    """The launch from the other installation: same arguments, another interpreter, import path or image.

    `argv` is the running command line; `env` what is known of its environment.
    """
    if other.image is not None:
        return LaunchChange(label=other.label, image=other.image)
    if other.checkout is not None:
        root = other.checkout.rstrip("/")
        folders = [f"{root}/{name}".rstrip("/") for name in SOURCE_FOLDERS]
        before = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
        return LaunchChange(label=other.label, set_env={"PYTHONPATH": ":".join([*folders, *before])})
    venv = (other.venv or "").rstrip("/")
    words = {argv[0]: f"{venv}/bin/{_program(argv[0])}"} if argv else {}
    if len(argv) > 1 and PurePosixPath(argv[1]).parent.name == "bin":
        words[argv[1]] = f"{venv}/bin/{PurePosixPath(argv[1]).name}"
    return LaunchChange(label=other.label, words=words, set_env=_activated(venv, argv, env))


def _program(word: str) -> str:
    """A virtual environment always has `python3`, not every minor version's name."""
    name = PurePosixPath(word).name
    return "python3" if name.startswith("python") else name


def _activated(venv: str, argv: tuple[str, ...], env: dict[str, str]) -> dict[str, str]:
    """What activating the environment changes, where the running one is activated."""
    out: dict[str, str] = {}
    before = env.get("VIRTUAL_ENV") or (str(PurePosixPath(argv[0]).parent.parent) if argv and "/" in argv[0] else "")
    if env.get("VIRTUAL_ENV"):
        out["VIRTUAL_ENV"] = venv
    folders = env.get("PATH", "").split(":")
    if before and f"{before}/bin" in folders:
        out["PATH"] = ":".join(f"{venv}/bin" if folder == f"{before}/bin" else folder for folder in folders)
    return out
