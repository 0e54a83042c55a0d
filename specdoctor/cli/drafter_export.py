"""specdoctor drafter export: a target's answers and states into a file, for `drafter eval`."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_product, print_text, say
from specdoctor.core.errors import ApprovalNeeded, UsageError
from specdoctor.core.input_file import read_input

if TYPE_CHECKING:
    from specdoctor.operations.exporting import ExportOrder

LARGEST_PROMPTS = 4 << 20


def export(
    model: Annotated[
        str,
        typer.Option("--model", metavar="DIR|HOST:DIR", help="Folder of the target, on its host.", show_default=False),
    ],
    prompts: Annotated[
        Path,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help="One prompt a line; or JSON: a list of texts, or of lists of token ids.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", metavar="FILE", help="File to write on that host; never over another.", show_default=False
        ),
    ],
    python: Annotated[
        str,
        typer.Option("--python", metavar="PATH", help="Python there that has torch and transformers."),
    ] = "python3",
    states: Annotated[
        str | None,
        typer.Option(
            "--states",
            metavar="STATES",
            help='Which, such as "embed,out(2),out(30)"; else those that engines and trainers take, and neighbours.',
            show_default=False,
        ),
    ] = None,
    answer_tokens: Annotated[int, typer.Option("--answer-tokens", metavar="N", help="Of each answer.", min=2)] = 64,
    beyond: Annotated[
        int,
        typer.Option("--beyond", metavar="N", help="Tokens behind each answer, to judge drafts past its end.", min=0),
    ] = 16,
    chat: Annotated[bool, typer.Option("--chat", help="Send prompts through the target's chat template.")] = False,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="Let each answer be that long.")] = False,
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="cpu, cuda:N, or auto (all that transformers finds).")
    ] = "cpu",
    embedding: Annotated[
        bool, typer.Option("--embedding/--no-embedding", help="Also the target's embedding, which a head needs.")
    ] = True,
    head: Annotated[bool, typer.Option("--head", help="Also the target's lm_head.")] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Let transformers run the model folder's own code.")
    ] = False,
    print_program: Annotated[
        bool, typer.Option("--print", help="Print the program, to be run by hand; log in nowhere.")
    ] = False,
    allow: opt.Allow = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Write a target's greedy answers and its states into a file on its host.

    Loads the model a second time, with transformers, in the host's memory or on the device named: not beside a server
    that needs the room. So --allow load is needed. Reads the model's folder, asks no hub, writes that one file.

    \b
    Examples:
      specdoctor drafter export --model gpu-7:/models/base --prompts prompts.txt \\
        --out /tmp/states.safetensors --python /opt/venv/bin/python \\
        --device auto --allow load
      specdoctor drafter export --model /models/base --prompts p.txt \\
        --out s.safetensors --print > export.py
    """
    from specdoctor.assembly.programs import export_program, export_states
    from specdoctor.cli.places import hosts, place_of
    from specdoctor.operations.exporting import ExportOrder

    order = ExportOrder(
        model=place_of(model).path,
        out=out,
        prompts=_prompts(prompts),
        entries=_entries(states),
        answer_tokens=answer_tokens,
        beyond=beyond,
        chat=chat,
        ignore_eos=ignore_eos,
        device=device,
        with_embedding=embedding,
        with_head=head,
        trust_remote_code=trust_remote_code,
    )
    if print_program:
        print_product(export_program(order), end="")
        return
    if allow not in ("load", "restart"):
        raise ApprovalNeeded(_asked(order), next_step="allow it with --allow load, or run it by hand: --print")
    with hosts(
        targets_file=targets, accept_new=accept_new_host_key, ssh_config=ssh_config, ssh_transport=ssh
    ) as reachable:
        host, _ = reachable.place(model)
        done = export_states(host, python, order, on_line=_told)
    if json:
        print_json({"schema": "specdoctor.drafter-export/1", **done.model_dump(mode="json")})
    else:
        print_text(
            f"wrote {done.path} on {host.name}: {done.bytes:,} bytes, {done.sequences} sequences, "
            f"{' '.join(done.states)} of {done.layers} layers, in {done.seconds:g} s\n"
            f"fetch it, then: specdoctor drafter eval --states {done.path.rsplit('/', 1)[-1]} ..."
        )


def _told(line: str) -> None:
    """Only the program's own lines; what libraries say on standard error is theirs."""
    if line.startswith(("loading ", "sequence ")):
        say(line)


def _asked(order: ExportOrder) -> str:
    return (
        f"{order.model} would be loaded on {order.device}, {len(order.prompts)} answers of up to "
        f"{order.answer_tokens + order.beyond} tokens generated, and {order.out} written there"
    )


def _prompts(path: Path) -> tuple[str | tuple[int, ...], ...]:
    try:
        raw = read_input(path, limit=LARGEST_PROMPTS)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", next_step="check --prompts") from error
    text = raw.decode("utf-8", errors="replace")
    if not text.lstrip().startswith("["):
        found: list[object] = [line for line in text.splitlines() if line.strip()]
    else:
        found = _from_json(text, path)
    if not found:
        raise UsageError(f"{path}: no prompt in it", next_step="one a line, or a JSON list")
    return tuple(_prompt(item, path) for item in found)


def _from_json(text: str, path: Path) -> list[object]:
    try:
        found: list[object] = json_text.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}", next_step="one prompt a line, or a JSON list") from error
    return found


def _prompt(item: object, path: Path) -> str | tuple[int, ...]:
    if isinstance(item, str):
        return item
    if isinstance(item, list) and item and all(isinstance(t, int) and not isinstance(t, bool) for t in item):
        return tuple(item)
    raise UsageError(f"{path}: {str(item)[:40]!r} is no prompt", next_step="texts, or lists of token ids")


def _entries(words: str | None) -> tuple[int, ...] | None:
    from specdoctor.cli.drafter_eval import states_of
    from specdoctor.drafter.states import entry_of

    return None if words is None else tuple(entry_of(state) for state in states_of(words, "--states"))
