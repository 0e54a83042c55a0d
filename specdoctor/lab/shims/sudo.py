"""sudo of the practice host: gives a command root's say over keepers, where the world's host allows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.shims.access import ROOT_VARIABLE

WITH_VALUE = ("-u", "-g", "-p", "--user", "--group", "--prompt")


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is sudo; does not return when it runs a command."""
    words, alone = list(argv[1:]), False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        alone = alone or word in ("-n", "--non-interactive")
        if word == "--":
            break
        if word in WITH_VALUE and words:
            words.pop(0)
    host = read_world(state_dir())["host"]
    if host["sudo"] == "none":
        sys.stderr.write(f"{host['user']} is not in the sudoers file.\n")
        return 1
    if host["sudo"] == "password":
        sys.stderr.write(
            "sudo: a password is required\n"
            if alone
            else "sudo: a terminal is required to read the password; either use the -S option to read from standard "
            "input or configure an askpass helper\nsudo: a password is required\n"
        )
        return 1
    if not words or words == ["-v"]:
        return 0
    try:
        os.execvpe(words[0], words, {**os.environ, ROOT_VARIABLE: "1", "SUDO_USER": host["user"]})
    except OSError:
        sys.stderr.write(f"sudo: {words[0]}: command not found\n")
        return 1
