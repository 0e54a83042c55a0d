"""The story of a guard: what it is, what it was told, what it did."""

import time
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.procfs import alive
from specdoctor.remote.parts.records import read_json

GUARD = "guard.json"
ORDER_KEYS = ("rules", "ready_timeout_s", "stop_timeout_s", "release_timeout_s", "memory_settle_mb")


def guard_story(folder: str) -> Optional[Dict[str, Any]]:
    """What the guard of a run is and did."""
    found: Optional[Dict[str, Any]] = read_json(folder + "/" + GUARD)
    return found


def guard_lives(story: Optional[Dict[str, Any]]) -> bool:
    return bool(story and story["guard"] and alive(story["guard"]["pid"], story["guard"]["start_ticks"]))


def new_story(record: Dict[str, Any], order: Dict[str, Any], before: List[Dict[str, Any]]) -> Dict[str, Any]:
    wanted = {key: order[key] for key in ORDER_KEYS}
    return {
        "run": order["run"],
        "port": int(record["server"]["port"]),
        "who": str(order.get("who") or "somebody"),
        "grace_s": float(order["grace_s"]),
        "order": wanted,
        "guard": None,
        "since": time.time(),
        "phase": "watching",
        "acted_at": None,
        "quiet_s": 0.0,
        "result": None,
        "reason": "",
        "outcome": None,
        "log": "",
        "story": [],
        "before": before,
    }
