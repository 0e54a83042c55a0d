"""Keep in touch: tells the guard of a run that somebody still steers it, and answers how the guard stands.

Sent again and again while a server is changed, so it is as small as can be; with `ended` once, as the last word.
"""

import sys
import time
from typing import Any, Dict, Optional

from specdoctor.remote.parts.answer import run_program
from specdoctor.remote.parts.controller_end import note_end
from specdoctor.remote.parts.guard_story import guard_lives, guard_story
from specdoctor.remote.parts.run_dir import contact_at, find_run, touch_contact

PARAMS_JSON = "{}"


def acts_in_s(folder: str, story: Dict[str, Any]) -> Optional[float]:
    """Seconds until the guard acts if nobody is in touch any more; None where none stands watch."""
    at = contact_at(folder)
    if not at or story.get("phase") != "watching" or not guard_lives(story):
        return None
    return max(0.0, float(story["grace_s"]) - max(0.0, time.time() - at))


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    folder = find_run(params["run"])
    if folder is None:
        return {"found": False}
    if params.get("ended"):
        note_end(folder, params["ended"])
    else:
        touch_contact(folder)
    story = guard_story(folder) or {}
    told = {"found": True, "phase": story.get("phase"), "acted_at": story.get("acted_at")}
    return dict(told, acts_in_s=acts_in_s(folder, story)) if params.get("ended") else told


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
