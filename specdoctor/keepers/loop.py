"""A loop of a shell or a script that starts the server again whenever it ends."""

from __future__ import annotations

import re

from specdoctor.core.facts import ProcessFacts
from specdoctor.core.server import Keeper
from specdoctor.keepers import systemd
from specdoctor.keepers.hand import ByHand, Wanted, by_shell
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused

_REASONS = {
    "loop": "the loop of a script would start it again as it was ({where})",
    "bounded": "a loop of a script starts it again when it ends, up to as often as the loop runs ({where})",
    "itself": "a script that starts it runs itself again and would start it again as it was ({where})",
}
_LOOP = re.compile(r"\b(?:while|until|for)\b.*\bdo\b", re.DOTALL)


def recognise(seen: Seen) -> Keeper | None:
    for parent in seen.ancestors:
        script = parent.argv[2] if len(parent.argv) > 2 and parent.argv[1] in ("-c", "-lc") else ""
        if _LOOP.search(script):
            return refused(
                "loop",
                f"shell loop pid {parent.pid}",
                f"a shell loop (pid {parent.pid}) would start it again as it was",
                f"kill {parent.pid}, then start the server by hand with the changed arguments",
                {"loop": parent.pid},
            )
        loop = parent.script_loop
        if loop is not None and loop.proved and not _refused_by_its_unit(seen):
            where = f"line {loop.line} of {loop.path}, process {parent.pid}"
            return refused(
                "loop",
                f"loop of a script ({where})",
                _REASONS[loop.how].format(where=where),
                f"kill {parent.pid}, then start the server by hand with the changed arguments",
                {"loop": parent.pid},
            )
        if loop is not None and loop.how == "unread" and systemd.row.recognise(seen) is None:
            return _unread(parent, loop.why)
    return None


def _unread(parent: ProcessFacts, why: str) -> Keeper:
    line = " ".join(parent.argv)[:120] or parent.comm
    return refused(
        "loop",
        f"a program that is not read ({line}, process {parent.pid})",
        f"it is not known what process {parent.pid} ({line}) does when the server ends: {why}",
        f"kill {parent.pid} first, then start the server by hand without it: such a server can be restarted",
        {"loop": parent.pid, "again": line},
    )


def _refused_by_its_unit(seen: Seen) -> bool:
    """Whether a unit runs the script: ending that would only have the unit start it again."""
    return any(kept.kind == "systemd" and kept.pid == seen.process.pid and kept.obstacles for kept in seen.facts.kept)


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The loop is ended before the server, which it would start again."""
    found = by_shell(keeper, wanted)
    return ByHand(
        start=f"kill {keeper.known.get('loop')}; {found.start}",
        back=f"kill that server, then start {keeper.known.get('again', 'the loop')} again",
    )


row = Row(
    kind="loop",
    title="loop of a shell or a script",
    recognised_by="a shell among its ancestors whose words are a loop, or a script of a shell or of Python there that "
    "starts it in a loop without a bound (`while`, `until`, `for ((;;))`, `while True`), in any other loop that waits "
    "for its end, or before it runs itself again (a function or the whole script); or a script right above it, "
    "or above a shell's script that starts it, that is not read (Perl, Ruby, Node, ...; no right to; over 128 KiB)",
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always: the loop would start the server again as it was, or nobody can tell that a script would not",
    by_hand="end the loop, then start the server by hand with the changed arguments",
    recognise=recognise,
    hand=hand,
)
