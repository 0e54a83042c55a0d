"""What all keepers have in common: the process is theirs, so it is found after they have started it."""

import time
from typing import Any, Callable, Dict, List, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.driver_plain import Plain
from specdoctor.remote.parts.procfs import all_stats, argv_of, tree_of
from specdoctor.remote.parts.way_back import compare_kept

KEPT_STEP_S = 0.2
COME_UP_S = 60.0
COMMAND_S = 30.0


class Kept(Plain):
    """A server that a keeper starts: its output is the keeper's, and its own process may stand below another one."""

    def server_in(self, launched: Dict[str, int], words: List[str]) -> Dict[str, int]:
        """The process with exactly these words. Raises Refusal when the keeper has started something else."""
        stats = all_stats()
        for pid in tree_of(launched["pid"], stats):
            if pid in stats and argv_of(pid) == words:
                return {"pid": pid, "start_ticks": stats[pid].start_ticks}
        what = "%s has started it with another command line than it was told" % self.kind
        raise Refusal("not-as-ordered", what, "look for overrides that have the last word")

    def compare(
        self, record: Dict[str, Any], pid: int, notes: Dict[str, str]
    ) -> Tuple[Dict[str, bool], Dict[str, str]]:
        return compare_kept(record, pid, notes)


def await_process(main_pid: Callable[[], int], given_up: Callable[[], bool]) -> Dict[str, int]:
    """The main process that a keeper has been told to start; {} when it gives up or does not come up."""
    deadline = time.monotonic() + COME_UP_S
    while time.monotonic() < deadline:
        pid, stats = main_pid(), all_stats()
        if pid and pid in stats:
            return {"pid": pid, "start_ticks": stats[pid].start_ticks}
        if given_up():
            break
        time.sleep(KEPT_STEP_S)
    return {}
