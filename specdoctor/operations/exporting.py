"""Have a host write a target's states into a file there, with that host's own torch and transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdoctor.core.host import Host
from specdoctor.core.model import Frozen
from specdoctor.operations.conversation import Conversation, Document, Refused
from specdoctor.operations.programs import program_text

LIMIT_S = 6 * 3600.0


class ExportOrder(Frozen):
    """What to write. `prompts` are texts or token ids; `entries` places in the residual stream, None for a choice.

    `beyond` tokens are generated behind each answer, so that drafts past its end can be judged.
    """

    model: str
    out: str
    prompts: tuple[str | tuple[int, ...], ...]
    entries: tuple[int, ...] | None = None
    answer_tokens: int = 64
    beyond: int = 16
    chat: bool = False
    ignore_eos: bool = False
    device: str = "cpu"
    with_embedding: bool = True
    with_head: bool = False
    trust_remote_code: bool = False


class Exported(Frozen):
    """What lies on the host now."""

    path: str
    bytes: int
    sequences: int
    layers: int
    states: tuple[str, ...]
    seconds: float


def export_program(order: ExportOrder) -> str:
    """The program with its order inside, to be run by hand: `PYTHON - < export.py`."""
    return program_text("export_states", _params(order))


def export_states(host: Host, python: str, order: ExportOrder, *, on_line: Callable[[str], None]) -> Exported:
    """Carry it out on a host. Raises TargetError when it refuses or says nothing that can be read."""
    argv: Sequence[str] = (python, "-I", "-B", "-")
    result = host.run(argv, stdin=export_program(order).encode("ascii"), timeout_s=LIMIT_S, on_line=on_line)
    talk = Conversation(host, interpreter=python, target=host.name)
    try:
        return Exported.model_validate(talk.document("export", result))
    except Refused as refusal:
        raise refusal.as_error(f"export the states of {order.model} on {host.name}") from refusal


def _params(order: ExportOrder) -> Document:
    found: Document = order.model_dump(mode="json")
    return found
