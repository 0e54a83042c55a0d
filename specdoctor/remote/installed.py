"""SGLang as it is installed here, and how its own source picks the states of one target. Nothing is written or run."""

import os
import sys
from typing import Any, Dict, List

from specdoctor.remote.parts.answer import Refusal, run_program
from specdoctor.remote.parts.capture_rule import capture_rule
from specdoctor.remote.parts.engine_processes import find_servers
from specdoctor.remote.parts.installed_engine import Installed, installed_for, installed_in
from specdoctor.remote.parts.interpreter_packages import names_of, root_of
from specdoctor.remote.parts.model_files import architectures, model_folder, read_file, served_models
from specdoctor.remote.parts.procfs import all_stats, link_of

PARAMS_JSON = "{}"


def main(params: Dict[str, Any]) -> Dict[str, Any]:
    """{"installs": [...]}: those of running servers, the named Python's, and with neither that of this program."""
    target = os.path.realpath(str(params["target"]))
    names = architectures(read_file(target, target + "/config.json")["text"])
    found: List[Dict[str, Any]] = []
    for server in find_servers(all_stats()) if not params["python"] else []:
        if server.engine == "sglang":
            root, cwd = root_of(server.pid), link_of(server.pid, "cwd")
            models = [model_folder(name, server.env, cwd, root) for name in served_models(server.argv)]
            serving = target in [os.path.realpath(model) for model in models]
            found += _told(installed_for(server), names, root, serving)
    if not found:
        python = str(params["python"] or sys.executable or "")
        if not os.path.isfile(python):
            raise Refusal("no-python", "%s: there is no such file" % python, "name the Python that SGLang runs in")
        found = _told(installed_in(python, dict(os.environ), None, ""), names, "", False)
    return {"installs": found}


def _told(one: Installed, names: List[str], root: str, serving: bool) -> List[Dict[str, Any]]:
    engines = [package for package in one.packages if names_of(str(package["name"])) == "sglang"]
    if not engines or not one.interpreter:
        return []
    rule = capture_rule(one.folders, names)
    if rule is not None:
        rule = dict(rule, path=rule["path"][len(root) :])
        engines.sort(key=lambda engine: _holds(engine, str(rule["path"])))
    return [{"interpreter": one.interpreter, "engine": engines[-1], "serving": serving, "rule": rule}]


def _holds(engine: Dict[str, Any], path: str) -> bool:
    """Whether a file is one of this install: where an interpreter sees several, that is the one to judge by."""
    url = str(engine["editable_url"] or "")
    return path.startswith((url[7:] if url.startswith("file://") else str(engine["location"])) + "/")


if __name__ == "__main__":
    sys.exit(run_program(main, PARAMS_JSON))
