"""The engine as it is installed for a server: its packages, and the rule in its source for the target it serves."""

from typing import Any, Dict, List, NamedTuple, Optional

from specdoctor.remote.parts.capture_rule import capture_rule
from specdoctor.remote.parts.engine_processes import Server
from specdoctor.remote.parts.interpreter_packages import import_path, interpreter_of, read_packages, root_of
from specdoctor.remote.parts.model_files import architectures, model_folder, read_file, served_models
from specdoctor.remote.parts.procfs import link_of

RULE_NAME = "capture-rule.py"
TWO_INSTALLS = "servers of several installs run this model"


class Installed(NamedTuple):
    """What one interpreter imports. `folders` are those of its sys.path and of editable installs."""

    interpreter: Optional[str]
    packages: List[Dict[str, Any]]
    folders: List[str]


def installed_in(interpreter: str, env: Dict[str, str], cwd: Optional[str], root: str) -> Installed:
    folders = import_path(interpreter, env, cwd, root)
    packages = read_packages(folders, root)
    for package in packages:
        url = str(package["editable_url"] or "")
        if url.startswith("file://"):
            folders += [root + url[7:], root + url[7:] + "/python"]
    return Installed(interpreter, packages, folders)


def installed_for(server: Server) -> Installed:
    """What the interpreter of a running server imports."""
    cwd, exe = link_of(server.pid, "cwd"), link_of(server.pid, "exe")
    interpreter = interpreter_of(server.argv, server.env, cwd, exe)
    if not interpreter:
        return Installed(None, [], [])
    return installed_in(interpreter, server.env, cwd, root_of(server.pid))


def rule_files(server: Server, installed: Installed, known: Dict[str, Any]) -> Dict[str, Any]:
    """MODEL/capture-rule.py: what the engine's source does for the target of a server with an EAGLE-3 drafter."""
    found: Dict[str, Any] = {}
    if server.engine != "sglang" or not any("EAGLE3" in word for word in server.argv):
        return found
    root = root_of(server.pid)
    for name in served_models(server.argv):
        config = model_folder(name, server.env, link_of(server.pid, "cwd"), root) + "/config.json"
        rule = capture_rule(installed.folders, architectures(read_file(config, config)["text"]))
        key = name.rstrip("/") + "/" + RULE_NAME
        if rule is None:
            continue
        found[key] = dict(rule, path=rule["path"][len(root) :])
        if known.get(key, found[key])["path"] != found[key]["path"]:
            found[key] = dict(found[key], text=None, error=TWO_INSTALLS)
    return found
