"""specdoctor drafter eval: a drafter by itself, on stored states."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import read_input

if TYPE_CHECKING:
    from specdoctor.app.drafter_alone import AsTrained, EvalDocument, Fed

_PLACE = re.compile(r"place \d+")
_STATES = re.compile(r"\s*,\s*(?![^(]*\))")


def evaluate(
    draft: Annotated[
        str,
        typer.Option(
            "--draft", metavar="DIR|HOST:DIR", help="Folder of the drafter; here, or on a host.", show_default=False
        ),
    ],
    states: Annotated[
        str,
        typer.Option(
            "--states",
            metavar="FILE|DIR|HOST:FILE",
            help="Stored tokens and states: .safetensors, .npz, .pt, .ckpt, or a folder of them; on a host, one file.",
            show_default=False,
        ),
    ],
    training: Annotated[
        str | None,
        typer.Option(
            "--training", metavar="FILE", help="What it was trained on: run file or provenance.", show_default=False
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="DIR|HOST:DIR",
            help="Folder of the target: for its embedding and head, and its number of layers.",
            show_default=False,
        ),
    ] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            "--feed",
            metavar="STATES",
            help='Feed these, in this order, such as "embed,out(2),out(30)"; may be given several times.',
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--names",
            metavar="STATES",
            help="What the stored states are, for layouts that do not say it (SpecForge, speculators).",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="NAME", help="Also feed it what this engine captures.", show_default=False),
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option("--engine-version", metavar="VERSION", help="Its version.", show_default=False)
    ] = None,
    runner: Annotated[
        str | None, typer.Option("--runner", metavar="v1|v2", help="vLLM's model runner.", show_default=False)
    ] = None,
    trained_accuracy: Annotated[
        float | None,
        typer.Option(
            "--trained-accuracy",
            metavar="A",
            help="What the trainer reported for the first step; says which states restore it.",
            min=0.0,
            max=1.0,
            show_default=False,
        ),
    ] = None,
    draft_steps: Annotated[int, typer.Option("--draft-steps", metavar="K", help="Drafts a cycle.", min=1, max=64)] = 3,
    ending: Annotated[
        Literal["past", "cut"],
        typer.Option(
            "--ending",
            metavar="past|cut",
            help="Drafts beyond the end of an answer: made and counted (vLLM), or not made (llama.cpp).",
        ),
    ] = "past",
    answer_tokens: Annotated[
        int | None,
        typer.Option("--answer-tokens", metavar="N", help="Replay so many tokens of each answer.", min=2),
    ] = None,
    search_wiring: Annotated[
        bool, typer.Option("--search-wiring", help="Try every ordered choice of the stored states and rank them.")
    ] = False,
    states_to_try: Annotated[
        str | None,
        typer.Option("--states-to-try", metavar="STATES", help="Search among these only.", show_default=False),
    ] = None,
    max_files: Annotated[int, typer.Option("--max-files", metavar="N", help="Files of a folder to read.", min=1)] = 64,
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch",
            metavar="SIZE",
            help="Fetch so much from a host without a question, such as 4GB; without it 256 MiB.",
            show_default=False,
        ),
    ] = None,
    accept_new_host_key: opt.AcceptNew = False,
    ssh_config: opt.SshConfig = None,
    ssh: opt.Ssh = None,
    targets: opt.TargetsFile = None,
    json: opt.Json = False,
) -> None:
    """Test a drafter on stored states, without its engine.

    Replays cycles as in service (a new chain after each bonus token), and feeds the text's own tokens as in training;
    each figure has a 95 % interval from a bootstrap over the sequences. Everything is calculated here; files of a host
    (of a target only embedding, head and norm) are fetched into a temporary folder first. A pickle in a .pt file is
    never run.

    \b
    Examples:
      specdoctor drafter eval --draft ./head --states states.safetensors \\
        --training run.yaml
      specdoctor drafter eval --draft ./head --states states.safetensors \\
        --search-wiring
      specdoctor drafter eval --draft gpu-7:/models/head \\
        --states gpu-7:/data/states.safetensors --fetch 4GB
      specdoctor drafter eval --draft ./head --target ./model --states dump/ \\
        --names "out(1),out(29),out(57)" --engine sglang --engine-version 0.5.12 \\
        --draft-steps 5
    """
    from specdoctor.app.drafter_alone import as_json
    from specdoctor.app.drafter_eval import Asked, eval_drafter
    from specdoctor.cli.bringing import Brought, hosts_for
    from specdoctor.cli.counting import counted
    from specdoctor.cli.wiring import chosen
    from specdoctor.drafter.records.table import LARGEST_BYTES

    training_text = (training, _text(training, LARGEST_BYTES)) if training is not None else None
    choice = chosen(engine, engine_version, runner)
    if states_to_try and not search_wiring:
        raise UsageError("--states-to-try: nothing is searched", next_step="add --search-wiring")
    fed = tuple(states_of(words, "--feed") for words in feed or ())
    stored_as = states_of(names, "--names") if names else ()
    to_try = states_of(states_to_try, "--states-to-try", any_name=True) if states_to_try else ()
    reach = (targets, accept_new_host_key, ssh_config, ssh)
    with TemporaryDirectory(prefix="specdoctor-") as room, hosts_for(reach) as reachable:
        brought = Brought(reachable, Path(room), fetch)
        asked = Asked(
            draft=brought.drafter(draft),
            target=brought.target(target) if target is not None else None,
            states=brought.states(states),
            training=training_text,
            choice=choice,
            feed=fed,
            names=stored_as,
            to_try=to_try,
            steps=draft_steps,
            ending=ending,
            answer_tokens=answer_tokens,
            trained_accuracy=trained_accuracy,
            search=search_wiring,
            most_files=max_files,
        )
        with counted("ordered choices") as progress:
            found = eval_drafter(asked, progress=progress)
    if json:
        print_json(as_json(found))
    else:
        print_text(document_text(found))


def _text(path: str, limit: int) -> str:
    try:
        raw = read_input(path, limit=limit)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", next_step="check --training") from error
    return raw.decode("utf-8", errors="replace")


def states_of(words: str, option: str, *, any_name: bool = False) -> tuple[str, ...]:
    """States separated by commas. Raises UsageError for a word that names none, unless any name will do."""
    from specdoctor.drafter.states import at_entry, entry_of

    found = [word.strip() for word in _STATES.split(words) if word.strip()]
    if any_name:
        return tuple(found)
    try:
        return tuple(word if _PLACE.fullmatch(word) else at_entry(entry_of(word)) for word in found)
    except ValueError as error:
        raise UsageError(f"{option}: {error}", next_step='such as "embed,out(2),out(30)"') from error


def document_text(found: EvalDocument) -> str:
    """For people: what was tested, one row a feeding, its steps, the search, what to mind."""
    from specdoctor.render.layout import columns

    parts = [_laid_out(_head_rows(found))]
    header = ("fed with", "accept length in service", "cycles", "over all positions")
    parts.append(columns(header, [_fed_row(fed) for fed in found.fed], width=width()))
    for fed in found.fed:
        states = " ".join(fed.states)
        label = fed.label if states in ("", fed.label) else f"{fed.label}: {states}"
        steps = [
            (str(s.step), _shown(s.forced), _shown(s.forced_in_vocabulary), _shown(s.own), f"{s.marginal:.3f}")
            for s in fed.steps
            if s.marginal is not None
        ]
        table = columns(("step", "forced", "forced, in vocab", "own, conditional", "marginal"), steps, width=width())
        parts.append(f"{label}\n{table}")
    if found.search is not None:
        rows = [(" ".join(r.states), f"{r.accept_length:.3f}", f"{r.first_step:.3f}") for r in found.search.best]
        parts.append(columns(("best of the search", "over all positions", "first step"), rows, width=width()))
    return "\n\n".join([*parts, _laid_out(_end_rows(found))]).rstrip()


def _head_rows(found: EvalDocument) -> list[tuple[str, str]]:
    rows = [("draft", f"{found.draft} ({found.kind})")]
    rows.append(("states", f"{found.layout}; {found.sequences} sequences, {found.answer_tokens} answer tokens"))
    if found.states:
        rows.append(("", " ".join(found.states)))
    greedy = found.text_is_greedy
    known = "not known" if greedy is None else f"{greedy:.1%} of the answer tokens"
    rows.append(("greedy", f"{known} are the target's first choice"))
    past = (
        "drafts may run past the last token" if found.ending == "past" else "drafts are cut to the tokens that remain"
    )
    rows.append(("replay", f"{found.draft_steps} drafts a cycle; a new chain after each bonus token; {past}"))
    return rows


def _fed_row(fed: Fed) -> tuple[str, str, str, str]:
    return fed.label, _shown(fed.accept_length), str(fed.cycles), _shown(fed.over_all_positions)


def _end_rows(found: EvalDocument) -> list[tuple[str, str]]:
    rows = []
    if found.search is not None:
        search = found.search
        lead = "" if search.lead is None else f"ahead of the second by {search.lead}; "
        said = "clear" if search.clear else "not clear: more sequences would tell"
        rows.append(
            ("search", f"{search.tried} ordered choices; first {' '.join(search.best[0].states)}; {lead}{said}")
        )
    if found.as_trained is not None:
        rows.append(("trained", _as_trained(found.as_trained)))
    rows.append(("figures", _FIGURES))
    return rows + [("note", note) for note in found.notes]


def _as_trained(found: AsTrained) -> str:
    parts = [f"{found.accuracy:g} at the first step"]
    for word, labels in (("restored by", found.restored), ("unclear:", found.unclear), ("not by", found.short)):
        parts += [f"{word} {', '.join(labels)}"] if labels else []
    if found.found_of:
        named = "; ".join(" ".join(states) for states in found.found[:4])
        parts.append(f"{len(found.found)} of {found.found_of} choices reach it" + (f": {named}" if named else ""))
    return "; ".join(parts)


_FIGURES = (
    "accept lengths include the bonus token: 1 + accepted / cycles, 95 % from a bootstrap over sequences; over all "
    "positions is another quantity: a chain at every token, not only after bonus tokens"
)


def _shown(estimate: object) -> str:
    return "-" if estimate is None else str(estimate)


def _laid_out(rows: list[tuple[str, str]]) -> str:
    from specdoctor.render.layout import labels

    return labels(rows, label_width=10, width=width())
