"""The one JSON document that a program prints, and the refusals that stand in its place."""

import json
import sys
from typing import Any, Callable, Dict


class Refusal(Exception):
    """The program will not do what was asked: why, and what to do instead."""

    def __init__(self, kind: str, message: str, next_step: str = "") -> None:
        Exception.__init__(self, message)
        self.kind = kind
        self.message = message
        self.next_step = next_step


def printable(value: Any) -> Any:
    """The same JSON value without the surrogates that stand for bytes which are no UTF-8."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable(item) for item in value]
    return value


def emit(document: Any) -> None:
    sys.stdout.buffer.write(json.dumps(printable(document)).encode("ascii") + b"\n")
    sys.stdout.buffer.flush()


def run_program(main: Callable[[Dict[str, Any]], Any], params_json: str) -> int:
    """Run `main` on its parameters and print what it returns; a refusal is printed too, with exit code 3."""
    try:
        emit(main(json.loads(params_json)))
    except Refusal as refusal:
        emit({"error": {"kind": refusal.kind, "message": refusal.message, "next": refusal.next_step}})
        return 3
    return 0
