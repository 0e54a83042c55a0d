"""docs/cli.md: every command with its help, arguments and options, read from the typer application."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.main import get_command

KEEP_LINES = "\b\n"


def commands_page(app: typer.Typer, *, program: str) -> str:
    """The whole page; hidden commands and options are left out."""
    root = typer.Context(get_command(app), info_name=program)
    lines = ["# Command line", ""]
    for context in _contexts(root):
        lines += _section(context)
    return "\n".join(lines).rstrip() + "\n"


def commands_without_help(app: typer.Typer, *, program: str) -> list[str]:
    """Paths of commands, and of their arguments and options, that have no help sentence."""
    missing: list[str] = []
    for context in _contexts(typer.Context(get_command(app), info_name=program)):
        if not _help_text(context):
            missing.append(context.command_path)
        missing += [
            f"{context.command_path} {_written(parameter, context)[0]}"
            for parameter in _parameters(context)
            if not (parameter.help or "").strip()
        ]
    return missing


def _contexts(context: typer.Context) -> Iterator[typer.Context]:
    """This command and all below it, each group before its commands."""
    yield context
    if isinstance(context.command, TyperGroup):
        for name, command in context.command.commands.items():
            if not command.hidden:
                yield from _contexts(typer.Context(command, info_name=name, parent=context))


def _section(context: typer.Context) -> list[str]:
    depth = context.command_path.count(" ") + 2
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    lines = [f"{'#' * depth} {context.command_path}", "", "```", usage, "```", ""]
    if text := _help_text(context):
        lines += [text, ""]
    for title, sort in (("Arguments", TyperArgument), ("Options", TyperOption)):
        written = [_written(parameter, context) for parameter in _parameters(context) if isinstance(parameter, sort)]
        if written:
            lines += [f"{title}:", "", *(f"- `{shown}`: {text}" for shown, text in written), ""]
    if isinstance(context.command, TyperGroup):
        rows = [
            f"- `{name}`: {command.get_short_help_str(limit=200)}"
            for name, command in context.command.commands.items()
            if not command.hidden
        ]
        lines += ["Commands:", "", *rows, ""]
    return lines


def _help_text(context: typer.Context) -> str:
    """The help of a command in Markdown; what a terminal must not wrap (a paragraph after \\b) becomes a block."""
    text = inspect.cleandoc((context.command.help or "").partition("\f")[0])
    return "\n\n".join(
        f"```\n{paragraph.removeprefix(KEEP_LINES)}\n```" if paragraph.startswith(KEEP_LINES) else paragraph
        for paragraph in text.split("\n\n")
    )


def _parameters(context: typer.Context) -> Iterator[TyperArgument | TyperOption]:
    """The parameters of a command that are not hidden."""
    for parameter in context.command.params:
        if isinstance(parameter, TyperArgument | TyperOption) and not parameter.hidden:
            yield parameter


def _written(parameter: TyperArgument | TyperOption, context: typer.Context) -> tuple[str, str]:
    """How a parameter is written on the command line, and its help with what typer adds (default, required)."""
    shown, text = parameter.get_help_record(context) or (parameter.name or "", "")
    return shown, " ".join(text.split())
