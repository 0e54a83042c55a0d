"""How a plain process is recorded, stopped, started and compared; and what every other driver has in common with it.

A driver knows how to deal with one kind of keeper. The worker decides when; the driver knows by which commands.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.keeper_tools import LogCopy
from specdoctor.remote.parts.procfs import all_stats, argv_of, tree_of
from specdoctor.remote.parts.starting import Prepared, original_streams, own_log_streams
from specdoctor.remote.parts.stopping import stop_tree
from specdoctor.remote.parts.way_back import compare, obstacles, record_server

Proved = Dict[str, int]
Start = NamedTuple(
    "Start",
    [
        ("run", str),
        ("action", str),
        ("changed", bool),
        ("change", Dict[str, Any]),
        ("argv", List[str]),
        ("env", Dict[str, str]),
        ("folder", str),
        ("log", str),
        ("beside", str),
    ],
)
"""One start. `changed`: a test launch, whose output goes to `log`; else the original, as it was.

`beside` is where the original's output goes when its own place cannot be opened again.
"""

Prospect = NamedTuple(
    "Prospect",
    [("launched", Optional[Dict[str, int]]), ("logs", List[str]), ("notes", Dict[str, str]), ("go", Callable[[], Any])],
)
"""A start that is prepared: the process where there is one already, its logs, remarks, and `go`.

`go` returns the process (pid, start_ticks); raises Refusal where nothing could be started.
"""


class Plain:
    """A process that nobody keeps: signals stop it, an exec in its recorded surroundings starts it."""

    kind = "plain"
    own_port = True
    """Whether only the server's own processes listen on its port, and no proxy of its keeper's."""

    def __init__(self, keeper: Dict[str, Any]) -> None:
        self.keeper = keeper

    def record(self, run: str, server: Proved) -> Dict[str, Any]:
        """The whole way back of a proved server. Raises Refusal."""
        return dict(record_server(run, server), keeper=self.keeper)

    def obstacles(self, record: Dict[str, Any]) -> List[str]:
        """Why the server could not be brought back as it was."""
        return obstacles(record)

    def found(self, record: Dict[str, Any]) -> Optional[Tuple[Proved, bool]]:
        """What the keeper itself says is up, and whether that is a test launch; None where nothing is, or nobody keeps.

        It is asked only where none of the processes that were written down lives.
        """
        return None

    def holds(self, record: Dict[str, Any]) -> bool:
        """Whether the keeper has something up, or about to come up, even where no process of the server was found."""
        return False

    def admit(self, change: Dict[str, Any]) -> None:
        """Raises Refusal for a change that cannot be made here, while nothing is stopped yet."""
        if change.get("image"):
            raise Refusal("no-container", "no container keeps the server, so no other image can be tried")

    def remarks(self, record: Dict[str, Any]) -> List[str]:
        """What a restart does beside ending and starting the server."""
        return []

    def known(self, record: Dict[str, Any]) -> Dict[str, Any]:
        """What a person needs to know to do by hand what the keeper does, without secrets."""
        return {}

    def stop(self, record: Dict[str, Any], server: Optional[Proved], timeout_s: float) -> Set[int]:
        """Stop what runs; the pids that it had. Raises Refusal."""
        return stop_tree(server["pid"], server["start_ticks"], timeout_s) if server else set()

    def clear_remains(self, remains: Dict[int, int], timeout_s: float) -> Set[int]:
        """Stop what is left (start ticks by pid) of a tree whose stop was cut short; the pids."""
        for pid, ticks in remains.items():
            stop_tree(pid, ticks, timeout_s)
        return set(remains)

    def prepare(self, record: Dict[str, Any], start: Start) -> Prospect:
        """Everything before the process becomes the server, so that it can be written down first."""
        notes: Dict[str, str] = {}
        if start.changed:
            streams, logs = own_log_streams(start.log), [start.log]
        else:
            streams, notes, logs = original_streams(record, start.beside)
        prepared = Prepared(record, start.argv, start.env, streams)
        launched = {"pid": prepared.pid, "start_ticks": prepared.start_ticks}

        def go() -> Dict[str, int]:
            prepared.go()
            return launched

        return Prospect(launched, logs, notes, go)

    def copy_of_log(self, record: Dict[str, Any], logs: List[str], test: bool, since: float) -> Optional[LogCopy]:
        """What copies the server's output, where the keeper collects it, into the first log; `since` is in epoch s."""
        return None

    def server_in(self, launched: Dict[str, int], words: List[str]) -> Dict[str, int]:
        """The server's own process below the one that was started."""
        stats = all_stats()
        for pid in tree_of(launched["pid"], stats):
            if pid in stats and argv_of(pid) == words:
                return {"pid": pid, "start_ticks": stats[pid].start_ticks}
        return launched

    def clear(self, record: Dict[str, Any], launched: Proved) -> None:
        """Take a start away that came to nothing."""
        stop_tree(launched["pid"], launched["start_ticks"], 5.0)

    def compare(
        self, record: Dict[str, Any], pid: int, notes: Dict[str, str]
    ) -> Tuple[Dict[str, bool], Dict[str, str]]:
        """The restored server against its record: (equal by part, differences)."""
        return compare(record, pid, notes)
