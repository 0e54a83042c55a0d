"""Keep in touch: tells the guard of a run that somebody still steers it, and answers how the guard stands.

Sent again and again while a server is changed, so it is as small as can be.
"""

import sys
from typing import Any, Dict

from specdoctor.remote.parts.answer import run_program
from specdoctor.remote.parts.records import read_json
from specdoctor.remote.parts.run_dir import find_run, touch_contact

PARAMS_JSON = "{}"
STORY = "guard.json"


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    folder = find_run(params["run"])
    if folder is None:
        return {"found": False}
    touch_contact(folder)
    story = read_json(folder + "/" + STORY) or {}
    return {"found": True, "phase": story.get("phase"), "acted_at": story.get("acted_at")}


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
